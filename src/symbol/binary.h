/* binary.h — a program or library, with everything that can be found about it.

   It is opened when an address in it is first requested, and then kept. */
#ifndef KYMO_BINARY_H
#define KYMO_BINARY_H

#include <kymo/symbol.h>

#include "debugfile.h"
#include "dwarf.h"
#include "map.h"
#include "symtab.h"
#include "texts.h"

/* An address of a binary, and its symbols in the list they were added to. */
struct kymo_wanted {
    uint64_t address;
    size_t first;
    uint32_t count;  /* 0: not found yet */
    uint32_t answer; /* for the caller */
};

struct kymo_symbols {
    struct kymo_symbol *list;
    size_t count, capacity;
};

/* Cached names of .debug_info entries. */
struct kymo_memo {
    struct kymo_memo_name {
        const char *name;
        bool linkage;
    } * names;
    size_t count, capacity;
    struct kymo_map places; /* position in names, plus 1, by the entry's offset */
};

struct kymo_binary {
    struct kymo_elf elf;    /* the file itself */
    struct kymo_elf debug;  /* its separate debug information */
    struct kymo_elf shared; /* debug information shared with other files */
    struct kymo_symtab symtab;
    struct kymo_dwarf dwarf, shared_dwarf;
    struct kymo_memo memo;
};

/* Open the file at PATH, for MODE of enum kymo_symbol_mode. With an ID, only a file that has that
   build id. Finding nothing is not an error. Returns 0 or -ENOMEM. */
int kymo__binary_init(struct kymo_binary *binary, const char *path, struct kymo_build_id id,
                      int mode);

/* The same for an image in memory, which must outlive BINARY. */
int kymo__binary_init_image(struct kymo_binary *binary, struct kymo_view image, int mode);
void kymo__binary_fini(struct kymo_binary *binary);

/* Add the symbols of the COUNT addresses at WANTED, which are sorted and distinct, to SYMBOLS.
   Returns 0 or -ENOMEM. */
int kymo__binary_find(struct kymo_binary *binary, struct kymo_wanted *wanted, size_t count,
                      struct kymo_symbols *symbols, struct kymo_texts *texts);

/* The same for those that debug information covers, whose count is then not 0. (frames.c) */
int kymo__frames_find(struct kymo_binary *binary, struct kymo_wanted *wanted, size_t count,
                      struct kymo_symbols *symbols, struct kymo_texts *texts);

int kymo__symbols_add(struct kymo_symbols *symbols, const struct kymo_symbol *symbol);

#endif
