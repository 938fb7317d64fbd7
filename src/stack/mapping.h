/* mapping.h — memory straight from the system, and what is known of addresses.

   A walk may happen inside an allocator or in a signal handler, so nothing here may allocate:
   all of it is system calls. errno is left as it was. */
#ifndef KYMO_MAPPING_H
#define KYMO_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* SIZE zeroed bytes in whole pages, or NULL. They cost memory when touched. */
void *kymo__pages_new(size_t size);

void kymo__pages_free(void *memory, size_t size);

/* Give back the memory of those pages that lie wholly in SIZE bytes from MEMORY on; they read
   as zeros then. */
void kymo__pages_drop(void *memory, size_t size);

/* Whether the 8 bytes at ADDRESS can be read. */
bool kymo__readable(uint64_t address);

/* The first address from LOW on that can be read, if all from there to HIGH can: the stack of a
   thread that ran out of it. */
uint64_t kymo__readable_from(uint64_t low, uint64_t high);

struct kymo_range {
    uint64_t low, high;
    bool own; /* the stack that the system made for this thread, not one of the program's */
};

/* The stack that SP is on: what is mapped around it, or else next above it, and for the thread's
   own stack no more than that. False when nothing is. */
bool kymo__stack_around(uint64_t sp, struct kymo_range *range);

#endif
