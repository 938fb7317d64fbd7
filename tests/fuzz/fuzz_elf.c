/* Any bytes can be taken for an ELF file, and names looked for in its symbol tables. */
#include <stdlib.h>

#include "binary.h"

static void fini(struct kymo_symbols *symbols, struct kymo_texts *texts)
{
    free(symbols->list);
    kymo__texts_fini(texts);
}

/* Addresses all over, and where functions begin and end, in order and all different. */
static size_t some_addresses(const struct kymo_symtab *tab, struct kymo_wanted *wanted, size_t most)
{
    size_t count = 0;
    uint64_t last = 0;
    for (size_t i = 0; i < tab->count && count + 2 < most; i++) {
        const struct kymo_stretch *stretch = &tab->stretches[i];
        /* They do not overlap, and none is empty. */
        if (stretch->begin >= stretch->end || stretch->begin < last)
            abort();
        last = stretch->end;
        if (kymo__symtab_find(tab, stretch->begin) != stretch ||
            kymo__symtab_find(tab, stretch->end - 1) != stretch)
            abort();
        if (!count || wanted[count - 1].address < stretch->begin)
            wanted[count++].address = stretch->begin;
        if (wanted[count - 1].address < stretch->end)
            wanted[count++].address = stretch->end;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct kymo_binary binary;
    struct kymo_symbols symbols = {0};
    struct kymo_texts texts = {0};
    static struct kymo_wanted wanted[256];
    memset(wanted, 0, sizeof(wanted));
    if (kymo__binary_init_image(&binary, (struct kymo_view){bytes, size}, KYMO_SYMBOL_NAMES) < 0)
        return 0;
    size_t count = some_addresses(&binary.symtab, wanted, 256);
    if (kymo__binary_find(&binary, wanted, count, &symbols, &texts) < 0)
        abort();
    for (size_t i = 0; i < count; i++)
        if (wanted[i].count != 1)
            abort();
    kymo__binary_fini(&binary);
    fini(&symbols, &texts);
    return 0;
}
