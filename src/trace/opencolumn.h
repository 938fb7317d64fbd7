/* opencolumn.h — the column of cells (cells.h) that a tracker is filling.

   Nearly every call of a recording is accounted for here, on the writer thread, so that is inline. */
#ifndef KYMO_OPENCOLUMN_H
#define KYMO_OPENCOLUMN_H

#include "atomic.h"
#include "cells.h"
#include "nest.h"

enum { KYMO__CELL_TOPS = 4 }; /* candidate keys per cell; the least is replaced by a new one */

struct kymo_open_cell {
    uint64_t busy, longest;
    uint64_t covers[KYMO__CELL_TOPS];
    uint32_t keys[KYMO__CELL_TOPS];
    uint32_t count;
};

struct kymo_open_column {
    struct kymo_open_cell *cells; /* by depth */
    size_t capacity;
    uint32_t depths, events, events_most; /* events_most: the column is full */
    uint64_t begin;                       /* tick */
};

void kymo__open_column_fini(struct kymo_open_column *column);

/* Add cells up to DEPTH and return that one; NULL if it is too deep or memory is short. */
struct kymo_open_cell *kymo__open_column_deepen(struct kymo_open_column *column, uint32_t depth);

/* KEY took LENGTH in CELL and is not its first candidate. */
void kymo__open_cell_rank(struct kymo_open_cell *cell, uint32_t key, uint64_t length);

/* The column ends at tick NOW, with NEST's calls open: append it to CELLS and start the next one.
   Returns 0 or -ENOMEM. */
int kymo__open_column_close(struct kymo_open_column *column, const struct kymo_nest *nest,
                            uint64_t now, struct kymo_cells *cells);

static inline struct kymo_open_cell *kymo__open_column_cell(struct kymo_open_column *column,
                                                            uint32_t depth)
{
    return depth < column->depths ? &column->cells[depth] : kymo__open_column_deepen(column, depth);
}

/* A call begins at DEPTH. */
static inline void kymo__open_column_began(struct kymo_open_column *column, uint32_t depth)
{
    struct kymo_open_cell *cell = kymo__open_column_cell(column, depth);
    if (cell)
        cell->count++;
}

/* Account in CELL, of a column that begins at tick BEGIN, for the call FRAME up to NOW. */
static inline void kymo__open_cell_account(struct kymo_open_cell *cell,
                                           const struct kymo_open_call *frame, uint64_t begin,
                                           uint64_t now)
{
    uint64_t start = (uint64_t)frame->start;
    start = start > begin ? start : begin;
    uint64_t length = now > start ? now - start : 0;
    cell->busy += length;
    cell->longest = length > cell->longest ? length : cell->longest;
    if (kymo__likely(cell->keys[0] == frame->key))
        cell->covers[0] += length;
    else
        kymo__open_cell_rank(cell, frame->key, length);
}

/* The same for a call at DEPTH. */
static inline void kymo__open_column_account(struct kymo_open_column *column,
                                             const struct kymo_open_call *frame, uint32_t depth,
                                             uint64_t now)
{
    struct kymo_open_cell *cell = kymo__open_column_cell(column, depth);
    if (cell)
        kymo__open_cell_account(cell, frame, column->begin, now);
}

#endif
