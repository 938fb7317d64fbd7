/* heapview.c — see heapview.h. */
#include "heapview.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "handout.h"
#include "processends.h"

enum { POINTS = 512 };

int kymo__heap_reach(struct kymo_heap *h)
{
    enum { LINE = 64 };
    size_t count = h->replay.sites.count;
    if (count <= h->site_capacity)
        return 0;
    size_t capacity = h->site_capacity ? 2 * h->site_capacity : 1024;
    capacity = capacity < count ? count : capacity;
    struct kymo_heap_extra *extras = kymo__realloc(h->extras, capacity * sizeof(*extras));
    if (!extras)
        return -ENOMEM;
    h->extras = extras;
    void *memory = kymo__alloc_zeroed(capacity * sizeof(*h->sites) + LINE);
    if (!memory)
        return -ENOMEM;
    size_t past = (uintptr_t)memory % LINE;
    struct kymo_heap_figure *sites = (void *)((char *)memory + (past ? LINE - past : 0));
    if (h->site_capacity)
        memcpy(sites, h->sites, h->site_capacity * sizeof(*sites));
    memset(extras + h->site_capacity, 0, (capacity - h->site_capacity) * sizeof(*extras));
    kymo__free(h->site_memory);
    h->site_memory = memory;
    h->sites = sites;
    h->site_capacity = capacity;
    return 0;
}

static unsigned class_of(uint64_t bytes)
{
    unsigned class = bytes ? 64u - (unsigned)__builtin_clzll(bytes) : 0;
    return class < KYMO__HEAP_CLASSES ? class : KYMO__HEAP_CLASSES - 1;
}

/* ---- at a given time ---- */

static int take_at(struct kymo_heap *h)
{
    h->at_taken = true;
    h->at_count = h->replay.sites.count;
    h->at = kymo__alloc((h->at_count + 1) * sizeof(*h->at));
    if (!h->at || kymo__heap_reach(h) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < h->at_count; i++)
        h->at[i] = kymo__part_amount(&h->sites[i].live, h->extras[i].variance.live);
    return 0;
}

/* Called before anything changes. */
static int before(struct kymo_heap *h, uint64_t ticks)
{
    kymo__heap_times_before(&h->times, ticks, h->total, h->bytes);
    return __builtin_expect(ticks > h->at_ticks, 0) && !h->at_taken ? take_at(h) : 0;
}

/* ---- blocks ---- */

/* How many bytes of BLOCK are in an arena that is known. Small blocks of Python are in arenas, but not
   all arenas are known: some were mapped before the recording began. */
static inline uint64_t bytes_in_arena(struct kymo_heap *h, const struct kymo_heap_block *block,
                                      unsigned category)
{
    enum { SMALL = 512 };
    const struct kymo_mapped_ranges *arenas = &h->arenas;
    if (category > KYMO_HEAP_PYTHON || block->bytes > SMALL || !arenas->count)
        return 0;
    size_t at = h->arena < arenas->count ? h->arena : 0;
    if (block->address - arenas->all[at].from >= arenas->all[at].to - arenas->all[at].from)
        at = kymo__ranges_find(arenas, block->address);
    if (at == arenas->count || arenas->all[at].from > block->address)
        return 0;
    h->arena = at;
    /* A block that is older was in another arena; its free was not seen. */
    return block->born >= arenas->all[at].born ? block->bytes : 0;
}

static int forget_range(void *arg, const struct kymo_mapped_range *part, int whole)
{
    (void)arg, (void)part, (void)whole;
    return 0;
}

static int count_arena(struct kymo_heap *h, const struct kymo_heap_block *block, bool born)
{
    const struct kymo_mapped_range range = {
        .from = block->address, .to = block->address + block->bytes, .born = block->born};
    return born ? kymo__ranges_add(&h->arenas, &range)
                : kymo__ranges_cut(&h->arenas, range.from, range.to, forget_range, NULL);
}

static inline void count_born(const struct kymo_heap *h, struct kymo_heap_figure *figure,
                              struct kymo_heap_extra *extra, const struct kymo_heap_amount *amount)
{
    kymo__figure_keep(figure, extra, h->mark, h->rate != 0);
    kymo__figure_add(figure, extra, amount, h->rate != 0);
}

/* How a block goes. */
enum gone { FREED, TEMPORARY, RENAMED, LEFT /* alive when its process ended */ };

