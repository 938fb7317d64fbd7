/* tracks.c — see tracks.h. */
#include "tracks.h"

#include <kymo/track.h>
#include <stdio.h>

#include "alloc.h"
#include "laneset.h"
#include "names.h"

static kymo_ns convert_ticks(const struct kymo_converter *self, uint64_t ticks)
{
    const struct kymo_tracks *tracks = (const void *)self;
    size_t hint = 0;
    return kymo__timebase_ns(&tracks->base, ticks, &hint);
}

int kymo__tracks_init(struct kymo_tracks *tracks, struct kymo_trackset *set)
{
    *tracks = (struct kymo_tracks){.set = set, .end = kymo__clock_snapshot()};
    tracks->converter = (struct kymo_converter){sizeof(tracks->converter), convert_ticks};
    /* This goes into the capture too, so that readers convert ticks in the same way. */
    kymo__names_snapshot(set->names, &tracks->end);
    set->names->clock_ended = true;
    return kymo__names_timebase(set->names, &tracks->base);
}

static struct kymo_track *track_of(struct kymo_tracks *t, const struct kymo_finished *event)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->tracks[i].tid == event->tid && t->tracks[i].device == event->device &&
            t->tracks[i].resource == event->resource)
            return &t->tracks[i].track;
    if (kymo__array_grow(&t->tracks, &t->capacity, t->count, sizeof(*t->tracks)) < 0)
        return NULL;
    char name[64] = "";
    if (event->device >= 0)
        snprintf(name, sizeof(name), "device %d resource %u", event->device, event->resource);
    const struct kymo_track_options options = {
        .name = name,
        .tid = event->tid,
        .device = event->device,
        .stream = event->resource,
        .clock = KYMO_TRACK_NS,
    };
    struct kymo_tracer_track *track = &t->tracks[t->count];
    *track = (struct kymo_tracer_track){
        .tid = event->tid, .device = event->device, .resource = event->resource};
    if (kymo__track_open(t->set, &options, &track->track) < 0)
        return NULL;
    t->count++;
    return &track->track;
}

void kymo__tracks_finish(void *arg, const struct kymo_finished *event)
{
    struct kymo_tracks *t = arg;
    struct kymo_track *track = track_of(t, event);
    uint32_t key = track ? kymo__names_text(t->set->names, event->name) : 0;
    const struct kymo_pen_event written = {
        .start = event->start > 0 ? (uint64_t)event->start : 0,
        .length = event->end > event->start ? (uint64_t)(event->end - event->start) : 0,
        .key = key,
    };
    if (!key || kymo__pen_write(&t->set->pens, &t->pen, track, &written))
        t->lost++;
}

void kymo__tracks_fini(struct kymo_tracks *t, uint64_t lost)
{
    lost += t->lost;
    if (lost && !t->count) /* no track to record the loss on: make one */
        track_of(t, &(struct kymo_finished){.name = "", .device = -1});
    if (lost && t->count) {
        /* Their tracks are unknown: they are counted once, on the first. */
        struct kymo_gap_slot gap = {
            .thread = t->tracks[0].track.thread + 1,
            .reason = KYMO_GAP_BUDGET,
            .count = lost,
            .first_ticks = t->set->lanes->started.ticks,
            .last_ticks = t->end.ticks,
        };
        kymo__gap_record(t->set->lanes, &gap);
    }
    kymo__pen_lift(t->set->pens.pool, &t->pen);
    kymo__timebase_fini(&t->base);
    kymo__free(t->tracks);
}
