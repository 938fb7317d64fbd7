/* timebase.h — convert ticks to nanoseconds exactly, for captures of any length.

   Time is linear between two snapshots; before the first and after the last, the nearest segment is
   extended. Arithmetic is 128 bits wide, so that counters that have run for years lose nothing.
   Snapshots come from untrusted files: no value makes the arithmetic overflow. */
#ifndef KYMO_TIMEBASE_H
#define KYMO_TIMEBASE_H

#include <stddef.h>

#include "clock.h"

struct kymo_timebase {
    struct kymo_segment {
        uint64_t ticks;    /* where it begins */
        int64_t monotonic; /* at that tick */
        uint64_t scale;    /* nanoseconds per tick, times 2^50 */
    } * segments;
    size_t count;
    int64_t wall_offset; /* wall minus monotonic at the first snapshot */
    double ticks_per_second;
};

/* Build from COUNT snapshots, in any order; implausible ones (time running backwards) are left out.
   RATE is ticks per second if known, or 0; it is used if there are fewer than two snapshots.
   Returns 0 or -ENOMEM. */
int kymo__timebase_init(struct kymo_timebase *base, const struct kymo_snapshot *snapshots,
                        size_t count, double rate);
void kymo__timebase_fini(struct kymo_timebase *base);

/* Nanoseconds of CLOCK_MONOTONIC at TICKS. *HINT, initially 0, caches the segment between calls. */
int64_t kymo__timebase_ns(const struct kymo_timebase *base, uint64_t ticks, size_t *hint);

/* The first tick at or after NS; 0 and UINT64_MAX beyond the ends. */
uint64_t kymo__timebase_ticks(const struct kymo_timebase *base, int64_t ns);

#endif
