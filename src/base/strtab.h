/* strtab.h — strings by content, each kept once and known by a dense id from 1.

   Good where few distinct strings come up many times: names, files. Not safe for
   several threads at once; the owner locks. */
#ifndef KYMO_STRTAB_H
#define KYMO_STRTAB_H

#include <stddef.h>
#include <stdint.h>

struct kymo_strtab {
    struct kymo_str {
        char *text; /* ends in a zero byte; stays where it is until fini */
        size_t len;
        uint64_t hash;
    } * strings;     /* string ID stands at ID - 1 */
    uint32_t *slots; /* ids, 0 for free; a power of two of them */
    size_t count, capacity, slot_count;
};

/* All-zero is an empty table. The id of the LEN bytes at TEXT, or 0 when there are
   none such. */
uint32_t kymo__strtab_find(const struct kymo_strtab *tab, const char *text, size_t len);

/* The id, adding a copy if it is new; then *ADDED is true. Negative: -ENOMEM. */
int64_t kymo__strtab_add(struct kymo_strtab *tab, const char *text, size_t len, int *added);

/* Forget the string added last, if nothing was added since. */
void kymo__strtab_drop_last(struct kymo_strtab *tab);
const struct kymo_str *kymo__strtab_get(const struct kymo_strtab *tab, uint32_t id);
void kymo__strtab_fini(struct kymo_strtab *tab);

#endif
