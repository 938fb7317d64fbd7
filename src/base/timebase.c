/* timebase.c — see timebase.h. */
#include "timebase.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

/* Enough for nanosecond accuracy over a segment of a day. */
#define SCALE_BITS 50
#define SCALE_MOST (UINT64_C(1) << 62) /* a product with 65 bits of ticks fits 128 */

/* No real uptime is longer; within this limit a sum of two does not overflow. */
#define NS_MOST ((INT64_C(1) << 62) - 1)

/* Plausible ticks per second; outside, the rate counts as unknown. */
#define RATE_LEAST 1e6
#define RATE_MOST 1e12

typedef __int128 wide;

static int by_ticks(const void *a, const void *b)
{
    const struct kymo_snapshot *x = a, *y = b;
    return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

static uint64_t scale_between(const struct kymo_snapshot *a, const struct kymo_snapshot *b)
{
    wide scale = ((wide)(b->monotonic - a->monotonic) << SCALE_BITS) / (wide)(b->ticks - a->ticks);
    return scale < (wide)SCALE_MOST ? (uint64_t)scale : SCALE_MOST;
}

static int64_t in_range(wide ns)
{
    return ns > NS_MOST ? NS_MOST : ns < -NS_MOST ? -NS_MOST : (int64_t)ns;
}

/* Keep the snapshots along which both clocks advance. Two very close ones say little about the
   rate, because each is off by some tens of nanoseconds: keep the earlier of such a pair, or at the
   end the later, so that no segment used for extrapolation is short. */
static size_t plausible(struct kymo_snapshot *s, size_t count)
{
    const int64_t apart = 50000000;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (s[i].monotonic < 0 || s[i].monotonic > NS_MOST)
            continue;
        if (kept && (s[i].ticks <= s[kept - 1].ticks || s[i].monotonic <= s[kept - 1].monotonic))
            continue;
        bool close = kept && s[i].monotonic - s[kept - 1].monotonic < apart;
        if (close && i + 1 < count)
            continue;
        if (close && kept > 1)
            kept--;
        s[kept++] = s[i];
    }
    return kept;
}

int kymo__timebase_init(struct kymo_timebase *base, const struct kymo_snapshot *snapshots,
                        size_t count, double rate)
{
    rate = rate >= RATE_LEAST && rate <= RATE_MOST ? rate : 1e9;
    *base = (struct kymo_timebase){.ticks_per_second = rate};
    struct kymo_snapshot *sorted = kymo__alloc(sizeof(*sorted) * (count + 1));
    base->segments = kymo__alloc(sizeof(*base->segments) * (count + 1));
    if (!sorted || !base->segments) {
        kymo__free(sorted);
        kymo__timebase_fini(base);
        return -ENOMEM;
    }
    if (count)
        memcpy(sorted, snapshots, sizeof(*sorted) * count);
    qsort(sorted, count, sizeof(*sorted), by_ticks);
    count = plausible(sorted, count);
    if (count > 1)
        base->ticks_per_second = (double)(sorted[count - 1].ticks - sorted[0].ticks) * 1e9 /
                                 (double)(sorted[count - 1].monotonic - sorted[0].monotonic);
    uint64_t scale = (uint64_t)(1e9 / rate * (double)(UINT64_C(1) << SCALE_BITS));
    if (!count)
        sorted[count++] = (struct kymo_snapshot){0};
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count)
            scale = scale_between(&sorted[i], &sorted[i + 1]);
        base->segments[i] = (struct kymo_segment){sorted[i].ticks, sorted[i].monotonic, scale};
    }
    base->wall_offset = in_range((wide)sorted[0].wall - sorted[0].monotonic);
    base->count = count;
    kymo__free(sorted);
    return 0;
}

void kymo__timebase_fini(struct kymo_timebase *base)
{
    kymo__free(base->segments);
    base->segments = NULL;
    base->count = 0;
}

/* The last segment that starts at or before TICKS, or the first. */
static size_t segment_at(const struct kymo_timebase *base, uint64_t ticks)
{
    size_t low = 0, high = base->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (base->segments[middle].ticks <= ticks)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int64_t kymo__timebase_ns(const struct kymo_timebase *base, uint64_t ticks, size_t *hint)
{
    size_t i = *hint;
    if (i >= base->count || ticks < base->segments[i].ticks ||
        (i + 1 < base->count && ticks >= base->segments[i + 1].ticks))
        *hint = i = segment_at(base, ticks);
    const struct kymo_segment *s = &base->segments[i];
    wide delta = ticks >= s->ticks ? (wide)(ticks - s->ticks) : -(wide)(s->ticks - ticks);
    return in_range(s->monotonic + ((delta * (wide)s->scale) >> SCALE_BITS));
}

uint64_t kymo__timebase_ticks(const struct kymo_timebase *base, int64_t ns)
{
    size_t i = 0;
    while (i + 1 < base->count && base->segments[i + 1].monotonic <= ns)
        i++;
    const struct kymo_segment *s = &base->segments[i];
    if (!s->scale)
        return s->ticks;
    /* ceil((ns - monotonic) / scale), so that converting back gives >= ns. */
    wide delta = ((wide)ns - s->monotonic) * ((wide)1 << SCALE_BITS);
    wide ticks = delta / (wide)s->scale;
    if (delta > 0 && delta % (wide)s->scale)
        ticks++;
    ticks += (wide)s->ticks;
    /* A segment's last tick may fall short of the next one's first nanosecond. */
    if (i + 1 < base->count && ticks > (wide)s[1].ticks)
        return s[1].ticks;
    if (ticks < 0)
        return 0;
    return ticks > (wide)UINT64_MAX ? UINT64_MAX : (uint64_t)ticks;
}
