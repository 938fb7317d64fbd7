/* nearfile.c — see nearfile.h. */
#include "nearfile.h"

#include <stddef.h>
#include <string.h>

/* The last PARTS parts of PATH. */
static const char *tail(const char *path, int parts)
{
    const char *at = path + strlen(path);
    for (; at > path; at--)
        if (at[-1] == '/' && --parts == 0)
            break;
    return at;
}

const char *kymo__near_part(const char *path, enum kymo_nearness nearness)
{
    static const char *const packages[] = {"/site-packages/", "/dist-packages/"};
    if (nearness == KYMO__NEAR_WHOLE)
        return path;
    if (nearness == KYMO__NEAR_LAST)
        return tail(path, 1);
    for (size_t i = 0; i < sizeof(packages) / sizeof(*packages); i++) {
        const char *found = strstr(path, packages[i]);
        if (found)
            return found + strlen(packages[i]);
    }
    return tail(path, 2);
}
