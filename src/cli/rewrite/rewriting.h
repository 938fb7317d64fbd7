/* rewriting.h — shared by the verbs that write new captures from existing ones. */
#ifndef KYMO_CLI_REWRITING_H
#define KYMO_CLI_REWRITING_H

#include "rewrite.h"

/* May OUTPUT be written, and is it none of the COUNT captures in PATHS? Prints a message and
   returns false if not, or if OUTPUT is NULL. */
bool kymo__cli_rewrite_allowed(const char *output, const char *const *paths, int count);

/* Write the parts to OUTPUT, showing progress labelled DOING. A file that is not a capture is
   replaced only with FORCE. Returns an exit code; after a
   signal, ends the process by it. */
int kymo__cli_rewrite(const struct kymo_part *parts, size_t count, const char *output,
                      const struct kymo_rewrite_note *notes, const char *doing, bool force);

#endif
