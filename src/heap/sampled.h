/* sampled.h — which allocations are sampled, and what a sampled one stands for.

   Every byte has the same chance of being chosen, and an allocation is sampled if one of its bytes
   is: with probability 1 - e^(-size/rate). Weighing each sample by the inverse makes sums unbiased
   for every size. */
#ifndef KYMO_SAMPLED_H
#define KYMO_SAMPLED_H

#include <kymo/memory.h>

/* The countdown of a thread is never longer than this: what is larger is looked at in any case. */
#define KYMO__SAMPLED_LOOK UINT64_C(65536)

/* The countdown of this thread is shorter than SIZE. Is the allocation of SIZE bytes sampled? Begins
   the next countdown. */
bool kymo__sampled_look(size_t size, uint64_t rate);

/* Is this allocation sampled? */
static inline bool kymo__sampled(size_t size, uint64_t rate)
{
    return !kymo_memory_skips(size) && kymo__sampled_look(size, rate);
}

/* 1 / (1 - e^(-size/rate)). */
double kymo__sampled_weight(uint64_t size, uint64_t rate);

#endif
