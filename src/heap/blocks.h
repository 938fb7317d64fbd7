/* blocks.h — live blocks by address: a number for each.

   A block may be in one of two buckets of each of several tables, the larger of which are only used
   when the smaller are full. Nothing ever moves and every place that can hold an address is looked
   at, so that adding and taking need no lock: only one thread at a time owns an address. */
#ifndef KYMO_BLOCKS_H
#define KYMO_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

enum { KYMO__BLOCK_TABLES = 5 };

/* All zero at first. */
struct kymo_blocks {
    struct kymo_bucket *tables[KYMO__BLOCK_TABLES];
    uint32_t used; /* tables that may hold something */
};

/* Forget all blocks. 0 or -ENOMEM. Nobody may use the blocks meanwhile. */
int kymo__blocks_begin(struct kymo_blocks *blocks);

/* Add ADDRESS with VALUE. False when there is no room. */
bool kymo__blocks_add(struct kymo_blocks *blocks, uintptr_t address, uint64_t value);

/* Remove ADDRESS and store its value; false when it is not there. */
bool kymo__blocks_take(struct kymo_blocks *blocks, uintptr_t address, uint64_t *value);

/* Store the value of ADDRESS; false when it is not there. */
bool kymo__blocks_find(const struct kymo_blocks *blocks, uintptr_t address, uint64_t *value);

#endif
