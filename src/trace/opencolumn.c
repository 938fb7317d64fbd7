/* opencolumn.c — see opencolumn.h. */
#include "opencolumn.h"

#include <errno.h>

#include "alloc.h"

void kymo__open_column_fini(struct kymo_open_column *column)
{
    kymo__free(column->cells);
}

struct kymo_open_cell *kymo__open_column_deepen(struct kymo_open_column *column, uint32_t depth)
{
    if (depth >= KYMO__CELL_DEPTHS)
        return NULL;
    while (column->depths <= depth) {
        if (kymo__array_grow(&column->cells, &column->capacity, column->depths,
                             sizeof(*column->cells)) < 0)
            return NULL;
        column->cells[column->depths++] = (struct kymo_open_cell){0};
    }
    return &column->cells[depth];
}

void kymo__open_cell_rank(struct kymo_open_cell *cell, uint32_t key, uint64_t length)
{
    unsigned least = 0;
    for (unsigned i = 1; i < KYMO__CELL_TOPS; i++) {
        if (cell->keys[i] == key) {
            cell->covers[i] += length;
            return;
        }
        least = cell->covers[i] < cell->covers[least] ? i : least;
    }
    if (length >= cell->covers[least]) {
        cell->keys[least] = key;
        cell->covers[least] = length;
    }
}

static uint8_t share(uint64_t part, uint64_t whole)
{
    uint64_t rounded = whole ? (uint64_t)((double)part * 255 / (double)whole + 0.5) : 255;
    return (uint8_t)(rounded ? rounded < 255 ? rounded : 255 : part != 0);
}

static struct kymo_cell close_cell(const struct kymo_open_cell *open, uint64_t ticks)
{
    unsigned most = 0;
    for (unsigned i = 1; i < KYMO__CELL_TOPS; i++)
        most = open->covers[i] > open->covers[most] ? i : most;
    return (struct kymo_cell){
        .key = open->keys[most],
        .count = (uint16_t)(open->count < UINT16_MAX ? open->count : UINT16_MAX),
        .cover = share(open->covers[most], ticks),
        .busy = share(open->busy, ticks),
        .longest = kymo__cell_length(open->longest),
    };
}

int kymo__open_column_close(struct kymo_open_column *column, const struct kymo_nest *nest,
                            uint64_t now, struct kymo_cells *c)
{
    for (uint32_t i = 0; i < nest->depth && i < KYMO__CELL_DEPTHS; i++)
        if (!(nest->frames[i].flags & KYMO__ENDED_INSIDE))
            kymo__open_column_account(column, &nest->frames[i], i, now);
    uint64_t ticks = now > column->begin ? now - column->begin : 0;
    if (c->cell_count + column->depths > KYMO__CELLS_MOST) {
        kymo__cells_halve(c);
        column->events_most *= 2;
    }
    if (kymo__array_grow(&c->columns, &c->capacity, c->count, sizeof(*c->columns)) < 0)
        return -ENOMEM;
    uint32_t first = (uint32_t)c->cell_count;
    for (uint32_t i = 0; i < column->depths; i++) {
        if (kymo__array_grow(&c->cells, &c->cell_capacity, c->cell_count, sizeof(*c->cells)) < 0)
            return -ENOMEM;
        c->cells[c->cell_count++] = close_cell(&column->cells[i], ticks);
    }
    c->columns[c->count++] =
        (struct kymo_cell_column){ticks, column->events, first, column->depths};
    column->begin += ticks;
    column->depths = column->events = 0;
    return 0;
}
