/* track.c — tracks as sources use them: kymo/track.h. */
#include <kymo/track.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "claimed.h"
#include "laneset.h"
#include "local.h"
#include "local_parts.h"
#include "schemas.h"
#include "trackset.h"
#include "varint.h"

enum { CLOCKS_MOST = 254, FIRST_CLOCK = 2 };

/* ---- clocks ---- */

int kymo_clock_open(const char *name, uint64_t rate)
{
    struct kymo_claimed claimed;
    const struct kymo_running *s = kymo__claim_names(&claimed);
    if (!s)
        return KYMO_EIDLE;
    uint32_t number = kymo__add_relaxed(&s->tracks->clocks, 1u);
    int rc = number < CLOCKS_MOST ? 0 : -ENOSPC;
    if (rc == 0)
        rc = kymo__names_define(
            s->names, KYMO__DEF_TRACK_CLOCK,
            (const uint64_t[]){number + FIRST_CLOCK,
                               kymo__names_string(s->names, name ? name : "", NULL), rate});
    else
        kymo__add_relaxed(&s->tracks->clocks, (uint32_t)-1);
    kymo__names_done(&claimed);
    return rc < 0 ? -ENOSPC : (int)number + FIRST_CLOCK;
}

static bool is_clock(const struct kymo_trackset *set, int clock)
{
    return clock >= 0 && (uint32_t)clock < FIRST_CLOCK + kymo__load_relaxed(&set->clocks);
}

int kymo_clock_snapshot(int clock, uint64_t time, kymo_ns monotonic)
{
    struct kymo_claimed claimed;
    const struct kymo_running *s = kymo__claim_names(&claimed);
    if (!s)
        return KYMO_EIDLE;
    int rc = clock >= FIRST_CLOCK && is_clock(s->tracks, clock) ? 0 : -EINVAL;
    if (rc == 0)
        rc = kymo__names_define(s->names, KYMO__DEF_TRACK_TIME,
                                (const uint64_t[]){(uint64_t)clock, time, (uint64_t)monotonic});
    kymo__names_done(&claimed);
    return rc == -EINVAL || rc == 0 ? rc : -ENOSPC;
}

/* ---- tracks ---- */

/* The index of process PID in the capture. */
static uint32_t process_of(struct kymo_trackset *set, uint64_t pid)
{
    if (!pid || pid == (uint64_t)getpid())
        return 0;
    kymo__lock(&set->pens.lock);
    uint32_t i = 0, most = sizeof(set->processes) / sizeof(set->processes[0]);
    while (i < most && set->processes[i] && set->processes[i] != pid)
        i++;
    bool fresh = i < most && !set->processes[i];
    if (fresh)
        set->processes[i] = pid;
    kymo__unlock(&set->pens.lock);
    if (fresh)
        kymo__names_define(set->names, KYMO__DEF_PROCESS, (const uint64_t[]){i + 1, pid, 0, 0});
    return i < most ? i + 1 : 0;
}

static int define_correlation(struct kymo_trackset *set)
{
    static const struct kymo_field field = {"correlation", KYMO_FIELD_ID};
    uint32_t key;
    int number = kymo__schemas_define(set->schemas, set->names, "correlation", &field, 1, &key);
    if (number < 0)
        return number;
    set->pens.correlation =
        (struct kymo_schema){.key = key, .number = (uint32_t)number, .session = set->lanes->number};
    return 0;
}

int kymo__track_open(struct kymo_trackset *set, const struct kymo_track_options *o,
                     struct kymo_track *track)
{
    char made[64];
    snprintf(made, sizeof(made), "device %d stream %llu", o->device, (unsigned long long)o->stream);
    int rc = kymo__pens_prepare(&set->pens);
    if (rc == 0)
        rc = define_correlation(set);
    if (rc < 0)
        return rc;
    const char *name = o->name ? o->name : made;
    *track = (struct kymo_track){.session = set->lanes->number,
                                 .thread = kymo__laneset_index(set->lanes)};
    struct kymo_def def = {
        .type = KYMO__DEF_THREAD,
        .number = {track->thread, o->tid, set->lanes->started.ticks,
                   *name ? kymo__names_string(set->names, name, NULL) : 0,
                   process_of(set, o->process)},
    };
    rc = kymo__names_put(set->names, &def);
    if (rc == 0)
        rc = kymo__names_define(set->names, KYMO__DEF_TRACK,
                                (const uint64_t[]){track->thread, kymo__zigzag(o->device),
                                                   o->stream, (uint64_t)o->clock});
    return rc < 0 ? -ENOSPC : 0;
}

int kymo_track_open(const struct kymo_track_options *options, struct kymo_track **track)
{
    struct kymo_track_options o = {.device = -1};
    if (!options || !track || options->size < sizeof(size_t))
        return -EINVAL;
    memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
    struct kymo_track *made = kymo__alloc(sizeof(*made));
    if (!made)
        return -ENOMEM;
    struct kymo_claimed claimed;
    const struct kymo_running *s = kymo__claim_names(&claimed);
    int rc = s ? 0 : KYMO_EIDLE;
    if (rc == 0 && !is_clock(s->tracks, o.clock))
        rc = -EINVAL;
    if (rc == 0)
        rc = kymo__track_open(s->tracks, &o, made);
    if (s)
        kymo__names_done(&claimed);
    if (rc < 0)
        kymo__free(made);
    else
        *track = made;
    return rc;
}

void kymo_track_close(struct kymo_track *track)
{
    kymo__free(track);
}

int kymo_track_write(struct kymo_track *track, const struct kymo_track_event *event)
{
    struct kymo_track_event e = {0};
    if (!track || !event || event->size < offsetof(struct kymo_track_event, correlation))
        return -EINVAL;
    memcpy(&e, event, event->size < sizeof(e) ? event->size : sizeof(e));
    if (e.schema && !e.payload)
        return -EINVAL;
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 0);
    if (kymo__unlikely(!at))
        return KYMO_EIDLE;
    const struct kymo_running *s = kymo__running_now();
    if (s && kymo__unlikely(lane->session != track->session) && !kymo__inside)
        at = kymo__lane_join(lane, at, s->lanes);
    if (kymo__unlikely(!s || lane->session != track->session)) {
        kymo_lane_release(lane, at);
        return KYMO_EIDLE;
    }
    bool usable = e.schema && !e.payload->over && e.payload->used <= KYMO_PAYLOAD_MOST &&
                  e.schema->session == track->session;
    struct kymo_pen_event written = {
        .start = e.start,
        .length = e.end > e.start ? e.end - e.start : 0,
        .key = e.key,
        .correlation = e.correlation,
        .schema = usable ? e.schema : NULL,
        .payload = e.payload,
    };
    struct kymo_local *local = (struct kymo_local *)lane;
    int reason = kymo__pen_write(&s->tracks->pens, &local->pen, track, &written);
    if (kymo__unlikely(reason)) {
        kymo_lane_drop(lane, at, 1, reason);
        return -ENOSPC;
    }
    if (kymo__unlikely(e.schema && !usable))
        kymo_lane_drop(lane, at, 1, KYMO_GAP_PAYLOAD);
    else
        kymo_lane_release(lane, at);
    return 0;
}
