/* output.h — stdout, which may be a full disk or a reader that has gone. */
#ifndef KYMO_CLI_OUTPUT_H
#define KYMO_CLI_OUTPUT_H

#include <stdbool.h>

/* Prepare the standard streams. Call once, before any file is opened. */
void kymo__cli_output_begin(void);

/* False once writing to stdout failed: a verb with much to say stops then. */
bool kymo__cli_output_works(void);

/* Write what is left and return CODE, or CLI_BAD with a complaint when something
   could not be written. A reader that went away is no error: nobody wanted more. */
int kymo__cli_output_end(int code);

#endif
