/* symtab.h — the functions of a file by its symbol tables, found by address.

   Of several names of one function the best is kept: one that others can see before a local one,
   and then the plainest. Where one function lies inside another, the inner one is found. */
#ifndef KYMO_SYMTAB_H
#define KYMO_SYMTAB_H

#include "elffile.h"

struct kymo_symtab {
    struct kymo_stretch {
        uint64_t begin, end;
        const char *name; /* in the file, with its version if it has one */
    } * stretches;        /* in order; none overlaps another */
    size_t count;
};

/* Read .symtab of ELF, or .dynsym where that is missing; where MORE is not NULL and has a
   .symtab, that one instead. Both must outlive TAB. Returns 0 or -ENOMEM. */
int kymo__symtab_init(struct kymo_symtab *tab, struct kymo_elf *elf, struct kymo_elf *more);
void kymo__symtab_fini(struct kymo_symtab *tab);

/* The function that ADDRESS lies in, or NULL. */
const struct kymo_stretch *kymo__symtab_find(const struct kymo_symtab *tab, uint64_t address);

#endif
