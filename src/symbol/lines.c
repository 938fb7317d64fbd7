/* lines.c — the header of a line program, and its files; see lines.h. */
#include "lines.h"

#include <errno.h>
#include <stdio.h>

#include "alloc.h"
#include "dwarf_codes.h"

static int add_dir(struct kymo_lines *lines, const char *dir)
{
    int rc = kymo__array_grow(&lines->dirs, &lines->dir_capacity, lines->dir_count,
                              sizeof(*lines->dirs));
    if (rc == 0)
        lines->dirs[lines->dir_count++] = dir;
    return rc;
}

static int add_file(struct kymo_lines *lines, const char *name, uint64_t dir)
{
    int rc = kymo__array_grow(&lines->files, &lines->file_capacity, lines->file_count,
                              sizeof(*lines->files));
    if (rc == 0)
        lines->files[lines->file_count++] = (struct kymo_line_file){.name = name, .dir = dir};
    return rc;
}

/* Up to version 4: texts in sequence, ended by an empty one. */
static int read_old_tables(struct kymo_lines *lines, struct kymo_bytes *bytes)
{
    const char *text;
    int rc = 0;
    while (rc == 0 && (text = kymo__bytes_text(bytes)) && *text)
        rc = add_dir(lines, text);
    while (rc == 0 && (text = kymo__bytes_text(bytes)) && *text) {
        uint64_t dir = kymo__bytes_uleb(bytes);
        kymo__bytes_uleb(bytes); /* time */
        kymo__bytes_uleb(bytes); /* length */
        rc = add_file(lines, text, dir);
    }
    return rc;
}

/* From version 5: a table starts with the format of its entries. */
static int read_new_table(struct kymo_lines *lines, struct kymo_bytes *bytes, bool files)
{
    struct {
        uint64_t content, form;
    } formats[256];
    unsigned format_count = kymo__bytes_u8(bytes);
    for (unsigned i = 0; i < format_count; i++) {
        formats[i].content = kymo__bytes_uleb(bytes);
        formats[i].form = kymo__bytes_uleb(bytes);
    }
    uint64_t count = kymo__bytes_uleb(bytes);
    if (format_count == 0 || count > kymo__bytes_left(bytes))
        return 0;
    int rc = 0;
    for (uint64_t i = 0; i < count && rc == 0 && !bytes->bad; i++) {
        const char *path = NULL;
        uint64_t dir = 0;
        for (unsigned k = 0; k < format_count && !bytes->bad; k++) {
            struct kymo_attr attr = {.form = (uint16_t)formats[k].form};
            struct kymo_dwarf_value value;
            if (formats[k].form > UINT16_MAX || formats[k].form == DW_FORM_implicit_const) {
                bytes->bad = true;
                break;
            }
            kymo__value_read(bytes, &lines->unit, NULL, &attr, &value);
            if (formats[k].content == DW_LNCT_path)
                path = kymo__value_text(lines->dwarf, &lines->unit, &value);
            else if (formats[k].content == DW_LNCT_directory_index)
                dir = value.number;
        }
        if (!bytes->bad)
            rc = files ? add_file(lines, path, dir) : add_dir(lines, path);
    }
    return rc;
}

/* Read what is between the length and the program. */
static int read_header(struct kymo_lines *lines, struct kymo_bytes *bytes)
{
    if (lines->version >= 5) {
        kymo__bytes_u8(bytes); /* the size of an address, which set_address says too */
        kymo__bytes_u8(bytes); /* the size of a segment selector */
    }
    uint64_t header = kymo__bytes_number(bytes, lines->unit.offset_size);
    struct kymo_bytes program = *bytes;
    kymo__bytes_skip(&program, header);
    lines->least = kymo__bytes_u8(bytes);
    lines->most = lines->version >= 4 ? kymo__bytes_u8(bytes) : 1;
    kymo__bytes_u8(bytes); /* whether rows are statements at first */
    lines->line_base = (int8_t)kymo__bytes_u8(bytes);
    lines->line_range = kymo__bytes_u8(bytes);
    lines->opcode_base = kymo__bytes_u8(bytes);
    lines->lengths = bytes->at;
    kymo__bytes_skip(bytes, lines->opcode_base ? lines->opcode_base - 1u : 0u);
    if (bytes->bad || program.bad || lines->line_range == 0 || lines->opcode_base == 0)
        return 0;
    struct kymo_bytes tables = *bytes;
    tables.end = program.at > bytes->at ? program.at : bytes->at;
    int rc;
    if (lines->version < 5) {
        rc = read_old_tables(lines, &tables);
    } else {
        rc = read_new_table(lines, &tables, false);
        if (rc == 0)
            rc = read_new_table(lines, &tables, true);
    }
    lines->program = program;
    return rc;
}

int kymo__lines_init(struct kymo_lines *lines, struct kymo_dwarf *dwarf,
                     const struct kymo_unit *unit)
{
    *lines = (struct kymo_lines){.dwarf = dwarf, .unit = *unit};
    struct kymo_bytes bytes = kymo__bytes(dwarf->sections[KYMO__LINE], unit->lines);
    uint64_t len = kymo__bytes_u32(&bytes);
    lines->unit.offset_size = 4;
    if (len == 0xffffffff) {
        len = kymo__bytes_u64(&bytes);
        lines->unit.offset_size = 8;
    }
    if (bytes.bad || len > kymo__bytes_left(&bytes) || len > dwarf->line_budget)
        return 0;
    dwarf->line_budget -= len;
    bytes.end = bytes.at + len;
    lines->version = kymo__bytes_u16(&bytes);
    if (lines->version < 2 || lines->version > 5)
        return 0;
    int rc = read_header(lines, &bytes);
    if (rc < 0)
        kymo__lines_fini(lines);
    return rc;
}

void kymo__lines_fini(struct kymo_lines *lines)
{
    kymo__free(lines->dirs);
    kymo__free(lines->files);
    *lines = (struct kymo_lines){0};
}

struct kymo_line_file *kymo__lines_file(const struct kymo_lines *lines, uint64_t number)
{
    if (lines->version < 5)
        number--; /* they are numbered from 1 */
    if (number >= lines->file_count || !lines->files[number].name)
        return NULL;
    return &lines->files[number];
}

static const char *dir_of(const struct kymo_lines *lines, uint64_t number)
{
    /* 0 is the compilation directory. */
    if (number == 0)
        return NULL;
    number -= lines->version < 5;
    return number < lines->dir_count ? lines->dirs[number] : NULL;
}

size_t kymo__lines_path(const struct kymo_lines *lines, const struct kymo_line_file *file,
                        char *path, size_t size)
{
    const char *dir = dir_of(lines, file->dir), *base = lines->unit.dir;
    if (!base && lines->version >= 5 && lines->dir_count)
        base = lines->dirs[0];
    int len;
    if (file->name[0] == '/' || (!dir && !base))
        len = snprintf(path, size, "%s", file->name);
    else if (!dir)
        len = snprintf(path, size, "%s/%s", base, file->name);
    else if (dir[0] == '/' || !base)
        len = snprintf(path, size, "%s/%s", dir, file->name);
    else
        len = snprintf(path, size, "%s/%s/%s", base, dir, file->name);
    return len < 0 ? 0 : (size_t)len < size ? (size_t)len : size - 1;
}
