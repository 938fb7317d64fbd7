/* live_held.h — what is held now, and what was at the peak: live blocks by address, and their sums by
   stack and function.

   Used in the modes that do not write every event. No locks, no allocation; safe on any thread
   between kymo_memory_enter and leave. Only the thread that has just been given an address adds it,
   and only the one about to free it takes it. */
#ifndef KYMO_LIVE_HELD_H
#define KYMO_LIVE_HELD_H

#include <kymo/memory.h>

/* Forget everything. The first call gets the memory. 0 or -ENOMEM. With RATE not 0, each block
   stands for others that were not sampled. */
int kymo__live_held_begin(uint64_t rate);

/* What kymo__memory_filter leads to in the sampled mode, once there was one. */
extern uint16_t *kymo__held_filter __attribute__((visibility("hidden")));

/* kymo_memory_unsampled for the hooks of that mode. Also for NULL. */
static inline bool kymo__held_not(const void *at)
{
    const uint16_t *filter = __atomic_load_n(&kymo__held_filter, __ATOMIC_RELAXED);
    return !__atomic_load_n(&filter[kymo__memory_filter_at((uintptr_t)at)], __ATOMIC_RELAXED);
}

/* All blocks are recorded: kymo__memory_filter is not used. */
void kymo__live_held_unused(void);

/* SIZE bytes were allocated at ADDRESS. Without room they are counted as lost. */
void kymo__held_add(uintptr_t address, uint64_t size, uint32_t stack, uint32_t function);

/* ADDRESS is about to be freed. False when it is not known. *STACK, *FUNCTION and *SIZE are what it
   was added with. */
bool kymo__held_take(uintptr_t address, uint64_t *size, uint32_t *stack, uint32_t *function);

/* Blocks for which there was no room. */
uint64_t kymo__held_lost(void);

/* Call ROW for each stack and function that holds something, now or at the peak. */
typedef void kymo_held_row(void *arg, uint64_t bytes, uint64_t count, uint32_t stack,
                           uint32_t function);
void kymo__held_rows(bool at_peak, kymo_held_row *row, void *arg);

#endif
