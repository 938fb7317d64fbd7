/* picture.h — an overview of a thread without decoding its records: the columns of its summaries
   (cells.h), by time and depth. For a viewer.

   Columns come in order of time. Where a thread has no summaries (all of it, if the capture was
   never indexed; else the last few kilobytes), there is one column marked unknown: read its calls
   with kymo__calls_init, from its start to its end. Together the columns cover the thread from the
   first to the last event in the window. Memory use is one summary. */
#ifndef KYMO_PICTURE_H
#define KYMO_PICTURE_H

#include "capture.h"
#include "cells.h"

struct kymo_picture_column {
    kymo_ns start, end;
    uint32_t events;
    bool known;
    uint32_t first_depth, depths;  /* the cells' depths: as requested, and as available */
    const struct kymo_cell *cells; /* outermost first; lent until the next column */
    double per_tick;               /* nanoseconds, in this column */
};

/* SHARE, the cover or busy of a cell, of LENGTH nanoseconds, rounded down. A damaged file may claim any
   length. */
static inline kymo_ns kymo__picture_share(kymo_ns length, uint8_t share)
{
    return length / 255 * share + length % 255 * share / 255;
}

/* The longest call of CELL in COLUMN, as far as it lies in it; up to an eighth too short. */
static inline kymo_ns kymo__picture_longest(const struct kymo_picture_column *column,
                                            const struct kymo_cell *cell)
{
    return (kymo_ns)((double)kymo__cell_ticks(cell->longest) * column->per_tick);
}

struct kymo_picture;

/* Iterate over the columns of thread THREAD of CAPTURE that overlap FROM to TO, with cells for
   DEPTHS depths from FIRST_DEPTH on; 0 and UINT32_MAX for all. Returns 0, -EINVAL or -ENOMEM. */
int kymo__picture_new(struct kymo_capture *capture, uint32_t thread, kymo_ns from, kymo_ns to,
                      uint32_t first_depth, uint32_t depths, struct kymo_picture **picture);

/* Read the next column. Returns 1, 0 at the end, or a negative code. */
int kymo__picture_next(struct kymo_picture *picture, struct kymo_picture_column *column);
void kymo__picture_free(struct kymo_picture *picture);

#endif
