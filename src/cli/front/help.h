/* help.h — prints the help, generated from the table of verbs, to stdout. */
#ifndef KYMO_CLI_HELP_H
#define KYMO_CLI_HELP_H

#include "verb.h"

void kymo__cli_help_overview(void);

/* The verbs and first steps, printed by `kymograph` without arguments. */
void kymo__cli_help_short(void);
void kymo__cli_help_verb(const struct cli_verb *verb);

#endif
