/* keptblocks.h — the blocks of a capture that matter most, as many as a file may have.

   The measure is bytes times time alive: the area of the block in a picture of memory over time.
   So what is folded is short-lived and small. One pass, memory bounded by the limit. */
#ifndef KYMO_KEPTBLOCKS_H
#define KYMO_KEPTBLOCKS_H

#include "replay.h"

struct kymo_kept_block {
    uint64_t address, bytes;
    uint64_t born, died; /* ticks; died: UINT64_MAX if alive at the end of the window */
    double area;
    uint64_t order; /* of two blocks that died at the same tick, the lower died first */
    uint32_t site;
    uint32_t process;
    uint32_t segment; /* set by hostsegments.c, as is the rest */
    bool mapping;
    bool holds; /* a mapping that other blocks lie in: the space they are in, not a block */
};

struct kymo_kept_blocks {
    struct kymo_kept_block *all; /* a heap while blocks are added: the least area first */
    size_t count, capacity;
    uint64_t from, to; /* the window, in ticks */
    uint64_t limit;    /* entries that the blocks may need */
    uint64_t entries;  /* that they need now */
    uint64_t order;
    struct {
        uint64_t count, bytes;       /* blocks that were not kept */
        uint64_t largest;            /* bytes of the largest of them */
        uint64_t alive, alive_bytes; /* of them, those alive at the end */
    } folded;
    uint64_t overlapping; /* of those folded: they lay in another block */
};

/* How many entries BLOCK needs in the window: one when it is born, two when it dies. */
unsigned kymo__kept_entries(const struct kymo_kept_blocks *kept,
                            const struct kymo_kept_block *block);

/* Add BLOCK, whose area and order this sets, unless it was not alive in the window. Returns 0 or
   -ENOMEM. */
int kymo__kept_add(struct kymo_kept_blocks *kept, const struct kymo_kept_block *block);

/* Count BLOCK among those folded. */
void kymo__kept_fold(struct kymo_kept_blocks *kept, const struct kymo_kept_block *block);

/* Fold the blocks of the least area until there are at least LESS entries fewer. Leaves the blocks
   in some order, to which none can be added. */
void kymo__kept_shrink(struct kymo_kept_blocks *kept, uint64_t less);

void kymo__kept_fini(struct kymo_kept_blocks *kept);

#endif
