/* births.h — where the blocks of Python's allocators were allocated: kept only while objects are asked
   for, so that a surviving object can be matched with its birth, and with what belongs to it. */
#ifndef KYMO_EXT_BIRTHS_H
#define KYMO_EXT_BIRTHS_H

#include <kymo/stack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kymo_birth {
    uint64_t address; /* 0: none */
    uint64_t size;
    kymo_stack stack;
    bool raw; /* of the domain raw: any thread may free it at any time */
};

extern uint32_t kymo__births_on; /* read by the allocator wrappers */

/* Keep births from now on, with stacks of these PARTS; forget all. With the GIL. */
void kymo__births_begin(unsigned parts);
void kymo__births_end(void);

void kymo__births_add(const void *at, size_t size, bool raw);
void kymo__births_remove(const void *at);

/* Store the birth of the block at AT in *BIRTH; false if there is none. */
bool kymo__births_find(const void *at, struct kymo_birth *birth);

/* In a forked child: another thread of the parent may have held the lock. */
void kymo__births_forked(void);

/* Was a block left out because memory was short? */
bool kymo__births_incomplete(void);

#endif
