/* rewriting.h — what the verbs share that make a capture out of captures. */
#ifndef KYMO_CLI_REWRITING_H
#define KYMO_CLI_REWRITING_H

#include "rewrite.h"

/* Is OUTPUT a file that may be written, and none of the COUNT captures in PATHS? False after
   a complaint. NULL is not. */
bool kymo__cli_rewrite_allowed(const char *output, const char *const *paths, int count);

/* Write the parts to OUTPUT with a line of progress called DOING. An exit code; ends as the
   signal says when there was one. */
int kymo__cli_rewrite(const struct kymo_part *parts, size_t count, const char *output,
                      const struct kymo_rewrite_note *notes, const char *doing);

#endif
