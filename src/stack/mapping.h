/* mapping.h — query the address space.

   A walk may happen inside an allocator or in a signal handler, so nothing here allocates: it only
   makes system calls. errno is preserved. */
#ifndef KYMO_MAPPING_H
#define KYMO_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the 8 bytes at ADDRESS can be read. */
bool kymo__readable(uint64_t address);

/* The first readable address from LOW on, if everything from there to HIGH is readable: for a
   thread that overflowed its stack. */
uint64_t kymo__readable_from(uint64_t low, uint64_t high);

struct kymo_range {
    uint64_t low, high;
    bool own; /* the thread's system stack, not one made by the program */
};

/* Find the stack that SP is on: the mapping around it, or else the next one above; for the thread's
   own stack, only the stack. False if there is none. */
bool kymo__stack_around(uint64_t sp, struct kymo_range *range);

#endif
