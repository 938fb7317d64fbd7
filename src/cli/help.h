/* help.h — the help, printed from the verbs' table on stdout. */
#ifndef KYMO_CLI_HELP_H
#define KYMO_CLI_HELP_H

#include "verb.h"

void kymo__cli_help_overview(void);
void kymo__cli_help_verb(const struct cli_verb *verb);

#endif
