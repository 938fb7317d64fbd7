/* tracks.h — finished events of a tracer, on their way into the capture.

   Each thread, device and resource that they name becomes a track: a thread of the
   capture that was never a thread of the process. */
#ifndef KYMO_TRACKS_H
#define KYMO_TRACKS_H

#include <kymo/source.h>

#include "session.h"
#include "timebase.h"

struct kymo_tracks {
    struct kymo_converter converter; /* first: the source gives it back to us */
    struct kymo_session *session;
    struct kymo_timebase base;
    struct kymo_snapshot end;
    struct kymo_track {
        uint64_t tid;
        int32_t device;
        uint32_t resource, thread;
        uint64_t number; /* of its next chunk */
        uint64_t lost;
        struct kymo_chunk *chunk;
        size_t used;
    } * tracks;
    size_t count, capacity;
};

/* Set up with the session's clock so far. 0 or -ENOMEM. */
int kymo__tracks_init(struct kymo_tracks *tracks, struct kymo_session *s);

/* Takes one event; ARG is the tracks. */
kymo_finish_fn kymo__tracks_finish;

/* Hand the last chunks over and free. LOST entries never became events. */
void kymo__tracks_fini(struct kymo_tracks *tracks, uint64_t lost);

#endif
