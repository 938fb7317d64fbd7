/* births.h — where the blocks that Python holds were allocated: kept only while objects are asked
   for, so that a surviving object can be matched with its birth. */
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
};

extern uint32_t kymo__births_on; /* read by the allocator wrappers */

/* Keep births from now on, with stacks of these PARTS; forget all. With the GIL. */
void kymo__births_begin(unsigned parts);
void kymo__births_end(void);

/* Blocks of the domains mem and object, which need the GIL where there is one. */
void kymo__births_add(const void *at, size_t size);
void kymo__births_remove(const void *at);

/* The birth of the block at AT, or NULL. While no other thread runs Python code. */
const struct kymo_birth *kymo__births_find(const void *at);

/* Was a block left out because memory was short? */
bool kymo__births_incomplete(void);

#endif
