/* sizes.h — the sizes of live native blocks by address, for sessions that ask for them: `keep_sizes` of
   struct kymo_memory_options. For the hooks: no locks, no allocation. */
#ifndef KYMO_SIZES_H
#define KYMO_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "atomic.h"

extern bool kymo__sizes_on; /* set before anything is recorded */

/* Forget all, and keep sizes from now on, or do not. 0 or -ENOMEM. */
int kymo__sizes_begin(bool on);

/* The block at ADDRESS has SIZE bytes; it takes the place of one that was there. */
void kymo__sizes_add(uintptr_t address, uint64_t size);

/* The block at ADDRESS goes. Returns its size; 0: unknown. */
uint64_t kymo__sizes_take(uintptr_t address);

/* Around a call that resizes FROM: what was its size, and what became of it. AT is NULL if that failed,
   and if FROM was FREED instead. */
static inline uint64_t kymo__sizes_moving(const void *from)
{
    return kymo__unlikely(kymo__sizes_on) && from ? kymo__sizes_take((uintptr_t)from) : 0;
}

static inline void kymo__sizes_moved(const void *from, uint64_t was, const void *at, uint64_t size,
                                     bool freed)
{
    if (kymo__likely(!kymo__sizes_on))
        return;
    if (at)
        kymo__sizes_add((uintptr_t)at, size);
    else if (was && !freed)
        kymo__sizes_add((uintptr_t)from, was);
}

#endif
