/* frames.c — resolve addresses with debug information: unit by unit, first the lines of all
   addresses, then the functions that contain them, then the names of those. See binary.h. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "alloc.h"
#include "binary.h"
#include "dwarf_codes.h"
#include "inlines.h"

struct batch {
    struct kymo_binary *binary;
    struct kymo_wanted *wanted;
    struct kymo_symbols *symbols;
    struct kymo_texts *texts;
    struct kymo_scopes scopes; /* of the unit at hand */
    struct kymo_lines lines;
};

/* ---- names ---- */

/* The name of DIE, or NULL if memory is short. Empty if it has none. */
static const struct kymo_memo_name *name_of(struct batch *batch, struct kymo_die die)
{
    struct kymo_binary *binary = batch->binary;
    uint64_t shared = die.dwarf == &binary->shared_dwarf ? UINT64_C(1) << 63 : 0;
    struct kymo_memo *memo = &binary->memo;
    uint32_t place = kymo__map_find(&memo->places, die.offset ^ shared);
    if (place)
        return &memo->names[place - 1];
    if (memo->count >= UINT32_MAX || kymo__map_reserve(&memo->places) < 0 ||
        kymo__array_grow(&memo->names, &memo->capacity, memo->count, sizeof(*memo->names)) < 0)
        return NULL;
    bool linkage;
    const char *name = kymo__die_name(die, &linkage);
    name = !name     ? kymo__texts_keep(batch->texts, "", 0)
           : linkage ? kymo__texts_name(batch->texts, name)
                     : kymo__texts_keep(batch->texts, name, strlen(name));
    if (!name)
        return NULL;
    memo->names[memo->count++] = (struct kymo_memo_name){.name = name, .linkage = linkage};
    kymo__map_set(&memo->places, die.offset ^ shared, (uint32_t)memo->count);
    return &memo->names[memo->count - 1];
}

static bool is_c(unsigned language)
{
    return language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
           language == DW_LANG_C11 || language == DW_LANG_C17 || language == DW_LANG_C23;
}

/* The name of a function that was not inlined. If debug information has only the last part of a
   name, as for some C++ functions, the symbol table has the whole. */
static const char *outer_name(struct batch *batch, const struct kymo_ask *ask,
                              const struct kymo_memo_name *known)
{
    const struct kymo_unit *unit = &batch->binary->dwarf.units[ask->unit];
    if (known && *known->name && (known->linkage || is_c(unit->language)))
        return known->name;
    const struct kymo_stretch *found = kymo__symtab_find(&batch->binary->symtab, ask->address);
    if (found)
        return kymo__texts_name(batch->texts, found->name);
    return known ? known->name : kymo__texts_keep(batch->texts, "", 0);
}

/* ---- symbols ---- */

static const char *path_of(struct batch *batch, uint64_t number)
{
    struct kymo_line_file *file = kymo__lines_file(&batch->lines, number);
    if (!file)
        return kymo__texts_keep(batch->texts, "", 0);
    if (!file->path) {
        char path[PATH_MAX];
        size_t len = kymo__lines_path(&batch->lines, file, path, sizeof(path));
        file->path = kymo__texts_keep(batch->texts, path, len);
    }
    return file->path;
}

/* Add the symbols of ASK, innermost first: each is located where the one inside it was called. */
static int add_symbols(struct batch *batch, const struct kymo_ask *ask)
{
    struct kymo_wanted *want = &batch->wanted[ask->wanted];
    uint32_t at = ask->scope;
    uint64_t file = ask->file;
    struct kymo_symbol symbol = {.line = ask->has_line ? ask->line : 0};
    bool has_file = ask->has_line;
    want->first = batch->symbols->count;
    do {
        const struct kymo_scope *scope = at == KYMO__NONE ? NULL : &batch->scopes.list[at];
        const struct kymo_memo_name *known = scope ? name_of(batch, scope->die) : NULL;
        if (scope && !known)
            return -ENOMEM;
        at = scope ? scope->parent : KYMO__NONE;
        symbol.inlined = at != KYMO__NONE;
        symbol.name = symbol.inlined ? known->name : outer_name(batch, ask, known);
        symbol.file = has_file ? path_of(batch, file) : kymo__texts_keep(batch->texts, "", 0);
        if (kymo__symbols_add(batch->symbols, &symbol) < 0)
            return -ENOMEM;
        if (scope) {
            file = scope->call_file;
            has_file = file != 0 || batch->lines.version >= 5;
            symbol.line = scope->call_line;
        }
    } while (at != KYMO__NONE);
    want->count = (uint32_t)(batch->symbols->count - want->first);
    return 0;
}

static int read_unit(struct batch *batch, struct kymo_ask *asks, size_t count)
{
    struct kymo_dwarf *dwarf = &batch->binary->dwarf;
    const struct kymo_unit *unit = &dwarf->units[asks[0].unit];
    batch->scopes.count = 0;
    int rc = kymo__lines_init(&batch->lines, dwarf, unit);
    if (rc < 0)
        return rc;
    kymo__lines_run(&batch->lines, asks, count);
    rc = kymo__scopes_find(&batch->scopes, dwarf, unit, asks, count);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = add_symbols(batch, &asks[i]);
    kymo__lines_fini(&batch->lines);
    return rc;
}

static int by_unit(const void *a, const void *b)
{
    const struct kymo_ask *x = a, *y = b;
    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

int kymo__frames_find(struct kymo_binary *binary, struct kymo_wanted *wanted, size_t count,
                      struct kymo_symbols *symbols, struct kymo_texts *texts)
{
    struct batch batch = {.binary = binary, .wanted = wanted, .symbols = symbols, .texts = texts};
    if (count >= KYMO__NONE || count > SIZE_MAX / sizeof(struct kymo_ask))
        return -ENOMEM;
    struct kymo_ask *asks = kymo__alloc(count * sizeof(*asks));
    if (!asks)
        return -ENOMEM;
    size_t asked = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t unit = kymo__dwarf_unit_at(&binary->dwarf, wanted[i].address);
        if (unit != KYMO__NONE)
            asks[asked++] = (struct kymo_ask){
                .address = wanted[i].address,
                .unit = unit,
                .wanted = (uint32_t)i,
                .scope = KYMO__NONE,
                .named = kymo__symtab_find(&binary->symtab, wanted[i].address) != NULL,
            };
    }
    if (asked)
        qsort(asks, asked, sizeof(*asks), by_unit);
    kymo__dwarf_refill(&binary->dwarf);
    kymo__dwarf_refill(&binary->shared_dwarf);
    int rc = 0;
    for (size_t i = 0, end; i < asked && rc == 0; i = end) {
        for (end = i + 1; end < asked && asks[end].unit == asks[i].unit;)
            end++;
        rc = read_unit(&batch, asks + i, end - i);
    }
    kymo__free(batch.scopes.list);
    kymo__free(asks);
    if (rc == 0 && (binary->dwarf.no_memory || binary->shared_dwarf.no_memory)) {
        /* A missing name can only mean that memory was short. */
        kymo__free(binary->memo.names);
        binary->memo = (struct kymo_memo){0};
        rc = -ENOMEM;
    }
    return rc;
}
