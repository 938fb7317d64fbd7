/* output.h — handles errors on stdout: a full disk, or a reader that has gone. */
#ifndef KYMO_CLI_OUTPUT_H
#define KYMO_CLI_OUTPUT_H

#include <stdbool.h>

/* Prepare the standard streams. Call once, before any file is opened. */
void kymo__cli_output_begin(void);

/* False once writing to stdout has failed; verbs with long output stop then. */
bool kymo__cli_output_works(void);

/* Flush stdout and return CODE, or print a message and return CLI_BAD when something could not be
   written. A reader that has gone is not an error. */
int kymo__cli_output_end(int code);

#endif
