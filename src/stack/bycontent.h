/* bycontent.h — stacks by content: equal stacks share one id, and memory is bounded.

   A stack is an array of 64-bit words, one per frame. It is found by a 64-bit hash that the walk
   computes. Two different stacks with the same hash would be confused; among a million stacks the
   odds of that are one in thirty million.

   Nothing here takes a lock or waits. Memory for entries and blocks is never used for anything
   else, so a thread that reads an entry just reassigned to another stack reads stale data, never
   invalid memory; it notices and retries.

       slots    hash -> entry; a stack is in one of sixteen slots
       entries  hash, holds, frames
       blocks   frames, seven to a block

   A stack that nobody holds stays, so that it can be found again, until its room is needed. */
#ifndef KYMO_BYCONTENT_H
#define KYMO_BYCONTENT_H

#include <kymo/stack.h>

/* Return the stack with HASH, adding a hold; 0 if there is none. */
kymo_stack kymo__table_find(uint64_t hash);

/* Add a stack of COUNT frames, WORDS innermost first, held once. Someone else may have added it
   meanwhile. Returns 0 if there is no room. */
kymo_stack kymo__table_add(uint64_t hash, const uint64_t *words, size_t count);

/* Copy the first COUNT words of STACK, which is held. Returns how many it has. */
size_t kymo__table_words(kymo_stack stack, uint64_t *words, size_t count);

void kymo__table_stats(struct kymo_stack_stats *stats);

#endif
