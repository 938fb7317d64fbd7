/* verb_check.c — kymograph check et FILE: is an execution trace consistent? The check itself is
   written in Python, python/kymograph/verbs/check_et.py. */
#include <stddef.h>
#include <string.h>

#include "handover.h"
#include "message.h"
#include "verb.h"

static int run_check(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    const char *const *words = arguments->words;
    if (strcmp(words[0], "et") != 0) {
        kymo__cli_complain("cannot check '%s'; only et, an execution trace", words[0]);
        return CLI_BAD;
    }
    const char *const files[] = {words[1], arguments->count > 2 ? words[2] : NULL, NULL};
    return kymo__cli_hand_over("check-et", arguments->python, files);
}

static const struct cli_example examples[] = {
    {"kymograph check et train.et.json", "is the execution trace consistent?"},
    {"kymograph check et train.et.json train.kymo",
     "also: is every operator of it in the capture's timeline?"},
    {0},
};

static const char *const choices[] = {"et", NULL};

const struct cli_verb kymo__cli_verb_check = {
    .name = "check",
    .purpose = "check an execution trace for mistakes",
    .operands = "et FILE [TIMELINE]",
    .least = 2,
    .most = 3,
    .operand = CLI_CHOICES,
    .choices = choices,
    .details =
        "FILE is an execution trace, .json or .json.gz, written by 'kymograph export --to et' or "
        "by PyTorch. The check reports ids that are not unique, nodes without their parent, "
        "dependencies in a circle, inputs and outputs whose shapes or types do not match their "
        "values, and ids that stand for two tensors.\n\n"
        "With TIMELINE, a capture or a Chrome trace of the same run, it also reports operators "
        "whose record-function id is not there.\n\n"
        "Each mistake is one line on stderr, at most 20 of them. The exit code is 0 if there is "
        "none, 1 if there are mistakes, and 2 if a file cannot be read.",
    .examples = examples,
    .run = run_check,
};
