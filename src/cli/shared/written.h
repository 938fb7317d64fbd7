/* written.h — checks and reports for files that verbs write, other than captures. */
#ifndef KYMO_CLI_WRITTEN_H
#define KYMO_CLI_WRITTEN_H

#include <stdbool.h>

/* Do both names refer to the same existing file? */
bool kymo__cli_same_file(const char *a, const char *b);

/* May OUTPUT be written? Yes if it does not exist, is one of our exports, or FORCED is set. Prints
   a message and returns false if not. */
bool kymo__cli_may_replace(const char *output, bool forced);

/* Report the result of writing OUTPUT: ERROR is 0 or a negative code. Returns an exit code. */
int kymo__cli_written(const char *output, int error);

#endif
