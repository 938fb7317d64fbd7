/* heaprows.c — the results of a replay, as kymo/heap.h hands them out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "fields.h"
#include "handout.h"
#include "heapview.h"

static struct kymo_heap_sum sum_of(struct kymo_heap_amount amount)
{
    return (struct kymo_heap_sum){
        .bytes = amount.bytes,
        .count = (amount.units + KYMO__HEAP_UNIT / 2) / KYMO__HEAP_UNIT,
        .error = kymo__heap_error(&amount),
    };
}

struct kymo_heap_amount kymo__heap_amount(const struct kymo_heap *h, unsigned set, uint32_t site)
{
    const struct kymo_heap_figure *figure = &h->sites[site];
    const struct kymo_heap_extra *extra = &h->extras[site];
    switch (set) {
    case KYMO_HEAP_AT_PEAK:
        return kymo__figure_peak(figure, extra, h->mark);
    case KYMO_HEAP_AT_END:
        return kymo__figure_end(figure, extra);
    case KYMO_HEAP_AT_TIME:
        return site < h->at_count ? h->at[site] : (struct kymo_heap_amount){0};
    case KYMO_HEAP_OLD:
        return extra->old;
    case KYMO_HEAP_ALL:
        return kymo__part_amount(&figure->all, extra->variance.all);
    case KYMO_HEAP_TEMPORARY:
        return kymo__part_amount(&extra->temporary, extra->variance.temporary);
    default:
        return (struct kymo_heap_amount){0};
    }
}

/* ---- order ---- */

struct sorting {
    const struct kymo_heap *heap;
    unsigned set;
};

static int by_amount(const void *a, const void *b, void *arg)
{
    const struct sorting *s = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    struct kymo_heap_amount left = kymo__heap_amount(s->heap, s->set, x);
    struct kymo_heap_amount right = kymo__heap_amount(s->heap, s->set, y);
    if (left.bytes != right.bytes)
        return left.bytes > right.bytes ? -1 : 1;
    if (left.units != right.units)
        return left.units > right.units ? -1 : 1;
    return x < y ? -1 : x > y;
}

int kymo__heap_sort(struct kymo_heap *h)
{
    size_t sites = h->replay.sites.count;
    for (unsigned set = 0; set < KYMO_HEAP_SETS; set++) {
        struct sorting sorting = {h, set};
        h->order[set] = kymo__alloc((sites + 1) * sizeof(*h->order[set]));
        if (!h->order[set])
            return -ENOMEM;
        for (uint32_t i = 0; i < sites; i++) {
            struct kymo_heap_amount amount = kymo__heap_amount(h, set, i);
            if ((amount.bytes || amount.units) && kymo__heap_counts(h, i))
                h->order[set][h->order_count[set]++] = i;
        }
        qsort_r(h->order[set], h->order_count[set], sizeof(*h->order[set]), by_amount, &sorting);
    }
    return 0;
}

/* ---- handing out ---- */

static struct kymo_heap_row row_of(const struct kymo_heap *h, uint32_t site,
                                   struct kymo_heap_amount amount)
{
    const struct kymo_heap_site *at = &h->replay.sites.all[site];
    return (struct kymo_heap_row){
        .stack = at->stack,
        .category = at->category,
        .function = kymo__key_name(h->capture->reader, at->function),
        .sum = sum_of(amount),
    };
}

int kymo_heap_row(const struct kymo_heap *h, unsigned set, size_t index, struct kymo_heap_row *row)
{
    if (set >= KYMO_HEAP_SETS || index >= h->order_count[set])
        return -ENOENT;
    uint32_t site = h->order[set][index];
    struct kymo_heap_row full = row_of(h, site, kymo__heap_amount(h, set, site));
    return kymo__hand_out(row, &full, sizeof(full));
}

int kymo_heap_held(const struct kymo_heap *h, size_t index, struct kymo_heap_row *row)
{
    if (index >= h->held_count)
        return -ENOENT;
    const struct kymo_heap_held_row *held = &h->held[index];
    const struct kymo_heap_amount amount = {held->bytes, held->count * KYMO__HEAP_UNIT,
                                            kymo__heap_row_variance(h, held)};
    struct kymo_heap_row full = row_of(h, held->site, amount);
    return kymo__hand_out(row, &full, sizeof(full));
}

static kymo_ns time_of(const struct kymo_heap *h, uint64_t ticks)
{
    size_t hint = 0;
    return kymo__timebase_ns(&h->capture->base, ticks, &hint);
}

/* Events lost by the recorder, and blocks that the file has but nobody can read. */
static uint64_t lost_events(const struct kymo_heap *h)
{
    const struct kymo_reader *r = h->capture->reader;
    uint64_t lost = 0;
    uint32_t at = 0;
    for (const char *text; (text = kymo__heap_metadata_next(h->capture, KYMO__HEAP_LOST, &at));)
        lost += strtoull(text, NULL, 10);
    for (uint32_t i = 0; i < r->thread_count; i++)
        lost += kymo__thread_more(r, i)->lost;
    for (size_t i = 0; i < r->run_count; i++)
        lost += r->runs[i].damaged ? r->runs[i].events : 0;
    return lost;
}

