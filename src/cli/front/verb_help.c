/* verb_help.c — kymograph help [VERB]. */
#include <stddef.h>

#include "handover.h"
#include "help.h"

static int run_help(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    if (arguments->count == 0) {
        kymo__cli_help_overview();
        return CLI_OK;
    }
    const struct cli_verb *subject = kymo__cli_verb_find(arguments->words[0]);
    if (!subject)
        return kymo__cli_verb_unknown(arguments->words[0]);
    if (subject->python && !subject->details) {
        const char *const help[] = {"--help", NULL};
        return kymo__cli_hand_over(subject->name, arguments->python, help);
    }
    kymo__cli_help_verb(subject);
    return CLI_OK;
}

static const struct cli_example examples[] = {
    {"kymograph help", "the list of verbs"},
    {"kymograph help dump", "everything about one verb"},
    {0},
};

const struct cli_verb kymo__cli_verb_help = {
    .name = "help",
    .purpose = "explain kymograph or one of its verbs",
    .operands = "[VERB]",
    .most = 1,
    .operand = CLI_VERBS,
    .examples = examples,
    .run = run_help,
};
