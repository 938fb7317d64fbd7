/* heapheld.c — what the recorder wrote besides single allocations: live sets as a whole, requests
   for them, and surviving Python objects. */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "heapview.h"

enum { AT_END = 0, AT_PEAK = 1 }; /* numbers of snapshots */

static int keep_shot(struct kymo_heap *h, const struct kymo_heap_other *e, const char *text,
                     size_t length)
{
    if (kymo__array_grow(&h->shots, &h->shot_capacity, h->shot_count, sizeof(*h->shots)) < 0)
        return -ENOMEM;
    char *reason = kymo__alloc_text(text, length);
    if (!reason)
        return -ENOMEM;
    h->shots[h->shot_count++] = (struct kymo_heap_shot){
        .number = e->address, .ticks = e->ticks, .reason = reason, .row = h->held_count};
    return 0;
}

/* The row is an estimate of COUNT blocks; that many were not sampled, but their share p. Sizes of
   blocks from one place are similar, so all count as their mean. */
double kymo__heap_row_variance(const struct kymo_heap *h, const struct kymo_heap_held_row *row)
{
    if (!h->rate || !row->count)
        return 0;
    struct kymo_heap_amount one = kymo__heap_weigh(row->bytes / row->count, h->rate);
    return one.variance * (double)row->count * KYMO__HEAP_UNIT / (double)one.units;
}

/* Rows directly follow their snapshot, except those at the end and at the peak, which nobody asked
   for. */
static int keep_row(struct kymo_heap *h, const struct kymo_heap_other *e)
{
    if (!h->shot_count || h->shots[h->shot_count - 1].number != e->address) {
        int rc = keep_shot(h, e, "", 0);
        if (rc < 0)
            return rc;
    }
    int64_t site = kymo__site_of(&h->replay.sites, e->stack, e->function, false);
    if (site < 0 ||
        kymo__array_grow(&h->held, &h->held_capacity, h->held_count, sizeof(*h->held)) < 0)
        return -ENOMEM;
    struct kymo_heap_shot *shot = &h->shots[h->shot_count - 1];
    h->held[h->held_count++] = (struct kymo_heap_held_row){e->bytes, e->from, (uint32_t)site};
    shot->rows++;
    shot->bytes += e->bytes;
    shot->count += e->from;
    shot->variance += kymo__heap_row_variance(h, &h->held[h->held_count - 1]);
    return 0;
}

static int keep_survivor(struct kymo_heap *h, const struct kymo_heap_other *e)
{
    if (kymo__array_grow(&h->survivors, &h->survivor_capacity, h->survivor_count,
                         sizeof(*h->survivors)) < 0)
        return -ENOMEM;
    char *path = kymo__alloc_text(e->text_length ? e->text : "", e->text_length);
    if (!path)
        return -ENOMEM;
    h->survivors[h->survivor_count++] = (struct kymo_heap_survivor){.snapshot = e->address,
                                                                    .count = e->from,
                                                                    .bytes = e->bytes,
                                                                    .owned = e->owned,
                                                                    .stack = e->stack,
                                                                    .type = e->function,
                                                                    .path = path};
    return 0;
}

int kymo__heap_keep(struct kymo_heap *h, const struct kymo_heap_other *e)
{
    switch (e->kind) {
    case KYMO__HEAP_SNAPSHOT:
        return keep_shot(h, e, e->text_length ? e->text : "", e->text_length);
    case KYMO__HEAP_HELD:
        return keep_row(h, e);
    case KYMO__HEAP_OBJECT:
        return keep_survivor(h, e);
    default:
        return 0;
    }
}

void kymo__heap_kept_free(struct kymo_heap *h)
{
    for (size_t i = 0; i < h->shot_count; i++)
        kymo__free(h->shots[i].reason);
    for (size_t i = 0; i < h->survivor_count; i++)
        kymo__free(h->survivors[i].path);
    kymo__free(h->shots);
    kymo__free(h->held);
    kymo__free(h->survivors);
}

static void take_row(struct kymo_heap *h, const struct kymo_heap_held_row *row, bool peak)
{
    struct kymo_heap_figure *site = &h->sites[row->site];
    struct kymo_heap_part *part = peak ? &site->peak : &site->live;
    part->bytes += row->bytes;
    part->units += row->count * KYMO__HEAP_UNIT;
    (peak ? h->peak_bytes : h->bytes)[h->replay.sites.all[row->site].category] += row->bytes;
}

const struct kymo_heap_shot *kymo__heap_shot_at(const struct kymo_heap *h)
{
    const struct kymo_heap_shot *last = NULL;
    size_t hint = 0;
    /* In nanoseconds: who asks for the time of a snapshot gets it. */
    for (size_t i = 0; i < h->shot_count; i++)
        if (h->shots[i].number > AT_PEAK &&
            kymo__timebase_ns(&h->capture->base, h->shots[i].ticks, &hint) <= h->options.at)
            last = &h->shots[i];
    return last;
}

/* At a time there are the mappings, which are taken already, and what the last snapshot has. */
static int take_shot(struct kymo_heap *h)
{
    const struct kymo_heap_shot *shot = kymo__heap_shot_at(h);
    size_t count = h->replay.sites.count;
    struct kymo_heap_amount *at = kymo__realloc(h->at, (count + 1) * sizeof(*at));
    if (!at)
        return -ENOMEM;
    memset(at + h->at_count, 0, (count - h->at_count) * sizeof(*at));
    h->at = at;
    h->at_count = count;
    for (size_t i = 0; shot && i < shot->rows; i++) {
        const struct kymo_heap_held_row *row = &h->held[shot->row + i];
        at[row->site].bytes += row->bytes;
        at[row->site].units += row->count * KYMO__HEAP_UNIT;
    }
    return 0;
}

/* Mappings are not part of the peak, which is that of blocks: when it was is not known. Only mappings
   have been replayed, so what is the peak until now is theirs. */
int kymo__heap_take_held(struct kymo_heap *h)
{
    h->mapped_most = h->peak;
    h->mapped_most_ticks = h->peak_ticks;
    h->mark = 1; /* every figure's peak is set here */
    h->peak_ticks = h->resident_at_peak = 0;
    memset(h->peak_bytes, 0, sizeof(h->peak_bytes));
    for (size_t i = 0; i < h->replay.sites.count; i++) {
        h->sites[i].mark = h->mark;
        h->sites[i].peak = (struct kymo_heap_part){0};
    }
    for (size_t s = 0; s < h->shot_count; s++) {
        const struct kymo_heap_shot *shot = &h->shots[s];
        for (size_t i = shot->row; i < shot->row + shot->rows; i++)
            if (shot->number == AT_END || shot->number == AT_PEAK)
                take_row(h, &h->held[i], shot->number == AT_PEAK);
    }
    return h->at ? take_shot(h) : 0;
}
