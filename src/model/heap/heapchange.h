/* heapchange.h — one change of live memory, in the log and applied: private to heaplog.c and
   heappieces.c. */
#ifndef KYMO_HEAPCHANGE_H
#define KYMO_HEAPCHANGE_H

#include "heaplog.h"

enum { KYMO__HEAPLOG_CHUNK = 4096 }; /* changes */

/* CATEGORY, KYMO_HEAP_CATEGORIES for resident memory, has changed BY bytes. */
static inline uint64_t kymo__heapchange_code(unsigned category, int64_t by)
{
    uint64_t zigzag = (uint64_t)by << 1 ^ (uint64_t)(by >> 63);
    return zigzag << 3 | category;
}

static inline int64_t kymo__heapchange_by(uint64_t code)
{
    uint64_t zigzag = code >> 3;
    return (int64_t)(zigzag >> 1 ^ -(zigzag & 1));
}

static inline unsigned kymo__heapchange_category(uint64_t code)
{
    return code & 7;
}

static inline void kymo__heapchange_apply(uint64_t *value, bool arenas_count, unsigned category,
                                          int64_t by)
{
    value[KYMO__HEAPLOG_CATEGORY + category] += (uint64_t)by;
    if (category < KYMO_HEAP_ARENAS || (category == KYMO_HEAP_ARENAS && arenas_count))
        value[KYMO__HEAPLOG_TOTAL] += (uint64_t)by;
}

#endif
