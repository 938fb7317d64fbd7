/* hostclock.c — see hostclock.h. */
#include "hostclock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* At this error the kernel gives up: it is a limit, not a bound. */
#define LIMIT_US 16000000

/* The kernel lets the greatest error grow by 500 ppm while nobody corrects the clock. */
#define GROWTH 2000

/* Drift over less time says nothing: a snapshot is off by some tens of nanoseconds. Nor does a
   smaller distance: it may be such errors. */
#define DRIFT_LEAST 1000000000
#define DISTANCE_LEAST 10000

/* A clock that moves faster is not corrected, but set, which a line cannot describe. */
#define DRIFT_MOST 0.01

/* A clock that was further from running steadily was set. */
#define BENT_MOST 1000000000

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
        most = sum(most, distance(clock->end, clock->begin) / GROWTH);
    }
    if (most < LIMIT_US * INT64_C(1000))
        clock->most = most;
    else
        clock->sync = KYMO__SYNC_NO;
}

/* ---- the wall clock against the monotonic clock ---- */

/* How far snapshots are from a line, in both directions. */
struct residue {
    kymo_ns least, most;
};

static kymo_ns offset_of(const struct kymo_snapshot *s)
{
    return in_range((wide)s->wall - s->monotonic);
}

/* The distance of all snapshots from the line that begins at AT with FIRST and grows by DRIFT. */
static struct residue residue_of(const struct kymo_reader *r, kymo_ns at, kymo_ns first,
                                 double drift)
{
    struct residue found = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < r->snapshot_count; i++) {
        const struct kymo_snapshot *s = &r->snapshots[i];
        double grown = drift * (double)in_range((wide)s->monotonic - at);
        kymo_ns left = in_range((wide)offset_of(s) - first - (wide)grown);
        found.least = left < found.least ? left : found.least;
        found.most = left > found.most ? left : found.most;
    }
    return found;
}

/* Put the line in the middle of what is around it. */
static void set_line(struct kymo_hostclock *clock, kymo_ns first, double drift,
                     const struct residue *around)
{
    kymo_ns middle = in_range(((wide)around->least + around->most) / 2);
    clock->wall_offset = sum(first, middle);
    clock->wall_drift = drift;
    kymo_ns below = distance(middle, around->least), above = distance(around->most, middle);
    clock->spread = below > above ? below : above;
}

/* The clock was usually left alone; if it was moved, then perhaps all the time. */
static void fit_line(const struct kymo_reader *r, struct kymo_hostclock *clock)
{
    const struct kymo_snapshot *one = NULL, *last = NULL;
    for (size_t i = 0; i < r->snapshot_count; i++) {
        const struct kymo_snapshot *s = &r->snapshots[i];
        one = !one || s->monotonic < one->monotonic ? s : one;
        last = !last || s->monotonic >= last->monotonic ? s : last;
    }
    if (!one)
        return;
    clock->begin = one->monotonic;
    clock->end = last->monotonic;
    kymo_ns first = offset_of(one), lasted = distance(clock->end, clock->begin);
    struct residue still = residue_of(r, clock->begin, first, 0);
    clock->moved = -still.least > still.most ? -still.least : still.most;
    set_line(clock, first, 0, &still);
    double drift = (double)in_range((wide)offset_of(last) - first) / ((double)lasted + 1);
    if (lasted < DRIFT_LEAST || clock->spread < DISTANCE_LEAST || drift > DRIFT_MOST ||
        drift < -DRIFT_MOST)
        return;
    struct residue moving = residue_of(r, clock->begin, first, drift);
    if (distance(moving.most, moving.least) < distance(still.most, still.least) / 2)
        set_line(clock, first, drift, &moving);
}

/* The corrections of the clock show against the counter, unless that is the clock itself. */
static kymo_ns bend_of(const struct kymo_reader *r)
{
    const size_t count = r->snapshot_count;
    if (r->header.clock == KYMO_CLOCK_MONOTONIC || count < 2)
        return -1;
    const struct kymo_snapshot *one = &r->snapshots[0], *last = &r->snapshots[count - 1];
    if (last->ticks <= one->ticks)
        return -1;
    double rate = (double)in_range((wide)last->monotonic - one->monotonic) /
                  (double)(last->ticks - one->ticks);
    kymo_ns most = 0;
    for (size_t i = 0; i < count; i++) {
        const struct kymo_snapshot *s = &r->snapshots[i];
        double since = ((double)s->ticks - (double)one->ticks) * rate;
        kymo_ns far = distance(s->monotonic, in_range((wide)one->monotonic + (wide)since));
        most = far > most ? far : most;
    }
    return most < BENT_MOST ? most : -1;
}

void kymo__hostclock_read(const struct kymo_capture *capture, struct kymo_hostclock *clock)
{
    const struct kymo_reader *r = capture->reader;
    *clock = (struct kymo_hostclock){
        .wall_offset = capture->base.wall_offset, .most = -1, .estimate = -1};
    memcpy(clock->boot, r->header.boot, sizeof(clock->boot));
    fit_line(r, clock);
    clock->bent = bend_of(r);
    read_errors(capture, clock);
}

bool kymo__hostclock_same_boot(const struct kymo_hostclock *a, const struct kymo_hostclock *b)
{
    static const uint8_t unknown[16];
    return memcmp(a->boot, b->boot, 16) == 0 && memcmp(a->boot, unknown, 16) != 0;
}