static inline void count_gone(const struct kymo_heap *h, struct kymo_heap_figure *figure,
                              struct kymo_heap_extra *extra, const struct kymo_heap_amount *amount,
                              enum gone gone)
{
    bool sampled = h->rate != 0;
    kymo__figure_keep(figure, extra, h->mark, sampled);
    kymo__figure_subtract(figure, extra, amount, sampled, gone == TEMPORARY);
    if (gone == RENAMED)
        kymo__figure_forget(figure, extra, amount, sampled);
    else if (gone == LEFT)
        kymo__amount_add(&extra->left, amount);
}

static int view_born(void *arg, uint64_t ticks, const struct kymo_heap_block *block)
{
    struct kymo_heap *h = arg;
    int rc = before(h, ticks);
    if (rc == 0 && block->site >= h->site_capacity)
        rc = kymo__heap_reach(h);
    if (rc < 0)
        return rc;
    struct kymo_heap_amount amount = kymo__heap_block_amount(block, h->rate);
    count_born(h, &h->sites[block->site], &h->extras[block->site], &amount);
    unsigned category = h->replay.sites.all[block->site].category;
    h->bytes[category] += amount.bytes;
    h->in_arenas += bytes_in_arena(h, block, category);
    if (!kymo__heap_counts(h, block->site))
        return count_arena(h, block, true);
    unsigned class = class_of(block->bytes);
    if (!block->mapping)
        count_born(h, &h->classes[class], &h->class_extras[class], &amount);
    h->total += amount.bytes;
    kymo__heap_times_grown(&h->times, ticks, h->total, h->bytes);
    if (h->total > h->peak) {
        h->peak = h->total;
        h->mark++;
        h->peak_ticks = ticks;
        h->resident_at_peak = h->resident;
        h->peak_in_arenas = h->in_arenas;
        memcpy(h->peak_bytes, h->bytes, sizeof(h->bytes));
    }
    return 0;
}

static inline int view_gone(struct kymo_heap *h, uint64_t ticks,
                            const struct kymo_heap_block *block, enum gone gone)
{
    int rc = before(h, ticks);
    if (rc < 0)
        return rc;
    struct kymo_heap_amount amount = kymo__heap_block_amount(block, h->rate);
    count_gone(h, &h->sites[block->site], &h->extras[block->site], &amount, gone);
    unsigned category = h->replay.sites.all[block->site].category;
    h->bytes[category] -= amount.bytes;
    if (gone == LEFT)
        h->left_bytes[category] += amount.bytes;
    h->in_arenas -= bytes_in_arena(h, block, category);
    if (!kymo__heap_counts(h, block->site))
        return count_arena(h, block, false);
    unsigned class = class_of(block->bytes);
    if (!block->mapping)
        count_gone(h, &h->classes[class], &h->class_extras[class], &amount,
                   gone == TEMPORARY ? FREED : gone);
    h->total -= amount.bytes;
    return 0;
}

static int view_died(void *arg, uint64_t ticks, const struct kymo_heap_block *block)
{
    struct kymo_heap *h = arg;
    /* Whether a sampled block was temporary is not known: the next ten samples are far away. */
    return view_gone(h, ticks, block,
                     block->renamed                 ? RENAMED
                     : block->temporary && !h->rate ? TEMPORARY
                                                    : FREED);
}

static int view_other(void *arg, const struct kymo_heap_other *event)
{
    struct kymo_heap *h = arg;
    int rc = before(h, event->ticks);
    if (rc < 0)
        return rc;
    if (event->kind != KYMO__HEAP_RESIDENT)
        return kymo__heap_keep(h, event);
    /* Like live blocks, those of several processes are added up. */
    uint64_t *of = &h->resident_of[kymo__process_of(h->capture->reader, event->thread)];
    h->resident += event->bytes - *of;
    *of = event->bytes;
    if (!h->resident_start)
        h->resident_start = h->resident;
    if (h->resident > h->times.now.resident)
        h->times.now.resident = h->resident;
    if (h->resident > h->resident_most) {
        h->resident_most = h->resident;
        h->resident_most_ticks = event->ticks;
    }
    return 0;
}

/* BLOCK is alive when its process ends. */
static void count_old(struct kymo_heap *h, uint64_t end_ticks, const struct kymo_heap_block *block)
{
    struct kymo_heap_amount amount = kymo__heap_block_amount(block, h->rate);
    size_t hint = 0;
    kymo_ns born = kymo__timebase_ns(&h->capture->base, block->born, &hint);
    kymo_ns end = kymo__timebase_ns(&h->capture->base, end_ticks, &hint);
    if (end - born >= h->options.older_than)
        kymo__amount_add(&h->extras[block->site].old, &amount);
}

