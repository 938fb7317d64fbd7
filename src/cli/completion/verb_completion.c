/* verb_completion.c — kymograph completion SHELL. */
#include <stddef.h>
#include <string.h>

#include "completion.h"
#include "message.h"
#include "nearest.h"
#include "verb.h"

static const char *const shells[] = {"bash", "zsh", "fish", NULL};
static void (*const print[])(void) = {
    kymo__cli_completion_bash,
    kymo__cli_completion_zsh,
    kymo__cli_completion_fish,
};

static int run_completion(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    const char *wanted = arguments->words[0];
    struct cli_nearest nearest = kymo__cli_nearest(wanted);
    for (int i = 0; shells[i]; i++) {
        if (strcmp(shells[i], wanted) == 0) {
            print[i]();
            return CLI_OK;
        }
        kymo__cli_nearest_offer(&nearest, shells[i]);
    }
    if (nearest.best)
        kymo__cli_complain("no completion for '%s'; did you mean '%s'?", wanted, nearest.best);
    else
        kymo__cli_complain("no completion for '%s'; choose bash, zsh or fish", wanted);
    return CLI_BAD;
}

static const struct cli_example examples[] = {
    {"source <(kymograph completion bash)", "in ~/.bashrc"},
    {"source <(kymograph completion zsh)", "in ~/.zshrc, after compinit"},
    {"kymograph completion fish | source", "in ~/.config/fish/config.fish"},
    {0},
};

const struct cli_verb kymo__cli_verb_completion = {
    .name = "completion",
    .purpose = "print a completion script for bash, zsh or fish",
    .operands = "bash|zsh|fish",
    .least = 1,
    .most = 1,
    .operand = CLI_CHOICES,
    .choices = shells,
    .details = "The script completes every verb and option of this version of kymograph. Load it "
               "from your shell's startup file, as below, to keep it up to date.",
    .examples = examples,
    .run = run_completion,
};
