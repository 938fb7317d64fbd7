/* replay.c — see replay.h. */
#include "replay.h"

#include <errno.h>
#include <kymo/heap.h>
#include <string.h>

#include "alloc.h"
#include "fields.h"
#include "heapmerge.h"
#include "liveblocks.h"
#include "ranges.h"

enum { TEMPORARY = 10, STEP = 1 << 16, AHEAD = 12 };

struct replaying {
    struct kymo_replay *replay;
    const struct kymo_replay_visitor *visitor;
    uint64_t ticks; /* of the event being replayed, and its thread */
    uint32_t thread;
    struct kymo_merge merge;
    struct kymo_live_blocks live;
    struct kymo_mapped_ranges ranges;
    uint32_t *serial; /* by thread: allocations so far */
    uint32_t temporary;
};

/* What fits into a live block. */
static uint32_t thread_of(const struct replaying *p)
{
    return p->thread < UINT16_MAX ? p->thread : UINT16_MAX;
}

static int tell_born(const struct replaying *p, const struct kymo_heap_block *block)
{
    const struct kymo_replay_visitor *v = p->visitor;
    return v->born ? v->born(v->arg, p->ticks, block) : 0;
}

static int tell_died(const struct replaying *p, const struct kymo_heap_block *block)
{
    const struct kymo_replay_visitor *v = p->visitor;
    return v->died ? v->died(v->arg, p->ticks, block) : 0;
}

static struct kymo_heap_block block_of(const struct kymo_live_block *live)
{
    return (struct kymo_heap_block){
        .address = live->address,
        .bytes = live->bytes,
        .born = live->born,
        .site = live->site,
        .thread = live->thread,
        .whole = true,
    };
}

/* ---- blocks ---- */

/* Allocated at an address where a block is alive: its free was not recorded, which happens while
   libraries are loaded; unless a library reports a block that was recorded as malloc's already. Then
   it is the same block, under a better name. */
static int replace(struct replaying *p, struct kymo_live_block *old, uint32_t site)
{
    struct kymo_heap_block block = block_of(old);
    block.renamed = p->replay->sites.all[site].category == KYMO_HEAP_TRACKED;
    if (block.renamed)
        p->replay->count[KYMO__HEAP_ALLOC]--;
    else if (p->replay->sites.all[old->site].loading)
        p->replay->unseen_frees++;
    else
        p->replay->disorder++;
    kymo__live_remove(&p->live, old);
    return tell_died(p, &block);
}

static int allocate(struct replaying *p, const struct kymo_heap_event *e)
{
    int64_t site = kymo__site_of(&p->replay->sites, e->stack, e->function, false);
    if (site < 0)
        return (int)site;
    if (!e->address)
        return 0;
    int rc = kymo__live_reserve(&p->live);
    if (rc < 0)
        return rc;
    struct kymo_live_block *live = kymo__live_seek(&p->live, e->address);
    if (__builtin_expect(live->address != 0, 0)) {
        rc = replace(p, live, (uint32_t)site);
        live = kymo__live_seek(&p->live, e->address);
    }
    if (rc < 0)
        return rc;
    *live = (struct kymo_live_block){
        .address = e->address,
        .born = e->ticks,
        .bytes = e->bytes,
        .thread = thread_of(p) & UINT16_MAX,
        .site = (uint32_t)site,
        .serial = ++p->serial[p->thread],
    };
    p->live.count++;
    struct kymo_heap_block block = block_of(live);
    return tell_born(p, &block);
}

static int release_block(struct replaying *p, const struct kymo_heap_event *e)
{
    struct kymo_live_block *live =
        e->address && p->live.count ? kymo__live_seek(&p->live, e->address) : NULL;
    if (!live || !live->address) {
        p->replay->unknown_frees++;
        return 0;
    }
    struct kymo_heap_block block = block_of(live);
    block.temporary = !e->moves && live->thread == p->thread && p->thread < UINT16_MAX &&
                      p->serial[p->thread] - live->serial < p->temporary;
    kymo__live_remove(&p->live, live);
    return tell_died(p, &block);
}

/* ---- mappings ---- */

static struct kymo_heap_block block_of_range(const struct kymo_mapped_range *range)
{
    return (struct kymo_heap_block){
        .address = range->from,
        .bytes = range->to - range->from,
        .born = range->born,
        .site = range->site,
        .thread = range->thread,
        .mapping = true,
    };
}

static int range_gone(void *arg, const struct kymo_mapped_range *part, int whole)
{
    struct kymo_heap_block block = block_of_range(part);
    block.whole = whole;
    return tell_died(arg, &block);
}

static int unmap(struct replaying *p, const struct kymo_heap_event *e)
{
    uint64_t to = e->address + e->bytes < e->address ? UINT64_MAX : e->address + e->bytes;
    return kymo__ranges_cut(&p->ranges, e->address, to, range_gone, p);
}

