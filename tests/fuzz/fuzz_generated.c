/* Any bytes can be read as a perf map and as a jitdump. */
#include <stdlib.h>

#include "generated.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    for (int which = 0; which < 2 && size > 0; which++) {
        struct kymo_codes codes = {0};
        struct kymo_texts texts = {0};
        struct kymo_symbol symbol;
        struct kymo_view file = {bytes, size};
        if ((which ? kymo__jitdump_read(&codes, &texts, file)
                   : kymo__perfmap_read(&codes, &texts, file)) < 0)
            abort();
        kymo__codes_sort(&codes);
        for (size_t i = 0; i < codes.count && i < 100; i++)
            if (!kymo__codes_find(&codes, codes.list[i].begin, &symbol) || !symbol.name)
                abort();
        kymo__codes_fini(&codes);
        kymo__texts_fini(&texts);
    }
    return 0;
}