/* ---- several recordings of one host ---- */

static kymo_ns line_at(const struct kymo_hostclock *clock, kymo_ns time)
{
    double grown = clock->wall_drift * (double)in_range((wide)time - clock->begin);
    return sum(clock->wall_offset, in_range((wide)grown));
}

/* How far LINE is from the wall clock of OTHER while that was recorded, at most. */
static kymo_ns furthest(const struct kymo_hostclock *line, const struct kymo_hostclock *other)
{
    kymo_ns begin = distance(line_at(line, other->begin), line_at(other, other->begin));
    kymo_ns end = distance(line_at(line, other->end), line_at(other, other->end));
    return sum(begin > end ? begin : end, other->spread);
}

void kymo__hostclock_extend(struct kymo_hostclock *clock, const struct kymo_hostclock *more)
{
    struct kymo_hostclock both = *clock;
    const struct kymo_hostclock *other = more;
    if (distance(more->end, more->begin) > distance(clock->end, clock->begin)) {
        both = *more;
        other = clock;
    }
    kymo_ns far = furthest(&both, other);
    both.spread = far > both.spread ? far : both.spread;
    kymo_ns begin = other->begin < both.begin ? other->begin : both.begin;
    both.wall_offset = line_at(&both, begin);
    both.begin = begin;
    both.end = other->end > both.end ? other->end : both.end;
    both.moved = other->moved > both.moved ? other->moved : both.moved;
    /* Between two recordings, nobody saw it. */
    bool apart = more->end < clock->begin || clock->end < more->begin;
    both.bent = both.bent < 0 || other->bent < 0 || apart ? -1
                : other->bent > both.bent                 ? other->bent
                                                          : both.bent;
    both.most = both.most < 0 || other->most < 0 ? -1
                : other->most > both.most        ? other->most
                                                 : both.most;
    if (both.sync != KYMO__SYNC_NO && other->sync != KYMO__SYNC_YES)
        both.sync = other->sync;
    *clock = both;
}

/* ---- two hosts ---- */

kymo_ns kymo__relation_time(const struct kymo_relation *relation, kymo_ns time)
{
    double more = (double)((wide)time - relation->at) * relation->drift / 1e9;
    return in_range((wide)time + relation->shift + (wide)more);
}

struct kymo_relation kymo__relation_from(struct kymo_relation relation, kymo_ns at)
{
    relation.shift = in_range((wide)kymo__relation_time(&relation, at) - at);
    relation.at = at;
    return relation;
}

/* What the line of CLOCK says outside of its recording, which is from its clock's FROM to TO,
   changes by this at most if the clock was left alone there. */
static kymo_ns beyond(const struct kymo_hostclock *clock, kymo_ns from, kymo_ns to)
{
    kymo_ns before = from < clock->begin ? distance(from, clock->begin) : 0;
    kymo_ns after = to > clock->end ? distance(to, clock->end) : 0;
    double drift = clock->wall_drift < 0 ? -clock->wall_drift : clock->wall_drift;
    return in_range((wide)(drift * (double)(before > after ? before : after)));
}

/* Both have one wall clock, W: W = time + offset + drift * (time - begin) on each. */
static void relate_lines(const struct kymo_hostclock *first, const struct kymo_hostclock *clock,
                         struct kymo_relation *relation)
{
    double one = first->wall_drift, two = clock->wall_drift;
    kymo_ns apart =
        in_range((wide)clock->begin + clock->wall_offset - first->begin - first->wall_offset);
    wide since = (wide)apart - (wide)((double)apart * one / (1 + one));
    relation->at = clock->begin;
    relation->shift = in_range((wide)first->begin + since - clock->begin);
    relation->drift = ((1 + two) / (1 + one) - 1) * 1e9;
    relation->error = sum(first->spread, clock->spread);
    kymo_ns from = kymo__relation_time(relation, clock->begin);
    kymo_ns to = kymo__relation_time(relation, clock->end);
    relation->error = sum(relation->error, beyond(first, from, to));
}

struct kymo_relation kymo__hostclock_relate(const struct kymo_hostclock *first,
                                            const struct kymo_hostclock *clock, bool wall)
{
    struct kymo_relation relation = {.how = KYMO__RELATED_MONOTONIC, .sync = KYMO__SYNC_YES};
    bool same = kymo__hostclock_same_boot(first, clock);
    if (same && !wall)
        return relation;
    relation.how = KYMO__RELATED_WALL;
    relation.drift_error = -1;
    relate_lines(first, clock, &relation);
    kymo_ns lasted = distance(clock->end, clock->begin);
    bool drifts = lasted >= DRIFT_LEAST;
    if (same) {
        relation.drift_error = drifts ? 0 : -1;
        return relation;
    }
    relation.sync = first->sync == KYMO__SYNC_NO || clock->sync == KYMO__SYNC_NO ? KYMO__SYNC_NO
                    : first->sync && clock->sync                                 ? KYMO__SYNC_YES
                                                 : KYMO__SYNC_UNKNOWN;
    relation.error = first->most < 0 || clock->most < 0
                         ? -1
                         : sum(relation.error, sum(first->most, clock->most));
    /* A time is within its error at the beginning and at the end. */
    if (drifts && relation.error >= 0)
        relation.drift_error = 2e9 * (double)relation.error / (double)lasted;
    return relation;
}
