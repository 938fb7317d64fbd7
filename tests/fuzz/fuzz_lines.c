/* Any bytes can be run as a line program. The first byte says which version the unit has and
   where in the rest the program begins; the rest is .debug_line and all tables of texts. */
#include <stdlib.h>

#include "lines.h"

enum { ASKS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1)
        return 0;
    struct kymo_view rest = {bytes + 1, size - 1};
    struct kymo_dwarf dwarf = {0};
    struct kymo_unit unit = {.version = (uint16_t)(2 + (bytes[0] & 3)),
                             .lines = bytes[0] >> 4,
                             .address_size = 8,
                             .offset_size = bytes[0] & 4 ? 8 : 4,
                             .str_offsets_base = 8,
                             .dir = bytes[0] & 8 ? "/somewhere" : NULL};
    dwarf.sections[KYMO__LINE] = rest;
    dwarf.sections[KYMO__STR] = rest;
    dwarf.sections[KYMO__LINE_STR] = rest;
    dwarf.sections[KYMO__STR_OFFSETS] = rest;
    kymo__dwarf_refill(&dwarf);
    struct kymo_lines lines;
    if (kymo__lines_init(&lines, &dwarf, &unit) < 0)
        return 0;
    struct kymo_ask asks[ASKS] = {{0}};
    for (size_t i = 0; i < ASKS; i++)
        asks[i].address = i < 32 ? 0x1000 + i * 3 : UINT64_C(1) << i;
    kymo__lines_run(&lines, asks, ASKS);
    for (size_t i = 0; i < ASKS; i++) {
        char path[64];
        struct kymo_source *file = kymo__lines_file(&lines, asks[i].file);
        if (file && kymo__lines_path(&lines, file, path, sizeof(path)) >= sizeof(path))
            abort();
    }
    kymo__lines_fini(&lines);
    return 0;
}
