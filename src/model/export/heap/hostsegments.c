/* hostsegments.c — see hostsegments.h. */
#include "hostsegments.h"

#include <errno.h>
#include <stdlib.h>

#include "alloc.h"
#include "rankset.h"

enum {
    PAGE = 4096,
    GAP = 1 << 20,    /* blocks of a heap are no further apart */
    LARGE = 128 << 10 /* malloc maps blocks of this size, with a few bytes before them */
};

enum { DEATH, MOMENT, BIRTH }; /* kymo_change.rank */

/* ---- order ---- */

static int by_address(const void *a, const void *b)
{
    const struct kymo_kept_block *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->born < y->born ? -1 : x->born > y->born;
}

static int by_time(const void *a, const void *b)
{
    const struct kymo_change *x = a, *y = b;
    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (int)x->dies - (int)y->dies;
}

static int order_changes(struct kymo_host_segments *s)
{
    const struct kymo_kept_blocks *k = s->kept;
    s->changes = kymo__alloc((2 * k->count + 1) * sizeof(*s->changes));
    if (!s->changes)
        return -ENOMEM;
    for (uint32_t i = 0; i < k->count; i++) {
        const struct kymo_kept_block *b = &k->all[i];
        bool moment = b->born == b->died;
        s->changes[s->change_count++] =
            (struct kymo_change){b->born, b->order, i, moment ? MOMENT : BIRTH, false};
        if (b->died != UINT64_MAX)
            s->changes[s->change_count++] =
                (struct kymo_change){b->died, b->order, i, moment ? MOMENT : DEATH, true};
    }
    qsort(s->changes, s->change_count, sizeof(*s->changes), by_time);
    return 0;
}

/* ---- overlaps ---- */

/* The blocks alive at a time, of one kind. */
struct alive {
    struct kymo_rankset ranks;
    uint32_t *block; /* by rank */
};

struct checking {
    struct kymo_host_segments *segments;
    uint32_t *rank; /* by block: position of the first with its address */
    struct alive blocks, mappings;
};

static uint64_t end_of(const struct kymo_kept_block *b)
{
    return b->address + b->bytes;
}

static struct kymo_kept_block *block_at(const struct checking *c, const struct alive *alive,
                                        size_t rank)
{
    return rank == SIZE_MAX ? NULL : &c->segments->kept->all[alive->block[rank]];
}

/* A live block that overlaps B, whose rank is RANK, or NULL. */
static struct kymo_kept_block *overlapped(const struct checking *c, const struct alive *alive,
                                          const struct kymo_kept_block *b, size_t rank)
{
    struct kymo_kept_block *below = block_at(c, alive, kymo__rankset_below(&alive->ranks, rank));
    if (below && end_of(below) > b->address)
        return below;
    struct kymo_kept_block *above = block_at(c, alive, kymo__rankset_above(&alive->ranks, rank));
    return above && above->address < end_of(b) ? above : NULL;
}

/* Leave out block INDEX: no bytes, no segment. */
static void leave_out(struct checking *c, uint32_t index)
{
    struct kymo_kept_block *b = &c->segments->kept->all[index];
    kymo__kept_fold(c->segments->kept, b);
    c->segments->kept->overlapping++;
    b->bytes = 0;
}

static void check_birth(struct checking *c, uint32_t index)
{
    struct kymo_kept_block *b = &c->segments->kept->all[index], *other;
    struct alive *own = b->mapping ? &c->mappings : &c->blocks;
    size_t rank = c->rank[index];
    if (overlapped(c, own, b, rank)) {
        leave_out(c, index);
        return;
    }
    other = overlapped(c, b->mapping ? &c->blocks : &c->mappings, b, rank);
    if (other)
        (b->mapping ? b : other)->holds = true;
    own->block[rank] = index;
    kymo__rankset_add(&own->ranks, rank);
}

static void check_changes(struct checking *c)
{
    const struct kymo_host_segments *s = c->segments;
    for (size_t i = 0; i < s->change_count; i++) {
        uint32_t index = s->changes[i].block;
        struct kymo_kept_block *b = &s->kept->all[index];
        if (!s->changes[i].dies)
            check_birth(c, index);
        else if (b->bytes)
            kymo__rankset_remove(b->mapping ? &c->mappings.ranks : &c->blocks.ranks,
                                 c->rank[index]);
    }
}

/* Remove what an earlier arrangement left out. */
static void compact_blocks(struct kymo_kept_blocks *k)
{
    size_t count = 0;
    for (size_t i = 0; i < k->count; i++)
        if (k->all[i].bytes)
            k->all[count++] = k->all[i];
    k->count = count;
}

static int check_overlaps(struct kymo_host_segments *s)
{
    struct checking c = {.segments = s};
    size_t count = s->kept->count;
    c.rank = kymo__alloc((count + 1) * sizeof(*c.rank));
    c.blocks.block = kymo__alloc((count + 1) * sizeof(*c.blocks.block));
    c.mappings.block = kymo__alloc((count + 1) * sizeof(*c.mappings.block));
    int rc = c.rank && c.blocks.block && c.mappings.block ? 0 : -ENOMEM;
    if (rc == 0)
        rc = kymo__rankset_init(&c.blocks.ranks, count);
    if (rc == 0)
        rc = kymo__rankset_init(&c.mappings.ranks, count);
    if (rc == 0) {
        for (uint32_t i = 0; i < count; i++)
            c.rank[i] =
                i && s->kept->all[i].address == s->kept->all[i - 1].address ? c.rank[i - 1] : i;
        check_changes(&c);
    }
    kymo__rankset_fini(&c.blocks.ranks);
    kymo__rankset_fini(&c.mappings.ranks);
    kymo__free(c.rank);
    kymo__free(c.blocks.block);
    kymo__free(c.mappings.block);
    return rc;
}

