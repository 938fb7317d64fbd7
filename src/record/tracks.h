/* tracks.h — writes a tracer's finished events into the capture.

   Each thread, device and resource that they name becomes a track, on the clock CLOCK_MONOTONIC. */
#ifndef KYMO_TRACKS_H
#define KYMO_TRACKS_H

#include <kymo/source.h>

#include "clock.h"
#include "timebase.h"
#include "trackset.h"

struct kymo_tracks {
    struct kymo_converter converter; /* first: the source passes it back to us */
    struct kymo_trackset *set;
    struct kymo_timebase base; /* as readers will see it */
    struct kymo_snapshot end;
    struct kymo_pen pen;
    struct kymo_tracer_track {
        uint64_t tid;
        int32_t device;
        uint32_t resource;
        struct kymo_track track;
    } * tracks;
    size_t count, capacity;
    uint64_t lost; /* events for which there was no room */
};

/* Set up with the clock so far of the session whose tracks are SET. 0 or -ENOMEM. */
int kymo__tracks_init(struct kymo_tracks *tracks, struct kymo_trackset *set);

/* Takes one event; ARG is the tracks. */
kymo_finish_fn kymo__tracks_finish;

/* Hand the last chunk over and free. LOST counts entries that never became events. */
void kymo__tracks_fini(struct kymo_tracks *tracks, uint64_t lost);

#endif
