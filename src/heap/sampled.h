/* sampled.h — which allocations are sampled, and what a sampled one stands for.

   Every byte has the same chance of being chosen, and an allocation is sampled if one of its bytes
   is: with probability 1 - e^(-size/rate). Weighing each sample by the inverse makes sums unbiased
   for every size. */
#ifndef KYMO_SAMPLED_H
#define KYMO_SAMPLED_H

#include <kymo/memory.h>

/* The countdown of this thread has passed 0 with an allocation of SIZE bytes; draw the next. False
   when this was the thread's first and the allocation is not sampled after all. */
bool kymo__sampled_draw(size_t size, uint64_t rate);

/* Is this allocation sampled? */
static inline bool kymo__sampled(size_t size, uint64_t rate)
{
    kymo__memory_thread.countdown -= (int64_t)size;
    return __builtin_expect(kymo__memory_thread.countdown < 0, 0) && kymo__sampled_draw(size, rate);
}

/* 1 / (1 - e^(-size/rate)). */
double kymo__sampled_weight(uint64_t size, uint64_t rate);

#endif
