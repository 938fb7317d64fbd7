/* replay.c — see replay.h. */
#include "replay.h"

#include <errno.h>
#include <kymo/heap.h>
#include <string.h>

#include "alloc.h"
#include "fields.h"
#include "heapmerge.h"
#include "liveblocks.h"
#include "processends.h"
#include "ranges.h"

enum { TEMPORARY = 10, STEP = 1 << 16, AHEAD = 12 };

/* What is alive in one process. */
struct space {
    struct kymo_live_blocks live;
    struct kymo_mapped_ranges ranges;
};

struct replaying {
    struct kymo_replay *replay;
    const struct kymo_replay_visitor *visitor;
    uint64_t ticks; /* of the event being replayed, and its thread */
    uint32_t thread;
    struct kymo_merge merge;
    struct space *spaces, *space; /* by process; that of the event */
    size_t space_count;
    struct kymo_process_ends ends;
    size_t ended;     /* how many of them have ended */
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
    kymo__live_remove(&p->space->live, old);
    return tell_died(p, &block);
}

static int allocate(struct replaying *p, const struct kymo_heap_event *e)
{
    int64_t site = kymo__site_of(&p->replay->sites, e->stack, e->function, false);
    if (site < 0)
        return (int)site;
    if (!e->address)
        return 0;
    int rc = kymo__live_reserve(&p->space->live);
    if (rc < 0)
        return rc;
    struct kymo_live_block *live = kymo__live_seek(&p->space->live, e->address);
    if (__builtin_expect(live->address != 0, 0)) {
        rc = replace(p, live, (uint32_t)site);
        live = kymo__live_seek(&p->space->live, e->address);
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
    p->space->live.count++;
    struct kymo_heap_block block = block_of(live);
    return tell_born(p, &block);
}

static int release_block(struct replaying *p, const struct kymo_heap_event *e)
{
    struct kymo_live_block *live =
        e->address && p->space->live.count ? kymo__live_seek(&p->space->live, e->address) : NULL;
    if (!live || !live->address) {
        p->replay->unknown_frees++;
        return 0;
    }
    struct kymo_heap_block block = block_of(live);
    block.temporary = !e->moves && live->thread == p->thread && p->thread < UINT16_MAX &&
                      p->serial[p->thread] - live->serial < p->temporary;
    kymo__live_remove(&p->space->live, live);
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
    return kymo__ranges_cut(&p->space->ranges, e->address, to, range_gone, p);
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
        rc = kymo__ranges_add(&p->space->ranges, &range);
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
    p->space = &p->spaces[kymo__process_of(p->replay->capture->reader, p->thread)];
    if (p->ended < p->ends.count && p->ends.all[p->ended].ticks < limit)
        limit = p->ends.all[p->ended].ticks + 1;
    do {
        if (end - e > AHEAD)
            kymo__live_prefetch(&p->space->live, e[AHEAD].address);
        rc = replay_one(p, lane, e++);
    } while (rc >= 0 && e < end && e->ticks < limit);
    lane->at = (size_t)(e - events);
    return rc;
}

/* Tell of every block of SPACE, which is alive. */
static int tell_space(const struct replaying *p, struct space *space,
                      int (*tell)(const struct replaying *p, const struct kymo_heap_block *block))
{
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < space->live.slot_count; i++) {
        struct kymo_heap_block block = block_of(&space->live.slots[i]);
        if (block.address)
            rc = tell(p, &block);
    }
    for (size_t i = 0; rc >= 0 && i < space->ranges.count; i++) {
        struct kymo_heap_block block = block_of_range(&space->ranges.all[i]);
        /* A mapping counts once, with the last of its pieces. */
        block.whole = --space->ranges.pieces[space->ranges.all[i].mapping] == 0;
        rc = tell(p, &block);
    }
    return rc < 0 ? rc : 0;
}

static void space_fini(struct space *space)
{
    kymo__live_fini(&space->live);
    kymo__ranges_fini(&space->ranges);
}

static int tell_left(const struct replaying *p, const struct kymo_heap_block *block)
{
    return p->visitor->left(p->visitor->arg, p->ticks, block);
}

/* A process has ended: its memory is gone, whether it was freed or not. */
static int end_process(struct replaying *p, const struct kymo_process_end *end)
{
    const struct kymo_replay_visitor *v = p->visitor;
    struct space *space = &p->spaces[end->process];
    p->ticks = end->ticks;
    int rc = tell_space(p, space, tell_left);
    space_fini(space);
    if (rc == 0 && v->ended)
        rc = v->ended(v->arg, end->ticks, end->process);
    return rc;
}

/* End the processes that end before TICKS. */
static int end_processes(struct replaying *p, uint64_t ticks)
{
    int rc = 0;
    while (rc >= 0 && p->ended < p->ends.count && p->ends.all[p->ended].ticks < ticks)
        rc = end_process(p, &p->ends.all[p->ended++]);
    return rc;
}

static int replay_all(struct replaying *p, uint64_t all)
{
    uint64_t done = 0, told = 0;
    int rc;
    while ((rc = kymo__merge_turn(&p->merge)) > 0) {
        const struct kymo_merge_lane *lane = p->merge.heap[0];
        size_t from = lane->at;
        rc = end_processes(p, lane->front.events[from].ticks);
        if (rc >= 0)
            rc = replay_turn(p);
        done += p->merge.heap[0]->at - from;
        if (rc >= 0 && done / STEP > told / STEP)
            rc = report_progress(p, told = done, all);
        if (rc < 0)
            return rc;
    }
    return rc < 0 ? rc : end_processes(p, UINT64_MAX);
}

static int tell_alive(const struct replaying *p, const struct kymo_heap_block *block)
{
    return p->visitor->alive(p->visitor->arg, block);
}

static int tell_all_alive(const struct replaying *p)
{
    int rc = 0;
    for (size_t i = 0; rc >= 0 && p->visitor->alive && i < p->space_count; i++)
        rc = tell_space(p, &p->spaces[i], tell_alive);
    return rc;
}

static bool is_alive(void *arg, const struct kymo_merge_lane *lane, uint64_t address)
{
    const struct replaying *p = arg;
    const struct kymo_live_blocks *live =
        &p->spaces[kymo__process_of(p->replay->capture->reader, lane->lane.thread)].live;
    return live->count && kymo__live_seek(live, address)->address;
}

static int make_spaces(struct replaying *p, const struct kymo_reader *r)
{
    p->space_count = kymo__process_count(r);
    p->spaces = kymo__alloc_zeroed(p->space_count * sizeof(*p->spaces));
    p->serial = kymo__alloc_zeroed((r->thread_count + 1) * sizeof(*p->serial));
    if (!p->spaces || !p->serial)
        return -ENOMEM;
    return p->visitor->left ? kymo__process_ends_init(&p->ends, r) : 0;
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
    replay->capture = capture;
    int rc = make_spaces(p, capture->reader);
    if (rc == 0)
        rc = kymo__sites_init(&replay->sites, capture->reader);
    if (rc == 0)
        rc = kymo__merge_init(&p->merge, capture);
    p->merge.alive = is_alive;
    p->merge.alive_arg = p;
    if (rc == 0) {
        kymo_capture_info(capture, &info);
        rc = replay_all(p, info.records);
        replay->reordered = kymo__merge_reordered(&p->merge);
    }
    kymo__merge_fini(&p->merge);
    if (rc == 0)
        rc = tell_all_alive(p);
    for (size_t i = 0; p->spaces && i < p->space_count; i++)
        space_fini(&p->spaces[i]);
    kymo__process_ends_fini(&p->ends);
    kymo__free(p->spaces);
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
