/* keptblocks.c — see keptblocks.h. */
#include "keptblocks.h"

#include <errno.h>
#include <stdlib.h>

#include "alloc.h"

unsigned kymo__kept_entries(const struct kymo_kept_blocks *k, const struct kymo_kept_block *block)
{
    return (block->born >= k->from) + 2 * (block->died != UINT64_MAX);
}

/* Blocks without entries take space too. */
static uint64_t cost_of(const struct kymo_kept_blocks *k, const struct kymo_kept_block *block)
{
    unsigned entries = kymo__kept_entries(k, block);
    return entries ? entries : 1;
}

void kymo__kept_fold(struct kymo_kept_blocks *k, const struct kymo_kept_block *block)
{
    k->folded.count++;
    k->folded.bytes += block->bytes;
    if (block->bytes > k->folded.largest)
        k->folded.largest = block->bytes;
    if (block->died == UINT64_MAX) {
        k->folded.alive++;
        k->folded.alive_bytes += block->bytes;
    }
}

/* ---- the heap ---- */

static void swap_blocks(struct kymo_kept_block *a, struct kymo_kept_block *b)
{
    struct kymo_kept_block t = *a;
    *a = *b;
    *b = t;
}

static void rise_block(struct kymo_kept_blocks *k, size_t at)
{
    while (at && k->all[at].area < k->all[(at - 1) / 2].area) {
        swap_blocks(&k->all[at], &k->all[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static void sink_first(struct kymo_kept_blocks *k)
{
    for (size_t at = 0;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < k->count; child++)
            if (k->all[child].area < k->all[least].area)
                least = child;
        if (least == at)
            return;
        swap_blocks(&k->all[at], &k->all[least]);
        at = least;
    }
}

static void drop_least(struct kymo_kept_blocks *k)
{
    kymo__kept_fold(k, &k->all[0]);
    k->entries -= cost_of(k, &k->all[0]);
    k->all[0] = k->all[--k->count];
    sink_first(k);
}

/* ---- blocks ---- */

int kymo__kept_add(struct kymo_kept_blocks *k, const struct kymo_kept_block *block)
{
    struct kymo_kept_block b = *block;
    if (b.died <= k->from || b.born >= k->to)
        return 0;
    uint64_t start = b.born > k->from ? b.born : k->from;
    uint64_t end = b.died < k->to ? b.died : k->to;
    b.died = b.died < k->to ? b.died : UINT64_MAX;
    b.order = k->order++;
    b.area = (double)b.bytes * ((double)(end - start) + 1);
    uint64_t cost = cost_of(k, &b);
    /* A block of no bytes cannot be shown. */
    if (!b.bytes || cost > k->limit || (k->entries + cost > k->limit && b.area <= k->all[0].area)) {
        kymo__kept_fold(k, &b);
        return 0;
    }
    while (k->entries + cost > k->limit)
        drop_least(k);
    int rc = kymo__array_grow(&k->all, &k->capacity, k->count, sizeof(*k->all));
    if (rc < 0)
        return rc;
    k->all[k->count++] = b;
    k->entries += cost;
    rise_block(k, k->count - 1);
    return 0;
}

static int largest_first(const void *a, const void *b)
{
    const struct kymo_kept_block *x = a, *y = b;
    return x->area > y->area ? -1 : x->area < y->area;
}

void kymo__kept_shrink(struct kymo_kept_blocks *k, uint64_t less)
{
    uint64_t wanted = k->entries > less ? k->entries - less : 0;
    if (k->count)
        qsort(k->all, k->count, sizeof(*k->all), largest_first);
    while (k->count && k->entries > wanted) {
        k->entries -= cost_of(k, &k->all[--k->count]);
        if (k->all[k->count].bytes)
            kymo__kept_fold(k, &k->all[k->count]);
    }
}

void kymo__kept_fini(struct kymo_kept_blocks *k)
{
    kymo__free(k->all);
    *k = (struct kymo_kept_blocks){0};
}
