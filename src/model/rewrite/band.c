/* band.c — see band.h.

   A line is a point: its value at FROM and its value at TO. Every limit is a half-plane of such
   points, and what is common to all of them is a convex polygon. It begins as the rectangle that
   each limit alone allows, given how fast clocks can drift, and is cut by one limit after another.
   Its extent in both directions is the result. */
#include "band.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"

struct point {
    double x, y;
};

struct polygon {
    struct point *points, *spare; /* in order; SPARE has the same room */
    size_t count;
};

/* Keep the points with A * x + B * y <= C. */
static void cut_polygon(struct polygon *p, double a, double b, double c)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->count; i++) {
        struct point one = p->points[i], two = p->points[i + 1 < p->count ? i + 1 : 0];
        double far = a * one.x + b * one.y - c, next = a * two.x + b * two.y - c;
        if (far <= 0)
            p->spare[kept++] = one;
        if ((far < 0 && next > 0) || (far > 0 && next < 0)) {
            double part = far / (far - next);
            p->spare[kept++] =
                (struct point){one.x + part * (two.x - one.x), one.y + part * (two.y - one.y)};
        }
    }
    struct point *swap = p->points;
    p->points = p->spare;
    p->spare = swap;
    p->count = kept;
}

/* What each limit alone allows at TIME. */
static void allow_alone(const struct kymo_limit *limits, size_t count, kymo_ns loose, kymo_ns time,
                        kymo_ns *least, kymo_ns *most)
{
    *least = INT64_MIN;
    *most = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        kymo_ns away = time > limits[i].at ? time - limits[i].at : limits[i].at - time;
        kymo_ns drift = loose + 1 + (kymo_ns)((double)away * KYMO__RATE_MOST);
        if (limits[i].upper && limits[i].value + drift < *most)
            *most = limits[i].value + drift;
        if (!limits[i].upper && limits[i].value - drift > *least)
            *least = limits[i].value - drift;
    }
}

static int extent_of(const struct polygon *p, kymo_ns base, struct kymo_band *band)
{
    if (!p->count)
        return -EDOM;
    struct point least = p->points[0], most = least;
    for (size_t i = 1; i < p->count; i++) {
        const struct point *q = &p->points[i];
        least.x = q->x < least.x ? q->x : least.x;
        least.y = q->y < least.y ? q->y : least.y;
        most.x = q->x > most.x ? q->x : most.x;
        most.y = q->y > most.y ? q->y : most.y;
    }
    /* A nanosecond more, for what was rounded. */
    band->least[0] = base + (kymo_ns)least.x - 1;
    band->least[1] = base + (kymo_ns)least.y - 1;
    band->most[0] = base + (kymo_ns)most.x + 1;
    band->most[1] = base + (kymo_ns)most.y + 1;
    return 1;
}

int kymo__band_fit(struct kymo_band *band, const struct kymo_limit *limits, size_t count,
                   kymo_ns loose)
{
    kymo_ns least[2], most[2];
    allow_alone(limits, count, loose, band->from, &least[0], &most[0]);
    allow_alone(limits, count, loose, band->to, &least[1], &most[1]);
    if (least[0] == INT64_MIN || most[0] == INT64_MAX)
        return 0;
    if (least[0] > most[0] || least[1] > most[1])
        return -EDOM;
    /* Every cut adds a point at most. */
    struct point *room = kymo__alloc(2 * (count + 8) * sizeof(*room));
    if (!room)
        return -ENOMEM;
    const kymo_ns base = least[0];
    double low[2] = {0, (double)(least[1] - base)};
    double high[2] = {(double)(most[0] - base), (double)(most[1] - base)};
    struct polygon p = {room, room + count + 8, 4};
    p.points[0] = (struct point){low[0], low[1]};
    p.points[1] = (struct point){high[0], low[1]};
    p.points[2] = (struct point){high[0], high[1]};
    p.points[3] = (struct point){low[0], high[1]};
    double span = (double)(band->to - band->from);
    span = span < 1 ? 1 : span;
    cut_polygon(&p, 1, -1, KYMO__RATE_MOST * span);
    cut_polygon(&p, -1, 1, KYMO__RATE_MOST * span);
    for (size_t i = 0; i < count; i++) {
        double part = (double)(limits[i].at - band->from) / span;
        double value = (double)(limits[i].value - base), sign = limits[i].upper ? 1 : -1;
        cut_polygon(&p, sign * (1 - part), sign * part, sign * value + (double)loose);
    }
    int rc = extent_of(&p, base, band);
    kymo__free(room);
    return rc;
}

/* A damaged file may have clocks that are centuries apart. */
static kymo_ns in_range(double ns)
{
    const double most = (double)(INT64_C(1) << 60);
    return (kymo_ns)(ns > most ? most : ns < -most ? -most : ns);
}

void kymo__band_at(const struct kymo_band *band, kymo_ns time, kymo_ns *least, kymo_ns *most)
{
    double span = (double)(band->to - band->from);
    double part = (double)(time - band->from) / (span < 1 ? 1 : span), rest = 1 - part;
    /* A line that is high at the near end may be low at the far one. */
    const kymo_ns *near = rest < 0 ? band->most : band->least;
    const kymo_ns *other = rest < 0 ? band->least : band->most;
    const kymo_ns base = band->least[0];
    double from = (double)(near[0] - base), from_most = (double)(other[0] - base);
    double to = (double)((part < 0 ? band->most : band->least)[1] - base);
    double to_most = (double)((part < 0 ? band->least : band->most)[1] - base);
    *least = base + in_range(rest * from + part * to) - 1;
    *most = base + in_range(rest * from_most + part * to_most) + 1;
}
