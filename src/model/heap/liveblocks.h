/* liveblocks.h — the blocks alive now, by address: 32 bytes each in an open table at most three
   quarters full. The hot spot of a replay, so finding is inline and can be prefetched. */
#ifndef KYMO_LIVEBLOCKS_H
#define KYMO_LIVEBLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"

struct kymo_live_block {
    uint64_t address; /* 0: the slot is free */
    uint64_t born;    /* ticks */
    uint64_t bytes : 48, thread : 16;
    uint32_t site;
    uint32_t serial; /* number of the allocation among those of its thread */
};

struct kymo_live_blocks {
    struct kymo_live_block *slots; /* in `memory`, aligned: two in each line of the cache */
    void *memory;
    size_t count, slot_count; /* a power of two, or 0 */
    unsigned shift;           /* 64 minus its logarithm */
};

static inline size_t kymo__live_slot(const struct kymo_live_blocks *live, uint64_t address)
{
    return (size_t)(kymo__hash_word(address) >> live->shift);
}

/* Always inline: gcc takes a function that only prefetches for one that does nothing. */
static inline __attribute__((always_inline)) void
kymo__live_prefetch(const struct kymo_live_blocks *live, uint64_t address)
{
    if (!live->slot_count)
        return;
    const struct kymo_live_block *slot = &live->slots[kymo__live_slot(live, address)];
    __builtin_prefetch(slot);
    __builtin_prefetch(slot + 2); /* the next line: removing looks for the end of the cluster */
}

/* The block at ADDRESS, which is not 0, or the slot where it belongs, whose address is 0. There is a
   free slot; see kymo__live_reserve. */
static inline struct kymo_live_block *kymo__live_seek(const struct kymo_live_blocks *live,
                                                      uint64_t address)
{
    size_t mask = live->slot_count - 1;
    for (size_t i = kymo__live_slot(live, address);; i = (i + 1) & mask)
        if (live->slots[i].address == address || !live->slots[i].address)
            return &live->slots[i];
}

/* Make room for one more, before it is sought and stored, and counted in `count`. Returns 0 or
   -ENOMEM. */
int kymo__live_widen(struct kymo_live_blocks *live);
static inline int kymo__live_reserve(struct kymo_live_blocks *live)
{
    return live->count < live->slot_count / 4 * 3 ? 0 : kymo__live_widen(live);
}

/* Remove BLOCK, from kymo__live_seek. */
void kymo__live_remove(struct kymo_live_blocks *live, struct kymo_live_block *block);
void kymo__live_fini(struct kymo_live_blocks *live);

#endif
