/* Any payload of a summary is read without harm, and one that makes sense can be written again. */
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Calls nest: none begins before the one around it, or after the last event. */
static void check_state(const struct kymo_nest *nest)
{
    for (uint32_t i = 0; i < nest->depth; i++)
        if ((uint64_t)nest->frames[i].start > (uint64_t)nest->now ||
            (i && (uint64_t)nest->frames[i].start < (uint64_t)nest->frames[i - 1].start))
            abort();
}

static void check_cells(struct kymo_cells *cells)
{
    while (cells->count > 1) {
        size_t before = cells->count;
        kymo__cells_halve(cells);
        if (cells->count != (before + 1) / 2)
            abort();
    }
    struct kymo_buffer again = {0};
    struct kymo_cells copy = {0};
    if (kymo__cells_put(&again, cells) == 0) {
        if (kymo__cells_get(again.bytes, again.bytes + again.len, &copy) == 0 &&
            copy.cell_count != cells->cell_count)
            abort();
        kymo__cells_fini(&copy);
    }
    kymo__buffer_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct kymo_nest *nest = calloc(1, sizeof(*nest));
    struct kymo_cells cells = {0};
    const uint8_t *at = bytes;
    uint64_t gaps;
    int rc = kymo__checkpoint_get(&at, bytes + size, nest, &gaps);
    if (rc > 0) {
        struct kymo_buffer out = {0};
        check_state(nest);
        kymo__checkpoint_put(&out, nest, gaps);
        kymo__buffer_fini(&out);
    }
    if (rc >= 0) {
        if (kymo__cells_get(at, bytes + size, &cells) == 0)
            check_cells(&cells);
        kymo__cells_fini(&cells);
    }
    kymo__nest_fini(nest);
    free(nest);
    return 0;
}
