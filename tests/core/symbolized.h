/* symbolized.h — what the tests of symbolizers share: one to ask, and libraries of one function to
   ask it about, which the test compiles. */
#ifndef KYMO_SYMBOLIZED_H
#define KYMO_SYMBOLIZED_H

#include <kymo/symbol.h>

#include "check.h"
#include "elffile.h"
#include "shell.h"
#include "symtab.h"

/* A path that lasts. */
static inline char *copy_path(const char *path)
{
    static char paths[16][512];
    static int next;
    CHECK(next < 16);
    snprintf(paths[next], sizeof(paths[0]), "%s", path);
    return paths[next++];
}

static inline void write_bytes(const char *path, const void *bytes, size_t len)
{
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL);
    CHECK_EQ(fwrite(bytes, 1, len, f), len);
    fclose(f);
}

static inline struct kymo_symbolizer *new_symbolizer(int mode)
{
    struct kymo_symbolizer *symbolizer;
    CHECK_EQ(kymo_symbolizer_new(mode, &symbolizer), 0);
    return symbolizer;
}

/* The one symbol of PLACE, which lives until SYMBOLIZER goes. */
static inline struct kymo_symbol symbol_of(struct kymo_symbolizer *symbolizer,
                                           struct kymo_place place)
{
    const struct kymo_symbol *symbols;
    size_t first[2];
    CHECK_EQ(kymo_symbolize(symbolizer, &place, 1, &symbols, first), 0);
    CHECK_EQ(first[0], 0);
    CHECK(first[1] >= 1);
    return symbols[first[1] - 1];
}

/* A program of one function, and an address in it. KIND is for the compiler. */
static inline struct kymo_place build(const char *name, const char *function, const char *kind)
{
    char *path = copy_path(check_path(name));
    FILE *f = fopen(check_path("source.c"), "w");
    CHECK(f != NULL);
    fprintf(f, "int %s(int x)\n{\n    return x * 3;\n}\n", function);
    fclose(f);
    if (shell("cd '%s' && cc -O1 -shared -fPIC -nostdlib %s -o '%s' source.c 2>/dev/null",
              check_dir, kind, path) != 0)
        CHECK_SKIP("there is no cc that can build a library");
    struct kymo_elf elf;
    struct kymo_symtab tab;
    struct kymo_place place = {.path = path};
    CHECK_EQ(kymo__elf_open(&elf, path), 0);
    CHECK_EQ(kymo__symtab_init(&tab, &elf, NULL), 0);
    for (size_t i = 0; i < tab.count; i++)
        if (strcmp(tab.stretches[i].name, function) == 0)
            place.offset = tab.stretches[i].begin;
    CHECK(place.offset != 0);
    kymo__symtab_fini(&tab);
    kymo__elf_fini(&elf);
    return place;
}

#endif
