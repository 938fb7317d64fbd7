/* options.h — parses a command line by a verb's table of options.

   Options may appear anywhere: --name, --name VALUE, --name=VALUE, -n, -n VALUE, -nVALUE, -ab for
   two switches; `--` ends the options, `-` alone is a word. If an option is given twice, the last
   value counts. */
#ifndef KYMO_CLI_OPTIONS_H
#define KYMO_CLI_OPTIONS_H

#include "verb.h"

enum cli_parsed {
    CLI_PARSED,
    CLI_WANTS_HELP, /* --help or -h; errors after it are ignored */
    CLI_MISUSED,    /* wrong; a message was printed */
};

/* Parse the COUNT arguments of VERB. ARGV is reordered, and ARGUMENTS points into it. */
enum cli_parsed kymo__cli_parse(const struct cli_verb *verb, int count, const char **argv,
                                struct cli_arguments *arguments);

/* Parse the options before the verb, up to the first word. *USED is set to the number of arguments
   parsed. */
enum cli_parsed kymo__cli_parse_global(int count, const char **argv,
                                       struct cli_arguments *arguments, int *used);

#endif
