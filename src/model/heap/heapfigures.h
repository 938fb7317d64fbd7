/* heapfigures.h — memory summed by something (site, size class), now and at the high-water mark.

   The sums at the mark cost nothing extra while memory grows: each sum is copied when it changes
   for the first time after a mark, and one that has not changed since is what it was at the mark.
   `mark` counts the marks, one for every new most. */
#ifndef KYMO_HEAPFIGURES_H
#define KYMO_HEAPFIGURES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An amount of memory. Counts are in units of 1 / KYMO__HEAP_UNIT: in a sampled capture a block
   stands for several, not a whole number of them. */
enum { KYMO__HEAP_UNIT = 256 };
struct kymo_heap_amount {
    uint64_t bytes, units;
    double variance; /* of bytes */
};

/* The figures that every event changes, in one line of the cache; align arrays of them. */
struct kymo_heap_figure {
    uint64_t mark; /* at which `peak` was copied */
    struct kymo_heap_part {
        uint64_t bytes, units;
    } live, peak, all;
    uint64_t unused;
};

static_assert(sizeof(struct kymo_heap_figure) == 64, "a line of the cache");

/* The others. */
struct kymo_heap_extra {
    struct kymo_heap_part temporary;
    struct kymo_heap_amount left; /* alive when its process ended, before the end of the capture */
    struct kymo_heap_amount old;  /* of what was alive at the end */
    struct {
        double live, peak, all, temporary;
    } variance; /* only of samples */
};

/* How a block of BYTES counts in a capture sampled every RATE bytes; 0: not sampled. */
struct kymo_heap_amount kymo__heap_weigh(uint64_t bytes, uint64_t rate);

/* The standard error of its bytes. */
double kymo__heap_error(const struct kymo_heap_amount *amount);

static inline void kymo__amount_add(struct kymo_heap_amount *sum,
                                    const struct kymo_heap_amount *amount)
{
    sum->bytes += amount->bytes;
    sum->units += amount->units;
    sum->variance += amount->variance;
}

/* Copy the figures at the mark before they change; MARK is the current one. */
static inline void kymo__figure_keep(struct kymo_heap_figure *figure, struct kymo_heap_extra *extra,
                                     uint64_t mark, bool sampled)
{
    if (figure->mark == mark)
        return;
    figure->peak = figure->live;
    figure->mark = mark;
    if (sampled)
        extra->variance.peak = extra->variance.live;
}

/* A block of AMOUNT is born. */
static inline void kymo__figure_add(struct kymo_heap_figure *figure, struct kymo_heap_extra *extra,
                                    const struct kymo_heap_amount *amount, bool sampled)
{
    figure->live.bytes += amount->bytes;
    figure->live.units += amount->units;
    figure->all.bytes += amount->bytes;
    figure->all.units += amount->units;
    if (sampled) {
        extra->variance.live += amount->variance;
        extra->variance.all += amount->variance;
    }
}

/* It dies. */
static inline void kymo__figure_subtract(struct kymo_heap_figure *figure,
                                         struct kymo_heap_extra *extra,
                                         const struct kymo_heap_amount *amount, bool sampled,
                                         bool temporary)
{
    figure->live.bytes -= amount->bytes;
    figure->live.units -= amount->units;
    if (sampled)
        extra->variance.live -= amount->variance;
    if (temporary) {
        extra->temporary.bytes += amount->bytes;
        extra->temporary.units += amount->units;
        extra->variance.temporary += amount->variance;
    }
}

/* A block of AMOUNT was not allocated here: the same block is born again under another name. */
static inline void kymo__figure_forget(struct kymo_heap_figure *figure,
                                       struct kymo_heap_extra *extra,
                                       const struct kymo_heap_amount *amount, bool sampled)
{
    figure->all.bytes -= amount->bytes;
    figure->all.units -= amount->units;
    if (sampled)
        extra->variance.all -= amount->variance;
}

/* What it was at MARK, the last one. */
static inline struct kymo_heap_amount kymo__figure_peak(const struct kymo_heap_figure *figure,
                                                        const struct kymo_heap_extra *extra,
                                                        uint64_t mark)
{
    bool kept = figure->mark == mark;
    const struct kymo_heap_part *part = kept ? &figure->peak : &figure->live;
    return (struct kymo_heap_amount){part->bytes, part->units,
                                     kept ? extra->variance.peak : extra->variance.live};
}

/* What was alive at the end, each block at that of its process. */
static inline struct kymo_heap_amount kymo__figure_end(const struct kymo_heap_figure *figure,
                                                       const struct kymo_heap_extra *extra)
{
    struct kymo_heap_amount end = {figure->live.bytes, figure->live.units, extra->variance.live};
    kymo__amount_add(&end, &extra->left);
    return end;
}

static inline struct kymo_heap_amount kymo__part_amount(const struct kymo_heap_part *part,
                                                        double variance)
{
    return (struct kymo_heap_amount){part->bytes, part->units, variance};
}

#endif
