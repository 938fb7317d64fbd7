/* hostclock.c — see hostclock.h. */
#include "hostclock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* At this error the kernel gives up: it is a limit, not a bound. */
#define LIMIT_US 16000000

/* The kernel lets the greatest error grow by 500 ppm while nobody corrects the clock. */
#define GROWTH 2000

/* Drift over less time says nothing: a snapshot is off by some tens of nanoseconds. */
#define DRIFT_LEAST 1000000000

typedef __int128 wide;

static kymo_ns in_range(wide ns)
{
    const kymo_ns most = (INT64_C(1) << 62) - 1;
    return ns > most ? most : ns < -most ? -most : (kymo_ns)ns;
}

static kymo_ns sum(kymo_ns a, kymo_ns b)
{
    return in_range((wide)a + b);
}

static kymo_ns distance(kymo_ns a, kymo_ns b)
{
    return in_range(a > b ? (wide)a - b : (wide)b - a);
}

struct reading {
    int synchronised;
    int64_t most_us, estimate_us;
};

/* Read the metadata KEY or, in a merged capture, that of its first part. */
static bool read_error(const struct kymo_capture *capture, const char *key, struct reading *out)
{
    const char *found, *value;
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &found, &value) == 0; i++) {
        if (strncmp(found, "0.", 2) == 0)
            found += 2;
        struct reading r;
        if (strcmp(found, key) == 0 &&
            sscanf(value, "synchronised=%1d max_error_us=%15" SCNd64 " est_error_us=%15" SCNd64,
                   &r.synchronised, &r.most_us, &r.estimate_us) == 3 &&
            r.most_us >= 0 && r.estimate_us >= 0) {
            *out = r;
            return true;
        }
    }
    return false;
}

/* The error while recording. If the end was not noted, let it grow until then as the kernel does. */
static void read_errors(const struct kymo_capture *capture, struct kymo_hostclock *clock)
{
    struct reading start, stop;
    if (!read_error(capture, "wall_clock.start", &start))
        return;
    clock->sync = start.synchronised ? KYMO__SYNC_YES : KYMO__SYNC_NO;
    clock->estimate = start.estimate_us * 1000;
    kymo_ns most = start.most_us * 1000;
    if (read_error(capture, "wall_clock.stop", &stop)) {
        if (!stop.synchronised)
            clock->sync = KYMO__SYNC_NO;
        if (stop.most_us * 1000 > most)
            most = stop.most_us * 1000;
    } else {
        most = sum(most, clock->lasted / GROWTH);
    }
    if (most < LIMIT_US * INT64_C(1000))
        clock->most = most;
    else
        clock->sync = KYMO__SYNC_NO;
}

void kymo__hostclock_read(const struct kymo_capture *capture, struct kymo_hostclock *clock)
{
    const struct kymo_reader *r = capture->reader;
    *clock = (struct kymo_hostclock){
        .wall_offset = capture->base.wall_offset, .most = -1, .estimate = -1};
    memcpy(clock->boot, r->header.boot, sizeof(clock->boot));
    kymo_ns first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < r->snapshot_count; i++) {
        const struct kymo_snapshot *s = &r->snapshots[i];
        kymo_ns offset = in_range((wide)s->wall - s->monotonic);
        kymo_ns far = distance(offset, clock->wall_offset);
        clock->spread = far > clock->spread ? far : clock->spread;
        first = s->monotonic < first ? s->monotonic : first;
        if (s->monotonic >= last) {
            last = s->monotonic;
            clock->moved = in_range((wide)offset - clock->wall_offset);
        }
    }
    clock->lasted = last > first ? distance(last, first) : 0;
    read_errors(capture, clock);
}

bool kymo__hostclock_same_boot(const struct kymo_hostclock *a, const struct kymo_hostclock *b)
{
    static const uint8_t unknown[16];
    return memcmp(a->boot, b->boot, 16) == 0 && memcmp(a->boot, unknown, 16) != 0;
}

/* Both wall clocks are within their errors at the start and at the end. */
static void relate_drift(const struct kymo_hostclock *first, const struct kymo_hostclock *clock,
                         bool same, struct kymo_relation *relation)
{
    if (first->lasted < DRIFT_LEAST || clock->lasted < DRIFT_LEAST)
        return;
    double one = 1e9 / (double)first->lasted, two = 1e9 / (double)clock->lasted;
    relation->drift = (double)clock->moved * two - (double)first->moved * one;
    if (same)
        relation->drift_error = 0;
    else if (first->most >= 0 && clock->most >= 0)
        relation->drift_error = 2 * ((double)first->most * one + (double)clock->most * two);
}

struct kymo_relation kymo__hostclock_relate(const struct kymo_hostclock *first,
                                            const struct kymo_hostclock *clock, bool wall)
{
    struct kymo_relation relation = {.how = KYMO__RELATED_MONOTONIC, .sync = KYMO__SYNC_YES};
    bool same = kymo__hostclock_same_boot(first, clock);
    if (same && !wall)
        return relation;
    relation.how = KYMO__RELATED_WALL;
    relation.shift = clock->wall_offset - first->wall_offset;
    relation.error = sum(first->spread, clock->spread);
    relation.drift_error = -1;
    relate_drift(first, clock, same, &relation);
    if (same)
        return relation;
    relation.sync = first->sync == KYMO__SYNC_NO || clock->sync == KYMO__SYNC_NO ? KYMO__SYNC_NO
                    : first->sync && clock->sync                                 ? KYMO__SYNC_YES
                                                 : KYMO__SYNC_UNKNOWN;
    relation.error = first->most < 0 || clock->most < 0
                         ? -1
                         : sum(relation.error, sum(first->most, clock->most));
    return relation;
}

void kymo__order_add(struct kymo_order *order, const struct kymo_hostclock *clock)
{
    kymo_ns error = clock->most < 0 ? 0 : sum(clock->most, clock->spread);
    bool same = order->any && kymo__hostclock_same_boot(&order->worst, clock);
    order->hosts |= order->any && !same;
    order->unsynchronised |= clock->sync == KYMO__SYNC_NO;
    order->unknown |= clock->most < 0;
    if (!order->any || error > order->worst_error) {
        if (order->any && !same)
            order->next_error = order->worst_error;
        order->worst = *clock;
        order->worst_error = error;
    } else if (!same && error > order->next_error) {
        order->next_error = error;
    }
    order->any = true;
}
