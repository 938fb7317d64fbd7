/* texts.h — the texts of a symbolizer, each kept once, and names demangled once. */
#ifndef KYMO_TEXTS_H
#define KYMO_TEXTS_H

#include "strtab.h"

struct kymo_texts {
    struct kymo_strtab kept;
    struct kymo_strtab mangled;
    const char **plain; /* what mangled text ID stands for, at ID - 1 */
    size_t plain_capacity;
};

/* All-zero is empty. The text that equals the LEN bytes at TEXT, lent until fini; equal ones are
   the same pointer. NULL: no memory. */
const char *kymo__texts_keep(struct kymo_texts *texts, const char *text, size_t len);

/* The same for NAME as a symbol table or DWARF has it: without its version, demangled. */
const char *kymo__texts_name(struct kymo_texts *texts, const char *name);
void kymo__texts_fini(struct kymo_texts *texts);

#endif
