/* heaptimes.h — live bytes over time, in a bounded number of points.

   The capture is divided into equal parts; each keeps the moment of the most memory in it. */
#ifndef KYMO_HEAPTIMES_H
#define KYMO_HEAPTIMES_H

#include <kymo/heap.h>

struct kymo_heap_times {
    struct kymo_heap_moment {
        uint64_t ticks, total, resident;
        uint64_t bytes[KYMO_HEAP_CATEGORIES];
    } * all;
    size_t count, most;
    uint64_t first, last;        /* ticks of the capture */
    uint64_t end;                /* of the current part */
    struct kymo_heap_moment now; /* the current part's greatest so far */
};

/* Returns 0 or -ENOMEM; call fini in either case. */
int kymo__heap_times_init(struct kymo_heap_times *times, size_t points, uint64_t first,
                          uint64_t last);
void kymo__heap_times_fini(struct kymo_heap_times *times);

/* Finish the parts before TICKS; BYTES and TOTAL are the state since. */
void kymo__heap_times_turn(struct kymo_heap_times *times, uint64_t ticks, uint64_t total,
                           const uint64_t *bytes);

/* Something is about to happen at TICKS; TOTAL and BYTES are the state before. */
static inline void kymo__heap_times_before(struct kymo_heap_times *times, uint64_t ticks,
                                           uint64_t total, const uint64_t *bytes)
{
    if (__builtin_expect(ticks >= times->end, 0))
        kymo__heap_times_turn(times, ticks, total, bytes);
}

/* TOTAL has grown at TICKS. */
static inline void kymo__heap_times_grown(struct kymo_heap_times *times, uint64_t ticks,
                                          uint64_t total, const uint64_t *bytes)
{
    if (total <= times->now.total)
        return;
    times->now.ticks = ticks;
    times->now.total = total;
    for (int i = 0; i < KYMO_HEAP_CATEGORIES; i++)
        times->now.bytes[i] = bytes[i];
}

#endif
