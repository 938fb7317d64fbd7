/* clock.h — the only door to time.

   A record is stamped with raw ticks of the counter register, because reading it is
   the cheapest thing a processor can do about time; snapshots taken now and then
   pair ticks with CLOCK_MONOTONIC and CLOCK_REALTIME, and turn them into
   nanoseconds afterwards (timebase.h). Where the counter is not sound the ticks are
   CLOCK_MONOTONIC's nanoseconds. */
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

/* Choose where ticks come from: the counter unless it is not sound or MONOTONIC is
   asked for. Returns enum kymo_clock. Not while a session runs. */
int kymo__clock_choose(int monotonic);

/* Ticks and both clocks at one moment, as near as a few attempts allow. */
struct kymo_snapshot kymo__clock_snapshot(void);

/* Ticks per second: as the processor states it, or measured from SINCE on, which takes
   until a millisecond after SINCE and is right to about one part in ten thousand. */
uint64_t kymo__clock_rate(const struct kymo_snapshot *since);

#endif
