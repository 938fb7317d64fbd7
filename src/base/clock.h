/* clock.h — the only source of time.

   A record is stamped with raw ticks of the counter register, because that is the cheapest clock to
   read. Snapshots taken now and then pair ticks with CLOCK_MONOTONIC and CLOCK_REALTIME, to convert
   them to nanoseconds afterwards (timebase.h). If the counter is not reliable, ticks are
   nanoseconds of CLOCK_MONOTONIC. */
#ifndef KYMO_CLOCK_H
#define KYMO_CLOCK_H

#include <kymo/lane.h>
#include <time.h>

#include "atomic.h"

struct kymo_snapshot {
    uint64_t ticks;
    int64_t monotonic, wall; /* nanoseconds */
};

static inline int64_t kymo__clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Choose the source of ticks: the counter, unless it is unreliable or MONOTONIC is set. Returns
   enum kymo_clock. Not while a session runs. */
int kymo__clock_choose(int monotonic);

/* The same, but a counter that was chosen before stays the choice: a forked child uses the clock of
   its parent, and asking the kernel takes longer than other things that it does. */
int kymo__clock_keep(int monotonic);

/* Read ticks and both clocks together, as closely as a few attempts allow. */
struct kymo_snapshot kymo__clock_snapshot(void);

/* Ticks per second: as stated by the processor, or measured, once in the process, since SINCE, which
   takes until a millisecond after SINCE and is accurate to about one part in ten thousand. */
uint64_t kymo__clock_rate(const struct kymo_snapshot *since);

/* The measured rate, or 0; and what to take for it instead of measuring. Does nothing if one is
   known. */
uint64_t kymo__clock_rate_measured(void);
void kymo__clock_rate_know(uint64_t rate);

#endif
