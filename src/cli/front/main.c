/* main.c — the program `kymograph`: finds the verb and runs it.

   The verbs are in verb_NAME.c; verb.h defines what a verb is. Data goes to stdout, messages to
   stderr. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include <kymo/kymo.h>

#include "handover.h"
#include "help.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "verb.h"

static int run_native(const struct cli_verb *verb, int count, const char **argv,
                      struct cli_arguments *arguments)
{
    memset(arguments->value, 0, sizeof arguments->value);
    switch (kymo__cli_parse(verb, count, argv, arguments)) {
    case CLI_WANTS_HELP:
        kymo__cli_help_verb(verb);
        return CLI_OK;
    case CLI_MISUSED:
        return CLI_BAD;
    default:
        return verb->run(verb, arguments);
    }
}

static int run_command(int count, const char **argv)
{
    struct cli_arguments arguments = {0};
    int used = 0;
    enum cli_parsed parsed = kymo__cli_parse_global(count, argv, &arguments, &used);
    const char *name = used < count ? argv[used] : NULL;
    const struct cli_verb *verb = name ? kymo__cli_verb_find(name) : NULL;
    arguments.python = arguments.value[CLI_GLOBAL_PYTHON];

    /* Before anything touches the streams: a user program that Python runs must inherit them
       unchanged. */
    if (parsed == CLI_PARSED && verb && verb->python && !arguments.value[CLI_GLOBAL_VERSION])
        return kymo__cli_hand_over(name, arguments.python, argv + used + 1);

    kymo__cli_output_begin();
    int code = CLI_OK;
    if (parsed == CLI_MISUSED) {
        code = CLI_BAD;
    } else if (parsed == CLI_WANTS_HELP) {
        kymo__cli_help_overview();
    } else if (arguments.value[CLI_GLOBAL_VERSION]) {
        printf("kymograph %s\n", kymo_version());
    } else if (!name) {
        kymo__cli_help_short();
        code = CLI_BAD;
    } else if (!verb) {
        code = kymo__cli_verb_unknown(name);
    } else {
        code = run_native(verb, count - used - 1, argv + used + 1, &arguments);
    }
    return kymo__cli_output_end(code);
}

int main(int argc, char **argv)
{
    /* Names in captures are UTF-8 whatever the user's locale is, and wcwidth needs that to know
       their widths. Number formats and messages are not affected. */
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        setlocale(LC_CTYPE, "");
    return argc < 1 ? CLI_BAD : run_command(argc - 1, (const char **)argv + 1);
}
