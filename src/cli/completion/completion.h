/* completion.h — prints completion scripts, generated from the table of verbs. */
#ifndef KYMO_CLI_COMPLETION_H
#define KYMO_CLI_COMPLETION_H

#include <stdbool.h>

void kymo__cli_completion_bash(void);
void kymo__cli_completion_zsh(void);
void kymo__cli_completion_fish(void);

struct cli_verb;
struct cli_option;

/* The values that OPTION of VERB accepts, or NULL when it accepts any. */
const char *const *kymo__cli_values(const struct cli_verb *verb, const struct cli_option *option);

/* True when OPTION takes a file name. */
bool kymo__cli_takes_file(const struct cli_option *option);

#endif
