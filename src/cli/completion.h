/* completion.h — completion scripts, made from the verbs' table on stdout. */
#ifndef KYMO_CLI_COMPLETION_H
#define KYMO_CLI_COMPLETION_H

void kymo__cli_completion_bash(void);
void kymo__cli_completion_zsh(void);
void kymo__cli_completion_fish(void);

#endif
