/* choice.h — parses values of options that several verbs share. Each function prints a message and
   returns false when TEXT is invalid; TEXT is NULL for an option not given, which changes
   nothing. */
#ifndef KYMO_CLI_CHOICE_H
#define KYMO_CLI_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One of COUNT words; *CHOICE is its index. OPTION, such as "--sort", is for the message. */
bool kymo__cli_choose(const char *option, const char *text, const char *const *words, size_t count,
                      unsigned *choice);

/* --of: calls or samples, an enum kymo_of. */
bool kymo__cli_choose_of(const char *text, unsigned *of);

/* --native: which native frames of samples, an enum kymo_native_shown. */
bool kymo__cli_choose_native(const char *text, unsigned *native);

/* --limit: how many functions to show. */
bool kymo__cli_choose_limit(const char *text, uint64_t *limit);

#endif