static int view_left(void *arg, uint64_t ticks, const struct kymo_heap_block *block)
{
    struct kymo_heap *h = arg;
    count_old(h, ticks, block);
    return view_gone(h, ticks, block, LEFT);
}

static int view_ended(void *arg, uint64_t ticks, uint32_t process)
{
    struct kymo_heap *h = arg;
    (void)ticks;
    h->resident -= h->resident_of[process];
    h->resident_left += h->resident_of[process];
    h->resident_of[process] = 0;
    return 0;
}

static int view_alive(void *arg, const struct kymo_heap_block *block)
{
    struct kymo_heap *h = arg;
    count_old(h, h->end_ticks, block);
    return 0;
}

/* ---- the whole ---- */

/* The first and last tick of everything recorded. */
static void span(const struct kymo_reader *r, uint64_t *first, uint64_t *last)
{
    *first = r->ranged ? r->range_first : UINT64_MAX;
    *last = r->ranged ? r->range_last : 0;
    for (size_t i = 0; i < r->run_count; i++) {
        const struct kymo_run *h = &r->runs[i];
        if (h->damaged || h->first_ticks > h->last_ticks)
            continue;
        *first = h->first_ticks < *first ? h->first_ticks : *first;
        *last = h->last_ticks > *last ? h->last_ticks : *last;
    }
    *first = *first > *last ? *last : *first;
}

static int view(struct kymo_heap *h)
{
    uint64_t first;
    span(h->capture->reader, &first, &h->end_ticks);
    size_t points = h->options.points ? h->options.points : POINTS;
    int rc = kymo__heap_times_init(&h->times, points, first, h->end_ticks);
    h->resident_of =
        kymo__alloc_zeroed(kymo__process_count(h->capture->reader) * sizeof(*h->resident_of));
    if (rc == 0 && !h->resident_of)
        rc = -ENOMEM;
    const struct kymo_replay_visitor visitor = {
        .arg = h,
        .born = view_born,
        .died = view_died,
        .other = view_other,
        .left = view_left,
        .ended = view_ended,
        .alive = view_alive,
        .progress = h->options.progress,
        .progress_arg = h->options.progress_arg,
        .temporary = h->options.temporary,
    };
    if (rc == 0)
        rc = kymo__replay(&h->replay, h->capture, &visitor);
    if (rc == 0 && h->options.at != INT64_MAX && !h->at_taken)
        rc = take_at(h);
    if (rc < 0)
        return rc;
    kymo__heap_times_turn(&h->times, UINT64_MAX, h->total, h->bytes);
    rc = kymo__heap_reach(h);
    if (rc == 0 && h->mode == KYMO_HEAP_LIVE)
        rc = kymo__heap_take_held(h);
    return rc < 0 ? rc : kymo__heap_sort(h);
}

int kymo_heap_new(struct kymo_capture *capture, const struct kymo_heap_options *options,
                  struct kymo_heap **heap)
{
    struct kymo_heap *h = kymo__alloc_zeroed(sizeof(*h));
    if (!h)
        return -ENOMEM;
    h->capture = capture;
    h->options = (struct kymo_heap_options){.at = INT64_MAX};
    if (options)
        memcpy(&h->options, options,
               options->size < sizeof(h->options) ? options->size : sizeof(h->options));
    h->mode = kymo__heap_mode(capture);
    h->rate = kymo__heap_rate(capture);
    h->arenas_count = kymo__heap_arenas_count(capture);
    h->at_ticks = h->options.at == INT64_MAX ? UINT64_MAX
                                             : kymo__timebase_ticks(&capture->base, h->options.at);
    int rc = h->mode == KYMO_HEAP_NONE ? 0 : view(h);
    if (rc < 0) {
        kymo_heap_free(h);
        return rc;
    }
    *heap = h;
    return 0;
}

void kymo_heap_free(struct kymo_heap *h)
{
    if (!h)
        return;
    kymo__replay_fini(&h->replay);
    kymo__ranges_fini(&h->arenas);
    kymo__heap_times_fini(&h->times);
    kymo__heap_kept_free(h);
    kymo__free(h->resident_of);
    kymo__free(h->site_memory);
    kymo__free(h->extras);
    kymo__free(h->at);
    for (int i = 0; i < KYMO_HEAP_SETS; i++)
        kymo__free(h->order[i]);
    kymo__free(h);
}
