/* tracks.c — see tracks.h. */
#include "tracks.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "local.h"

static kymo_ns convert(const struct kymo_converter *self, uint64_t ticks)
{
    const struct kymo_tracks *tracks = (const void *)self;
    size_t hint = 0;
    return kymo__timebase_ns(&tracks->base, ticks, &hint);
}

int kymo__tracks_init(struct kymo_tracks *tracks, struct kymo_session *s)
{
    *tracks = (struct kymo_tracks){.session = s, .end = kymo__clock_snapshot()};
    tracks->converter = (struct kymo_converter){sizeof(tracks->converter), convert};
    const struct kymo_snapshot both[] = {s->started, tracks->end};
    return kymo__timebase_init(&tracks->base, both, 2, 0);
}

static struct kymo_track *track_of(struct kymo_tracks *t, const struct kymo_finished *event)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->tracks[i].tid == event->tid && t->tracks[i].device == event->device &&
            t->tracks[i].resource == event->resource)
            return &t->tracks[i];
    if (kymo__array_grow(&t->tracks, &t->capacity, t->count, sizeof(*t->tracks)) < 0)
        return NULL;
    struct kymo_names *names = &t->session->names;
    struct kymo_track *track = &t->tracks[t->count++];
    *track = (struct kymo_track){
        .tid = event->tid,
        .device = event->device,
        .resource = event->resource,
        .thread = kymo__add_relaxed(&t->session->threads, 1u),
    };
    char name[64];
    snprintf(name, sizeof(name), "device %d resource %u", event->device, event->resource);
    const uint64_t numbers[] = {track->thread, track->tid, t->session->started.ticks,
                                event->device < 0 ? 0 : kymo__names_string(names, name, NULL)};
    kymo__names_define(names, KYMO__DEF_THREAD, numbers);
    return track;
}

static void hand_over(struct kymo_tracks *t, struct kymo_track *track)
{
    if (track->chunk)
        kymo__pool_give(t->session, track->chunk);
    track->chunk = NULL;
    track->used = 0;
}

void kymo__tracks_finish(void *arg, const struct kymo_finished *event)
{
    struct kymo_tracks *t = arg;
    struct kymo_track *track = track_of(t, event);
    if (!track)
        return;
    if (track->chunk && track->used + 2 > KYMO__CHUNK_RECORDS)
        hand_over(t, track);
    int reason;
    if (!track->chunk && (track->chunk = kymo__pool_take(t->session, &reason))) {
        track->chunk->type = KYMO__BLOCK_RECORDS;
        track->chunk->thread = track->thread;
        track->chunk->number = track->number++;
        kymo__store_release(&track->chunk->state, (uint32_t)KYMO__CHUNK_OPEN);
    }
    const char *kept = NULL;
    uint32_t key = 0;
    if (track->chunk && kymo__names_string(&t->session->names, event->name, &kept))
        key = kymo__names_add(&t->session->names, kept);
    if (!key) {
        track->lost++;
        return;
    }
    struct kymo_record *at = &track->chunk->records[track->used];
    kymo_ns duration = event->end > event->start ? event->end - event->start : 0;
    kymo_lane_store(at, kymo__timebase_ticks(&t->base, event->start),
                    kymo_word(KYMO_COMPLETE, 0, key));
    kymo_lane_store(at + 1, (uint64_t)duration, KYMO_VALUE_WORD);
    track->used += 2;
}

void kymo__tracks_fini(struct kymo_tracks *t, uint64_t lost)
{
    if (lost && !t->count) /* there is no track to tell it on: make one */
        track_of(t, &(struct kymo_finished){.name = "", .device = -1});
    for (size_t i = 0; i < t->count; i++) {
        hand_over(t, &t->tracks[i]);
        struct kymo_gap_slot gap = {
            .thread = t->tracks[i].thread + 1,
            .reason = KYMO_GAP_BUDGET,
            .count = t->tracks[i].lost + lost,
            .first_ticks = t->session->started.ticks,
            .last_ticks = t->end.ticks,
        };
        lost = 0; /* which track they were for is not known: told once, on the first */
        kymo__gap_record(t->session, &gap);
    }
    kymo__timebase_fini(&t->base);
    kymo__free(t->tracks);
}
