/* binary.c — see binary.h. */
#include "binary.h"

#include <errno.h>

#include "alloc.h"

int kymo__symbols_add(struct kymo_symbols *symbols, const struct kymo_symbol *symbol)
{
    if (!symbol->name || !symbol->file ||
        kymo__array_grow(&symbols->list, &symbols->capacity, symbols->count,
                         sizeof(*symbols->list)) < 0)
        return -ENOMEM;
    symbols->list[symbols->count++] = *symbol;
    return 0;
}

static bool has(const struct kymo_elf *elf, const char *section)
{
    return kymo__elf_named(elf, section) != 0;
}

/* Look for separate debug information if the file itself has too little. */
static void open_debug(struct kymo_binary *binary, struct kymo_build_id id, bool usable, int mode)
{
    if (usable && !id.len)
        id = (struct kymo_build_id){binary->elf.build_id, binary->elf.build_id_bytes};
    if (usable && has(&binary->elf, mode == KYMO_SYMBOL_FULL ? ".debug_info" : ".symtab"))
        return;
    if (kymo__debugfile_by_id(id, &binary->debug) == 0)
        return;
    if (usable && kymo__debugfile_by_link(&binary->elf, &binary->debug) == 0)
        return;
    if (mode == KYMO_SYMBOL_FULL)
        kymo__debugfile_by_net(id, &binary->debug);
}

/* Read lines and inlined functions, from the file or its debug file. */
static int read_debug(struct kymo_binary *binary)
{
    struct kymo_elf *elf = has(&binary->elf, ".debug_info") ? &binary->elf : &binary->debug;
    if (elf->mapped && kymo__debugfile_shared(elf, &binary->shared) == 0) {
        int rc = kymo__dwarf_init(&binary->shared_dwarf, &binary->shared, NULL);
        if (rc < 0)
            return rc;
    }
    return kymo__dwarf_init(&binary->dwarf, elf, &binary->shared_dwarf);
}

static int read_all(struct kymo_binary *binary, int mode)
{
    struct kymo_elf *debug = binary->debug.image.len ? &binary->debug : NULL;
    int rc = kymo__symtab_init(&binary->symtab, &binary->elf, debug);
    if (rc == 0 && mode == KYMO_SYMBOL_FULL)
        rc = read_debug(binary);
    return rc;
}

int kymo__binary_init(struct kymo_binary *binary, const char *path, struct kymo_build_id id,
                      int mode)
{
    *binary = (struct kymo_binary){0};
    if (mode == KYMO_SYMBOL_NONE)
        return 0;
    int rc = kymo__elf_open(&binary->elf, path);
    if (rc == -ENOMEM)
        return rc;
    /* A file with another build id has replaced this one: its names would be wrong. */
    if (rc == 0 && id.len && !kymo__debugfile_is(&binary->elf, id))
        kymo__elf_fini(&binary->elf);
    open_debug(binary, id, binary->elf.image.len != 0, mode);
    rc = read_all(binary, mode);
    if (rc < 0)
        kymo__binary_fini(binary);
    return rc;
}

int kymo__binary_init_image(struct kymo_binary *binary, struct kymo_view image, int mode)
{
    *binary = (struct kymo_binary){0};
    if (kymo__elf_init(&binary->elf, image) < 0)
        return 0;
    int rc = read_all(binary, mode);
    if (rc < 0)
        kymo__binary_fini(binary);
    return rc;
}

void kymo__binary_fini(struct kymo_binary *binary)
{
    kymo__free(binary->memo.names);
    kymo__map_fini(&binary->memo.places);
    kymo__dwarf_fini(&binary->dwarf);
    kymo__dwarf_fini(&binary->shared_dwarf);
    kymo__symtab_fini(&binary->symtab);
    kymo__elf_fini(&binary->elf);
    kymo__elf_fini(&binary->debug);
    kymo__elf_fini(&binary->shared);
}

int kymo__binary_find(struct kymo_binary *binary, struct kymo_wanted *wanted, size_t count,
                      struct kymo_symbols *symbols, struct kymo_texts *texts)
{
    int rc = 0;
    if (binary->dwarf.range_count)
        rc = kymo__frames_find(binary, wanted, count, symbols, texts);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct kymo_wanted *want = &wanted[i];
        if (want->count)
            continue;
        const struct kymo_stretch *found = kymo__symtab_find(&binary->symtab, want->address);
        want->first = symbols->count;
        want->count = 1;
        rc = kymo__symbols_add(symbols,
                               &(struct kymo_symbol){
                                   .name = kymo__texts_name(texts, found ? found->name : ""),
                                   .file = kymo__texts_keep(texts, "", 0),
                               });
    }
    return rc;
}