int kymo_heap_info(const struct kymo_heap *h, struct kymo_heap_info *info)
{
    const struct kymo_replay *p = &h->replay;
    struct kymo_heap_info full = {
        .mode = h->mode,
        .rate = h->rate,
        .allocations = p->count[KYMO__HEAP_ALLOC] + p->count[KYMO__HEAP_REALLOC],
        .frees = p->count[KYMO__HEAP_FREE],
        .reallocations = p->count[KYMO__HEAP_REALLOC],
        .mappings = p->count[KYMO__HEAP_MAP],
        .unmappings = p->count[KYMO__HEAP_UNMAP],
        .unknown_frees = p->unknown_frees,
        .unseen_frees = p->unseen_frees,
        .disorder = p->disorder,
        .lost = lost_events(h),
        .missed = kymo__heap_mixed(h->capture)
                      ? "captures of different modes or rates were merged, so sums are wrong"
                      : kymo__heap_metadata(h->capture, KYMO__HEAP_MISSED),
        .peak_time = h->peak_ticks ? time_of(h, h->peak_ticks) : 0,
        .in_arenas_at_peak = h->peak_in_arenas,
        .resident_start = h->resident_start,
        .resident_most = h->resident_most,
        .resident_end = h->resident + h->resident_left,
        .resident_at_peak = h->resident_at_peak,
        .resident_most_time = h->resident_most ? time_of(h, h->resident_most_ticks) : 0,
        .mapped_most = h->mapped_most,
        .mapped_most_time = h->mapped_most ? time_of(h, h->mapped_most_ticks) : 0,
    };
    for (unsigned i = 0; i < KYMO__HEAP_KINDS; i++)
        full.events += p->count[i];
    for (unsigned set = 0; set < KYMO_HEAP_SETS; set++) {
        struct kymo_heap_amount all = {0};
        for (size_t i = 0; i < h->order_count[set]; i++) {
            struct kymo_heap_amount one = kymo__heap_amount(h, set, h->order[set][i]);
            kymo__amount_add(&all, &one);
        }
        full.set[set] = sum_of(all);
    }
    memcpy(full.peak_by, h->peak_bytes, sizeof(full.peak_by));
    for (unsigned i = 0; i < KYMO_HEAP_CATEGORIES; i++)
        full.end_by[i] = h->bytes[i] + h->left_bytes[i];
    return kymo__hand_out(info, &full, sizeof(full));
}

int kymo_heap_point(const struct kymo_heap *h, size_t index, struct kymo_heap_point *point)
{
    if (index >= h->times.count)
        return -ENOENT;
    const struct kymo_heap_moment *moment = &h->times.all[index];
    struct kymo_heap_point full = {.time = time_of(h, moment->ticks), .resident = moment->resident};
    memcpy(full.bytes, moment->bytes, sizeof(full.bytes));
    return kymo__hand_out(point, &full, sizeof(full));
}

int kymo_heap_class(const struct kymo_heap *h, size_t index, struct kymo_heap_class *class_)
{
    if (index >= KYMO__HEAP_CLASSES)
        return -ENOENT;
    const struct kymo_heap_figure *figure = &h->classes[index];
    const struct kymo_heap_extra *extra = &h->class_extras[index];
    struct kymo_heap_class full = {
        .least = index ? UINT64_C(1) << (index - 1) : 0,
        .all = sum_of(kymo__part_amount(&figure->all, extra->variance.all)),
        .peak = sum_of(kymo__figure_peak(figure, extra, h->mark)),
        .end = sum_of(kymo__figure_end(figure, extra)),
    };
    return kymo__hand_out(class_, &full, sizeof(full));
}

int kymo_heap_snapshot(const struct kymo_heap *h, size_t index, struct kymo_heap_snapshot *snapshot)
{
    if (index >= h->shot_count)
        return -ENOENT;
    const struct kymo_heap_shot *shot = &h->shots[index];
    struct kymo_heap_snapshot full = {
        .number = shot->number,
        .time = time_of(h, shot->ticks),
        .reason = shot->reason,
        .row = shot->row,
        .rows = shot->rows,
        .sum = {shot->bytes, shot->count,
                kymo__heap_error(&(struct kymo_heap_amount){.variance = shot->variance})},
    };
    return kymo__hand_out(snapshot, &full, sizeof(full));
}

int kymo_heap_object(const struct kymo_heap *h, size_t index, struct kymo_heap_object *object)
{
    if (index >= h->survivor_count)
        return -ENOENT;
    const struct kymo_heap_survivor *s = &h->survivors[index];
    struct kymo_heap_object full = {
        .snapshot = s->snapshot,
        .count = s->count,
        .bytes = s->bytes,
        .type = kymo__key_name(h->capture->reader, s->type),
        .stack = s->stack,
        .path = s->path,
        .owned = s->owned,
    };
    return kymo__hand_out(object, &full, sizeof(full));
}
