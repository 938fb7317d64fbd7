/* lines.h — the source line of an address: the line program of a unit.

   A program is run once for all requested addresses, and its rows are not kept. */
#ifndef KYMO_LINES_H
#define KYMO_LINES_H

#include "dwarf.h"

/* A requested address, and what is found about it. */
struct kymo_ask {
    uint64_t address;
    uint32_t unit;   /* of the index, or KYMO__NONE */
    uint32_t wanted; /* for the caller */
    uint32_t scope;  /* the innermost function it lies in (inlines.h), or KYMO__NONE */
    uint32_t file, line;
    bool has_line;
    bool named; /* a symbol table has a function there */
};

struct kymo_lines {
    const struct kymo_dwarf *dwarf;
    struct kymo_unit unit; /* whose program it is, with the sizes of the program */
    struct kymo_bytes program;
    const char **dirs;
    size_t dir_count, dir_capacity;
    struct kymo_line_file {
        const char *name;
        uint64_t dir;
        const char *path; /* the caller's, NULL at first */
    } * files;
    size_t file_count, file_capacity;
    uint16_t version;
    uint8_t least, most, opcode_base, line_range; /* roughly as in the standard */
    int8_t line_base;
    const uint8_t *lengths; /* of standard opcodes, from 1 */
};

/* Read the header of UNIT's program. If it is missing or not understood, there are no files and no
   rows. Returns 0 or -ENOMEM. */
int kymo__lines_init(struct kymo_lines *lines, struct kymo_dwarf *dwarf,
                     const struct kymo_unit *unit);
void kymo__lines_fini(struct kymo_lines *lines);

/* Run it: set file, line and has_line of the COUNT entries at ASKS, sorted by address, that it
   covers. */
void kymo__lines_run(const struct kymo_lines *lines, struct kymo_ask *asks, size_t count);

/* File NUMBER, as the program and attributes number it, or NULL. */
struct kymo_line_file *kymo__lines_file(const struct kymo_lines *lines, uint64_t number);

/* The path of FILE in PATH; returns its length, cut to SIZE - 1. */
size_t kymo__lines_path(const struct kymo_lines *lines, const struct kymo_line_file *file,
                        char *path, size_t size);

#endif
