/* bycontent.h — stacks by content: equal ones have one id, and memory is bounded.

   A stack is a row of 64-bit words, one per frame. It is found by a hash of 64 bits that the
   walk has made on its way; two different stacks with one hash would be taken for each other,
   for which the odds are one in thirty million among a million stacks.

   Nothing here takes a lock or waits. Entries and blocks of frames are memory of one kind for
   good, so that a thread that looks at one that has just been given to another stack reads
   something old, never something that is not there; it notices and looks again.

       slots    hash -> entry; a stack stands in one of sixteen slots
       entries  hash, holds, frames
       blocks   frames, seven to a block

   A stack that nobody holds stays, so that it is found when it comes again, until its room is
   needed. */
#ifndef KYMO_BYCONTENT_H
#define KYMO_BYCONTENT_H

#include <kymo/stack.h>

/* The stack with HASH and one hold more; 0 when there is none. */
kymo_stack kymo__table_find(uint64_t hash);

/* Add it, COUNT frames long, WORDS innermost first; held once. It may have been added by
   somebody else meanwhile. 0 when there is no room. */
kymo_stack kymo__table_add(uint64_t hash, const uint64_t *words, size_t count);

/* The first COUNT words of STACK, which is held; returns how many it has. */
size_t kymo__table_words(kymo_stack stack, uint64_t *words, size_t count);

void kymo__table_stats(struct kymo_stack_stats *stats);

#endif
