/* clock.h — the only door to time.

   A record is stamped with raw ticks of the counter register, because reading it is
   the cheapest thing a processor can do about time; snapshots taken now and then
   pair ticks with CLOCK_MONOTONIC and CLOCK_REALTIME, and turn them into
   nanoseconds afterwards (timebase.h). Where the counter is not sound the ticks are
   CLOCK_MONOTONIC's nanoseconds. */
#ifndef KYMO_CLOCK_H
#define KYMO_CLOCK_H

#include <time.h>

#include "arch.h"
#include "atomic.h"

struct kymo_snapshot {
    uint64_t ticks;
    int64_t monotonic, wall; /* nanoseconds */
};

/* 1: ticks come from the counter register. Set before a session starts, read by
   whoever stamps a record. */
extern uint32_t kymo__clock_counter;

static inline int64_t kymo__clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Ticks without a sound counter; a function of its own keeps it out of callers. */
uint64_t kymo__ticks_without(void);

static inline uint64_t kymo__ticks(void)
{
    if (kymo__likely(kymo__load_relaxed(&kymo__clock_counter)))
        return kymo__counter_read();
    return kymo__ticks_without();
}

/* Choose where ticks come from: the counter unless it is not sound or MONOTONIC is
   asked for. Returns enum kymo_clock. Not while a session runs. */
int kymo__clock_choose(int monotonic);

/* Ticks and both clocks at one moment, as near as a few attempts allow. */
struct kymo_snapshot kymo__clock_snapshot(void);

#endif
