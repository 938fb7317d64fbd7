/* completion_values.c — the values an option accepts, for every shell. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "completion.h"
#include "verb.h"

enum { WORDS_MOST = 16, TEXT_MOST = 128 };

/* Split TEXT such as "brief|all|none" into words, valid until the next call. NULL when TEXT is not
   such a list, or has placeholders, as "NAME=on|off" has. */
static const char *const *alternatives(const char *text)
{
    static char copy[TEXT_MOST];
    static const char *words[WORDS_MOST + 1];
    size_t count = 0, length = strlen(text);
    if (!strchr(text, '|') || (*text >= 'A' && *text <= 'Z') || length >= sizeof copy)
        return NULL;
    memcpy(copy, text, length + 1);
    char *rest = NULL;
    for (char *word = strtok_r(copy, "|", &rest); word && count < WORDS_MOST;
         word = strtok_r(NULL, "|", &rest))
        words[count++] = word;
    words[count] = NULL;
    return words;
}

const char *const *kymo__cli_values(const struct cli_verb *verb, const struct cli_option *option)
{
    const char *const *words = verb->values ? verb->values(option) : NULL;
    return words || !option->argument ? words : alternatives(option->argument);
}

bool kymo__cli_takes_file(const struct cli_option *option)
{
    static const char *const files[] = {"FILE", "OUT", "PATH", NULL};
    for (int i = 0; files[i]; i++)
        if (strcmp(option->argument, files[i]) == 0)
            return true;
    return false;
}