/* Mapping over what is mapped replaces it, as MAP_FIXED does. */
static int map(struct replaying *p, const struct kymo_heap_event *e)
{
    int64_t site = kymo__site_of(&p->replay->sites, e->stack, e->function, true);
    if (site < 0)
        return (int)site;
    uint64_t bytes = e->bytes;
    if (!bytes || e->address + bytes < e->address)
        return 0;
    int rc = unmap(p, e);
    const struct kymo_mapped_range range = {
        .from = e->address,
        .to = e->address + bytes,
        .born = e->ticks,
        .site = (uint32_t)site,
        .thread = thread_of(p),
    };
    if (rc >= 0)
        rc = kymo__ranges_add(&p->ranges, &range);
    if (rc < 0)
        return rc;
    struct kymo_heap_block block = block_of_range(&range);
    block.whole = true;
    return tell_born(p, &block);
}

/* ---- the whole ---- */

static inline int replay_one(struct replaying *p, const struct kymo_merge_lane *lane,
                             const struct kymo_heap_event *e)
{
    const struct kymo_replay_visitor *v = p->visitor;
    p->ticks = e->ticks;
    p->replay->count[e->kind]++;
    switch (e->kind) {
    case KYMO__HEAP_ALLOC:
    case KYMO__HEAP_REALLOC:
        return allocate(p, e);
    case KYMO__HEAP_FREE:
        return release_block(p, e);
    case KYMO__HEAP_MAP:
        return map(p, e);
    case KYMO__HEAP_UNMAP:
        return unmap(p, e);
    default:
        return v->other ? v->other(v->arg, &lane->front.others[e->address]) : 0;
    }
}

static int report_progress(const struct replaying *p, uint64_t done, uint64_t all)
{
    const struct kymo_replay_visitor *v = p->visitor;
    return v->progress ? v->progress(v->progress_arg, done < all ? done : all, all) : 0;
}

/* Replay the events of the lane whose turn it is. */
static int replay_turn(struct replaying *p)
{
    struct kymo_merge_lane *lane = p->merge.heap[0];
    const struct kymo_heap_event *events = lane->front.events, *e = events + lane->at;
    const struct kymo_heap_event *const end = events + lane->front.count;
    uint64_t limit = p->merge.limit;
    int rc;
    p->thread = lane->lane.thread;
    do {
        if (end - e > AHEAD)
            kymo__live_prefetch(&p->live, e[AHEAD].address);
        rc = replay_one(p, lane, e++);
    } while (rc >= 0 && e < end && e->ticks < limit);
    lane->at = (size_t)(e - events);
    return rc;
}

static int replay_all(struct replaying *p, uint64_t all)
{
    uint64_t done = 0, told = 0;
    int rc;
    while ((rc = kymo__merge_turn(&p->merge)) > 0) {
        size_t from = p->merge.heap[0]->at;
        rc = replay_turn(p);
        done += p->merge.heap[0]->at - from;
        if (rc >= 0 && done / STEP > told / STEP)
            rc = report_progress(p, told = done, all);
        if (rc < 0)
            return rc;
    }
    return rc;
}

static int tell_alive(const struct replaying *p)
{
    const struct kymo_replay_visitor *v = p->visitor;
    int rc = 0;
    for (size_t i = 0; rc >= 0 && v->alive && i < p->live.slot_count; i++) {
        struct kymo_heap_block block = block_of(&p->live.slots[i]);
        if (block.address)
            rc = v->alive(v->arg, &block);
    }
    for (size_t i = 0; rc >= 0 && v->alive && i < p->ranges.count; i++) {
        struct kymo_heap_block block = block_of_range(&p->ranges.all[i]);
        /* A mapping counts once, with the last of its pieces. */
        block.whole = --p->ranges.pieces[p->ranges.all[i].mapping] == 0;
        rc = v->alive(v->arg, &block);
    }
    return rc < 0 ? rc : 0;
}

int kymo__replay(struct kymo_replay *replay, struct kymo_capture *capture,
                 const struct kymo_replay_visitor *visitor)
{
    struct kymo_info info = {.size = offsetof(struct kymo_info, samples)};
    struct replaying *p = kymo__alloc_zeroed(sizeof(*p));
    if (!p)
        return -ENOMEM;
    p->replay = replay;
    p->visitor = visitor;
    p->temporary = visitor->temporary ? visitor->temporary : TEMPORARY;
    p->serial = kymo__alloc_zeroed((capture->reader->thread_count + 1) * sizeof(*p->serial));
    replay->capture = capture;
    int rc = p->serial ? kymo__sites_init(&replay->sites, capture->reader) : -ENOMEM;
    if (rc == 0)
        rc = kymo__merge_init(&p->merge, capture);
    if (rc == 0) {
        kymo_capture_info(capture, &info);
        rc = replay_all(p, info.records);
        replay->reordered = kymo__merge_reordered(&p->merge);
    }
    kymo__merge_fini(&p->merge);
    if (rc == 0)
        rc = tell_alive(p);
    kymo__live_fini(&p->live);
    kymo__ranges_fini(&p->ranges);
    kymo__free(p->serial);
    kymo__free(p);
    return rc;
}

void kymo__replay_fini(struct kymo_replay *replay)
{
    kymo__sites_fini(&replay->sites);
}

bool kymo__may_have_heap(const struct kymo_capture *capture)
{
    const struct kymo_reader *r = capture->reader;
    for (uint32_t key = 1; key < r->key_count; key++)
        if (r->keys[key].schema && kymo__heap_kind_of(kymo__key_name(r, key)))
            return true;
    return false;
}
