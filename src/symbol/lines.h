/* lines.h — which line of which file an address comes from: the line program of a unit.

   A program is run once for all addresses asked for, and its rows are not kept. */
#ifndef KYMO_LINES_H
#define KYMO_LINES_H

#include "dwarf.h"

/* An address asked for, and what is found out about it. */
struct kymo_ask {
    uint64_t address;
    uint32_t unit;   /* of the index, or KYMO__NONE */
    uint32_t wanted; /* the caller's */
    uint32_t scope;  /* the innermost function it lies in (inlines.h), or KYMO__NONE */
    uint32_t file, line;
    bool has_line;
    bool named; /* a symbol table knows a function there */
};

struct kymo_lines {
    const struct kymo_dwarf *dwarf;
    struct kymo_unit unit; /* whose program it is, with the sizes of the program */
    struct kymo_bytes program;
    const char **dirs;
    size_t dir_count, dir_capacity;
    struct kymo_source {
        const char *name;
        uint64_t dir;
        const char *path; /* the caller's, NULL at first */
    } * files;
    size_t file_count, file_capacity;
    uint16_t version;
    uint8_t least, most, opcode_base, line_range; /* as the standard calls them, nearly */
    int8_t line_base;
    const uint8_t *lengths; /* of standard opcodes, from 1 */
};

/* Read the header of UNIT's program. With none that is understood there are no files and no rows.
   Returns 0 or -ENOMEM. */
int kymo__lines_init(struct kymo_lines *lines, struct kymo_dwarf *dwarf,
                     const struct kymo_unit *unit);
void kymo__lines_fini(struct kymo_lines *lines);

/* Run it: sets file, line and has_line of those of the COUNT at ASKS, in order of address, that
   it covers. */
void kymo__lines_run(const struct kymo_lines *lines, struct kymo_ask *asks, size_t count);

/* File NUMBER, as the program and attributes number it, or NULL. */
struct kymo_source *kymo__lines_file(const struct kymo_lines *lines, uint64_t number);

/* The path of FILE in PATH; returns its length, cut to SIZE - 1. */
size_t kymo__lines_path(const struct kymo_lines *lines, const struct kymo_source *file, char *path,
                        size_t size);

#endif
