/* snapshot_blocks.c — the blocks of a snapshot: the ones that matter, in their segments. */
#include "snapshot_parts.h"

enum { ENTRIES = 200000 };

static uint32_t process_of(const struct kymo_torch_snapshot *s, const struct kymo_heap_block *block)
{
    const struct kymo_reader *r = s->capture->reader;
    uint32_t process = block->thread < r->thread_count
                           ? r->threads[block->thread].process
                           : (uint32_t)(block->address >> KYMO__ADDRESS_BITS);
    return process < s->info.processes ? process : 0;
}

static int keep_block(struct kymo_torch_snapshot *s, const struct kymo_heap_block *block,
                      uint64_t died)
{
    if (s->no_arenas && s->replay.sites.all[block->site].category == KYMO_HEAP_ARENAS)
        return 0;
    if (s->options->thread >= 0 && (int64_t)block->thread != s->options->thread)
        return 0;
    const struct kymo_kept_block kept = {
        .address = block->address,
        .bytes = block->bytes,
        .born = block->born,
        .died = died,
        .site = block->site,
        .process = process_of(s, block),
        .mapping = block->mapping,
    };
    return kymo__kept_add(&s->kept, &kept);
}

static int block_born(void *arg, uint64_t ticks, const struct kymo_heap_block *block)
{
    struct kymo_torch_snapshot *s = arg;
    (void)block;
    s->last = ticks > s->last ? ticks : s->last;
    return 0;
}

static int block_died(void *arg, uint64_t ticks, const struct kymo_heap_block *block)
{
    struct kymo_torch_snapshot *s = arg;
    s->last = ticks > s->last ? ticks : s->last;
    return block->renamed ? 0 : keep_block(s, block, ticks);
}

static int block_alive(void *arg, const struct kymo_heap_block *block)
{
    struct kymo_torch_snapshot *s = arg;
    if (s->kept.to > s->last + 1)
        s->kept.to = s->last + 1;
    return keep_block(s, block, UINT64_MAX);
}

/* Without events, show what was alive at the end: a block for each stack, one after the other. */
static int keep_rows(struct kymo_torch_snapshot *s)
{
    struct kymo_heap *heap;
    struct kymo_heap_row row = {.size = sizeof(row)};
    uint64_t address = 1 << 16;
    int rc = kymo_heap_new(s->capture, NULL, &heap);
    if (rc < 0)
        return rc;
    kymo__replay_fini(&s->replay);
    rc = kymo__sites_init(&s->replay.sites, s->capture->reader);
    for (size_t i = 0; rc == 0 && kymo_heap_row(heap, KYMO_HEAP_AT_END, i, &row) == 0; i++) {
        const struct kymo_heap_site *at = &heap->replay.sites.all[heap->order[KYMO_HEAP_AT_END][i]];
        int64_t site = kymo__site_of(&s->replay.sites, at->stack, at->function,
                                     at->category >= KYMO_HEAP_MAPPINGS);
        const struct kymo_kept_block block = {
            .address = address, .bytes = row.sum.bytes, .died = UINT64_MAX, .site = (uint32_t)site};
        address += (row.sum.bytes + 15) / 16 * 16;
        rc = site < 0 ? (int)site : kymo__kept_add(&s->kept, &block);
    }
    kymo_heap_free(heap);
    return rc;
}

static int keep_blocks(struct kymo_torch_snapshot *s)
{
    const struct kymo_export_options *o = s->options;
    const struct kymo_replay_visitor visitor = {
        .arg = s,
        .born = block_born,
        .died = block_died,
        .alive = block_alive,
        .progress = o->progress,
        .progress_arg = o->progress_arg,
    };
    s->kept.limit = o->entries ? o->entries : ENTRIES;
    s->kept.from = o->from > 0 ? kymo__timebase_ticks(&s->capture->base, o->from) : 0;
    s->kept.to = o->to < INT64_MAX ? kymo__timebase_ticks(&s->capture->base, o->to) : UINT64_MAX;
    if (s->live) {
        s->kept.from = 1;
        return keep_rows(s);
    }
    return kymo__replay(&s->replay, s->capture, &visitor);
}

/* Arrange the blocks in segments. These need entries too, so it may take a few attempts. */
static int arrange_blocks(struct kymo_torch_snapshot *s)
{
    for (;;) {
        int rc = kymo__host_segments_init(&s->segments, &s->kept);
        if (rc < 0)
            return rc;
        uint64_t entries = kymo__host_segments_walk(&s->segments, NULL, NULL) + s->info.processes;
        if (entries <= s->kept.limit || !s->kept.count)
            return 0;
        kymo__host_segments_fini(&s->segments);
        kymo__kept_shrink(&s->kept, entries - s->kept.limit);
    }
}

int kymo__snapshot_blocks(struct kymo_torch_snapshot *s)
{
    int rc = keep_blocks(s);
    return rc == 0 ? arrange_blocks(s) : rc;
}
