/* liveblocks.c — see liveblocks.h. */
#include "liveblocks.h"

#include <errno.h>
#include <sys/mman.h>

#include "alloc.h"

enum { HUGE_PAGE = 2 << 20, LINE = 64 };

/* Blocks are looked up at random: in a large table, finding the page takes longer than the rest.
   Only advice, so failure does not matter. */
static void prefer_huge_pages(void *memory, size_t size)
{
    uintptr_t from = ((uintptr_t)memory + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    uintptr_t to = ((uintptr_t)memory + size) & ~(uintptr_t)(HUGE_PAGE - 1);
    if (from < to)
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
}

int kymo__live_widen(struct kymo_live_blocks *live)
{
    struct kymo_live_blocks wider = {
        .count = live->count,
        .slot_count = live->slot_count ? 2 * live->slot_count : 4096,
    };
    wider.shift = 64u - (unsigned)__builtin_ctzll(wider.slot_count);
    size_t size = wider.slot_count * sizeof(*wider.slots) + LINE;
    wider.memory = kymo__alloc_zeroed(size);
    if (!wider.memory)
        return -ENOMEM;
    size_t past = (uintptr_t)wider.memory % LINE;
    wider.slots = (void *)((char *)wider.memory + (past ? LINE - past : 0));
    prefer_huge_pages(wider.memory, size);
    for (size_t i = 0; i < live->slot_count; i++)
        if (live->slots[i].address)
            *kymo__live_seek(&wider, live->slots[i].address) = live->slots[i];
    kymo__free(live->memory);
    *live = wider;
    return 0;
}

/* Close the gap: move blocks back that a search would otherwise no longer reach. */
void kymo__live_remove(struct kymo_live_blocks *live, struct kymo_live_block *block)
{
    size_t mask = live->slot_count - 1, gap = (size_t)(block - live->slots);
    for (size_t i = gap;;) {
        i = (i + 1) & mask;
        const struct kymo_live_block *next = &live->slots[i];
        if (!next->address)
            break;
        size_t home = kymo__live_slot(live, next->address);
        if (((i - home) & mask) >= ((i - gap) & mask)) {
            live->slots[gap] = *next;
            gap = i;
        }
    }
    live->slots[gap].address = 0;
    live->count--;
}

void kymo__live_fini(struct kymo_live_blocks *live)
{
    kymo__free(live->memory);
    *live = (struct kymo_live_blocks){0};
}
