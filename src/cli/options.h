/* options.h — takes a command line apart by a verb's table.

   Options may stand anywhere: --name, --name VALUE, --name=VALUE, -n, -n VALUE,
   -nVALUE, -ab for two switches; `--` ends them, `-` alone is a word. An option
   given twice keeps its last value. */
#ifndef KYMO_CLI_OPTIONS_H
#define KYMO_CLI_OPTIONS_H

#include "verb.h"

enum cli_parsed {
    CLI_PARSED,
    CLI_WANTS_HELP, /* --help or -h, whatever else was wrong after it */
    CLI_MISUSED,    /* complained about */
};

/* Take the COUNT arguments of VERB apart. ARGV is put in another order and lent to
   ARGUMENTS. */
enum cli_parsed kymo__cli_parse(const struct cli_verb *verb, int count, const char **argv,
                                struct cli_arguments *arguments);

/* Take apart the options before the verb; the first word ends them. *USED says how
   many arguments they were. */
enum cli_parsed kymo__cli_parse_global(int count, const char **argv,
                                       struct cli_arguments *arguments, int *used);

#endif
