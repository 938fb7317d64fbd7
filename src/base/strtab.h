/* strtab.h — strings by content, each stored once and identified by a dense id from 1.

   For few distinct strings that occur many times: names, files. Not thread-safe; the owner
   locks. */
#ifndef KYMO_STRTAB_H
#define KYMO_STRTAB_H

#include <stddef.h>
#include <stdint.h>

#include "map.h"

struct kymo_strtab {
    struct kymo_str {
        char *text; /* zero-terminated; does not move until fini */
        size_t len;
        uint64_t hash;
    } * strings; /* string ID is at ID - 1 */
    size_t count, capacity;
    struct kymo_map ids; /* by hash */
};

/* An all-zero table is empty. Return the id of the LEN bytes at TEXT, or 0 if not found. */
uint32_t kymo__strtab_find(const struct kymo_strtab *tab, const char *text, size_t len);

/* Return the id, adding a copy and setting *ADDED if it is new; or -ENOMEM. */
int64_t kymo__strtab_add(struct kymo_strtab *tab, const char *text, size_t len, int *added);

/* Remove the string added last, if nothing was added since. */
void kymo__strtab_drop_last(struct kymo_strtab *tab);
const struct kymo_str *kymo__strtab_get(const struct kymo_strtab *tab, uint32_t id);
void kymo__strtab_fini(struct kymo_strtab *tab);

#endif
