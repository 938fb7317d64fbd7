/* Any bytes can be taken for an ELF file, and lines and inlined functions looked for in its debug
   information: at the edges of what its units cover, and in between. */
#include <stdlib.h>

#include "binary.h"

enum { MOST = 512 };

static int by_address(const void *a, const void *b)
{
    const struct kymo_wanted *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static size_t some_addresses(const struct kymo_dwarf *dwarf, struct kymo_wanted *wanted)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < dwarf->range_count && count + 6 < MOST; i++) {
        const struct kymo_unit_range *range = &dwarf->ranges[i];
        uint64_t size = range->end - range->begin;
        if (range->begin >= range->end || range->unit >= dwarf->unit_count)
            abort();
        wanted[count++].address = range->begin;
        wanted[count++].address = range->end - 1;
        wanted[count++].address = range->end;
        for (uint64_t k = 1; k < 4; k++)
            wanted[count++].address = range->begin + size / 4 * k;
    }
    qsort(wanted, count, sizeof(*wanted), by_address);
    for (size_t i = 0; i < count; i++)
        if (!kept || wanted[kept - 1].address != wanted[i].address)
            wanted[kept++].address = wanted[i].address;
    return kept;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct kymo_binary binary;
    struct kymo_symbols symbols = {0};
    struct kymo_texts texts = {0};
    static struct kymo_wanted wanted[MOST];
    memset(wanted, 0, sizeof(wanted));
    if (kymo__binary_init_image(&binary, (struct kymo_view){bytes, size}, KYMO_SYMBOL_FULL) < 0)
        return 0;
    size_t count = some_addresses(&binary.dwarf, wanted);
    if (kymo__binary_find(&binary, wanted, count, &symbols, &texts) < 0)
        abort();
    for (size_t i = 0; i < count; i++) {
        if (wanted[i].count == 0 || wanted[i].first + wanted[i].count > symbols.count)
            abort();
        for (uint32_t k = 0; k < wanted[i].count; k++)
            if (symbols.list[wanted[i].first + k].inlined != (k + 1 < wanted[i].count))
                abort();
    }
    kymo__binary_fini(&binary);
    free(symbols.list);
    kymo__texts_fini(&texts);
    return 0;
}
