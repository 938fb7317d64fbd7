/* cells.h — an overview of a range of records: columns of time and, in each, one cell per stack
   depth.

   A column covers about a thousand events. Columns are contiguous: each starts where the previous
   one ends. A cell describes the calls at its depth:

       key       the key that took the most time there (approximate if there are many short calls)
       cover     how much of the column calls with that key took, in 255ths
       busy      how much calls of any key took, in 255ths
       count     how many calls began there
       longest   the longest call, as far as it lies in the column

   Encoded as varints: the number of columns, the tick at which the first starts, and for each
   column its ticks, its events, and its number of cells. Then the cells' keys; then a byte for each
   cell's cover; then busy; then longest (kymo__cell_ticks); then the counts. */
#ifndef KYMO_CELLS_H
#define KYMO_CELLS_H

#include "buffer.h"
#include "format.h"

enum {
    KYMO__COLUMN_EVENTS = 1024, /* events in a column */
    KYMO__CELL_DEPTHS = 256,    /* deeper calls have no cells */
    KYMO__CELLS_MOST = 1 << 13, /* per block; columns are joined if there are more */
};

struct kymo_cell {
    uint32_t key;
    uint16_t count; /* at most 65535 */
    uint8_t cover, busy;
    uint8_t longest; /* see kymo__cell_ticks */
};

struct kymo_cell_column {
    uint64_t ticks; /* its length */
    uint32_t events;
    uint32_t first, depths; /* its cells */
};

struct kymo_cells {
    uint64_t begin; /* tick */
    struct kymo_cell_column *columns;
    size_t count, capacity;
    struct kymo_cell *cells; /* column after column, the outermost first */
    size_t cell_count, cell_capacity;
};

void kymo__cells_fini(struct kymo_cells *cells);

/* Join pairs of columns. */
void kymo__cells_halve(struct kymo_cells *cells);

/* Append to OUT. Returns 0 or -ENOMEM. */
int kymo__cells_put(struct kymo_buffer *out, const struct kymo_cells *cells);

/* Read from AT up to END. CELLS is all zeros, or was used before: its memory is used again. Returns
   0, -ENOMEM or KYMO_EBLOCK; then CELLS has no columns. */
int kymo__cells_get(const uint8_t *at, const uint8_t *end, struct kymo_cells *cells);

/* Encode a length in one byte, rounding down by at most an eighth; and decode it. */
uint8_t kymo__cell_length(uint64_t ticks);
uint64_t kymo__cell_ticks(uint8_t length);

#endif
