/* choice.c — see choice.h. */
#include "choice.h"

#include <kymo/kymo.h>
#include <string.h>

#include "memory.h"
#include "message.h"
#include "units.h"

bool kymo__cli_choose(const char *option, const char *text, const char *const *words, size_t count,
                      unsigned *choice)
{
    if (!text)
        return true;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0) {
            *choice = (unsigned)i;
            return true;
        }
    }
    char *list = kymo__cli_format("%s", words[0]);
    for (size_t i = 1; i < count; i++) {
        char *longer = kymo__cli_format("%s, %s", list, words[i]);
        kymo__cli_free(list);
        list = longer;
    }
    kymo__cli_complain("unknown %s %s; choose one of %s", option, text, list);
    kymo__cli_free(list);
    return false;
}

bool kymo__cli_choose_of(const char *text, unsigned *of)
{
    static const char *const words[] = {[KYMO_OF_EITHER] = "either",
                                        [KYMO_OF_CALLS] = "calls",
                                        [KYMO_OF_SAMPLES] = "samples",
                                        [KYMO_OF_MEMORY] = "memory"};
    return kymo__cli_choose("--of", text, words, sizeof words / sizeof *words, of);
}

bool kymo__cli_choose_native(const char *text, unsigned *native)
{
    static const char *const words[] = {
        [KYMO_NATIVE_BRIEF] = "brief", [KYMO_NATIVE_ALL] = "all", [KYMO_NATIVE_NONE] = "none"};
    return kymo__cli_choose("--native", text, words, sizeof words / sizeof *words, native);
}

bool kymo__cli_choose_limit(const char *text, uint64_t *limit)
{
    if (!text || kymo__cli_read_number(text, limit))
        return true;
    kymo__cli_complain("--limit %s is not a number of functions; write --limit 50", text);
    return false;
}
