/* choice.h — values of options that several verbs have. Each complains and returns false
   when TEXT makes no sense; NULL is an option that was not given, and changes nothing. */
#ifndef KYMO_CLI_CHOICE_H
#define KYMO_CLI_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One of COUNT words; *CHOICE is its index. OPTION is for the complaint, "--sort". */
bool kymo__cli_choose(const char *option, const char *text, const char *const *words, size_t count,
                      unsigned *choice);

/* Calls or samples, of enum kymo_of: --of. */
bool kymo__cli_choose_of(const char *text, unsigned *of);

/* Which native frames of samples, of enum kymo_native_shown: --native. */
bool kymo__cli_choose_native(const char *text, unsigned *native);

/* How many functions to show. */
bool kymo__cli_choose_limit(const char *text, uint64_t *limit);

#endif
