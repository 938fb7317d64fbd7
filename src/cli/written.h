/* written.h — a file that a verb makes beside captures: may it be written, and was it? */
#ifndef KYMO_CLI_WRITTEN_H
#define KYMO_CLI_WRITTEN_H

#include <stdbool.h>

/* Are these two names of one file that exists? */
bool kymo__cli_same_file(const char *a, const char *b);

/* Say how writing OUTPUT went: ERROR is 0 or a negative code. An exit code. */
int kymo__cli_written(const char *output, int error);

#endif
