/* symbol_weak.c — stands in for the symbolizer until there is one: nothing has a name. */
#include <errno.h>
#include <kymo/symbol.h>

#include "alloc.h"

struct kymo_symbolizer {
    struct kymo_symbol *symbols;
};

__attribute__((weak)) int kymo_symbolizer_new(int mode, struct kymo_symbolizer **symbolizer)
{
    (void)mode;
    *symbolizer = kymo__alloc_zeroed(sizeof(**symbolizer));
    return *symbolizer ? 0 : -ENOMEM;
}

__attribute__((weak)) void kymo_symbolizer_free(struct kymo_symbolizer *symbolizer)
{
    if (symbolizer)
        kymo__free(symbolizer->symbols);
    kymo__free(symbolizer);
}

__attribute__((weak)) int kymo_symbolize(struct kymo_symbolizer *symbolizer,
                                         const struct kymo_place *places, size_t count,
                                         const struct kymo_symbol **symbols, size_t *first)
{
    (void)places;
    kymo__free(symbolizer->symbols);
    symbolizer->symbols = kymo__alloc_zeroed((count + 1) * sizeof(*symbolizer->symbols));
    if (!symbolizer->symbols)
        return -ENOMEM;
    for (size_t i = 0; i <= count; i++) {
        symbolizer->symbols[i] = (struct kymo_symbol){.name = "", .file = ""};
        first[i] = i;
    }
    *symbols = symbolizer->symbols;
    return 0;
}

__attribute__((weak)) int kymo_symbolize_generated(struct kymo_symbolizer *symbolizer, int64_t pid,
                                                   uint64_t address, struct kymo_symbol *symbol)
{
    (void)symbolizer, (void)pid, (void)address, (void)symbol;
    return 0;
}