/* ---- segments ---- */

static bool is_alone(const struct kymo_kept_block *b)
{
    return b->mapping || (b->bytes >= LARGE && b->address % PAGE <= 64);
}

/* Extend the last segment by B, or begin another. */
static int place_block(struct kymo_host_segments *s, struct kymo_kept_block *b)
{
    struct kymo_host_segment *last = s->count ? &s->all[s->count - 1] : NULL;
    uint64_t end = last ? last->address + last->bytes : 0;
    bool alone = is_alone(b);
    if (last && last->process == b->process &&
        (b->address < end || (!last->alone && !alone && b->address - end <= GAP))) {
        end = end > end_of(b) ? end : end_of(b);
        last->bytes = end - last->address;
        last->alone = last->alone && (alone || end_of(b) <= last->held);
    } else {
        int rc = kymo__array_grow(&s->all, &s->capacity, s->count, sizeof(*s->all));
        if (rc < 0)
            return rc;
        s->all[s->count++] = (struct kymo_host_segment){
            .address = b->address, .bytes = b->bytes, .process = b->process, .alone = alone};
    }
    if (b->holds)
        s->all[s->count - 1].held = end_of(b);
    b->segment = (uint32_t)s->count - 1;
    return 0;
}

/* Let segments begin and end with pages where there is nothing else. */
static void round_to_pages(struct kymo_host_segments *s)
{
    uint64_t before = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct kymo_host_segment *segment = &s->all[i];
        uint64_t start = segment->address / PAGE * PAGE;
        uint64_t end = segment->address + segment->bytes, after = (end + PAGE - 1) / PAGE * PAGE;
        start = start > before ? start : before;
        if (i + 1 < s->count && after > s->all[i + 1].address)
            after = end;
        segment->address = start;
        segment->bytes = (after > end ? after : end) - start;
        before = start + segment->bytes;
    }
}

int kymo__host_segments_init(struct kymo_host_segments *s, struct kymo_kept_blocks *kept)
{
    *s = (struct kymo_host_segments){.kept = kept};
    compact_blocks(kept);
    if (kept->count)
        qsort(kept->all, kept->count, sizeof(*kept->all), by_address);
    int rc = order_changes(s);
    if (rc == 0)
        rc = check_overlaps(s);
    for (size_t i = 0; rc == 0 && i < kept->count; i++)
        rc = kept->all[i].bytes ? place_block(s, &kept->all[i]) : 0;
    round_to_pages(s);
    return rc;
}

void kymo__host_segments_fini(struct kymo_host_segments *s)
{
    kymo__free(s->all);
    kymo__free(s->changes);
    *s = (struct kymo_host_segments){0};
}

/* ---- what happened ---- */

struct walking {
    void (*each)(void *arg, enum kymo_host_action action, const struct kymo_host_segment *segment,
                 const struct kymo_kept_block *block, uint64_t ticks);
    void *arg;
    uint64_t entries;
};

static void tell_entry(struct walking *w, enum kymo_host_action action,
                       const struct kymo_host_segment *segment, const struct kymo_kept_block *block,
                       uint64_t ticks)
{
    w->entries += action == KYMO__BLOCK_FREE ? 2 : 1;
    if (w->each)
        w->each(w->arg, action, segment, block, ticks);
}

uint64_t kymo__host_segments_walk(struct kymo_host_segments *s,
                                  void (*each)(void *arg, enum kymo_host_action action,
                                               const struct kymo_host_segment *segment,
                                               const struct kymo_kept_block *block, uint64_t ticks),
                                  void *arg)
{
    struct walking w = {each, arg, 0};
    for (size_t i = 0; i < s->count; i++)
        s->all[i].open = false, s->all[i].live = 0;
    for (size_t i = 0; i < s->change_count; i++) {
        const struct kymo_change *change = &s->changes[i];
        const struct kymo_kept_block *b = &s->kept->all[change->block];
        struct kymo_host_segment *segment = &s->all[b->segment];
        bool before = change->ticks < s->kept->from; /* then it is part of how things were */
        if (!b->bytes)
            continue;
        if (!change->dies) {
            if (!segment->open && !before)
                tell_entry(&w, KYMO__SEGMENT_ALLOC, segment, b, change->ticks);
            segment->open = true;
            segment->live++;
            if (!b->holds && !before)
                tell_entry(&w, KYMO__BLOCK_ALLOC, segment, b, change->ticks);
            continue;
        }
        if (!b->holds)
            tell_entry(&w, KYMO__BLOCK_FREE, segment, b, change->ticks);
        if (--segment->live == 0 && segment->alone) {
            segment->open = false;
            tell_entry(&w, KYMO__SEGMENT_FREE, segment, b, change->ticks);
        }
    }
    return w.entries;
}
