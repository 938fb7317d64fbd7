/* pen.h — chunks of finished events, shared by many tracks.

   Each writer of track events has a pen: one chunk, however many tracks it writes to. A TRACK
   record before the events says which track they belong to and how many events that track has
   had, so that the writer thread can sort them into one block per track, and a reader of the
   live file knows which events it has already seen. Full chunks wait in the live file until
   there are enough of them for blocks of a reasonable size. */
#ifndef KYMO_PEN_H
#define KYMO_PEN_H

#include <kymo/payload.h>
#include <pthread.h>

#include "block.h"

struct kymo_capfile;
struct kymo_payload;
struct kymo_pool;

struct kymo_pen {
    struct kymo_chunk *chunk; /* NULL: none yet */
    uint32_t used;            /* records in it */
    uint32_t track;           /* thread index of the last event's track, in this chunk */
};

struct kymo_track {
    uint32_t session, thread;
    uint64_t events; /* so far, including payloads, as the file counts them */
};

struct kymo_pen_event {
    uint64_t start, length; /* on the track's clock */
    uint32_t key;
    uint64_t correlation;               /* 0: none */
    const struct kymo_schema *schema;   /* NULL: none */
    const struct kymo_payload *payload; /* one that the schema allows */
};

/* What the pens of a session share. */
struct kymo_pens {
    struct kymo_pool *pool;
    struct kymo_capfile *file;
    struct kymo_schema correlation; /* for events that share an id with others */
    uint64_t chunks;                /* number of the next chunk */
    pthread_mutex_t lock;
    struct kymo_track_part *parts; /* for sorting, under the lock; NULL until a track is opened */
    int64_t written;               /* monotonic time at which chunks were last written */
};

void kymo__pens_init(struct kymo_pens *pens, struct kymo_pool *pool, struct kymo_capfile *file);
void kymo__pens_fini(struct kymo_pens *pens);

/* Allocate what sorting needs. 0 or -ENOMEM; may be repeated. */
int kymo__pens_prepare(struct kymo_pens *pens);

/* Write EVENT to TRACK, whose session runs. 0, or the enum kymo_gap that says why there is no
   room. */
int kymo__pen_write(struct kymo_pens *pens, struct kymo_pen *pen, struct kymo_track *track,
                    const struct kymo_pen_event *event);

/* Hand the chunk over to be written. */
void kymo__pen_lift(struct kymo_pool *pool, struct kymo_pen *pen);

/* ---- the writer's part ---- */

enum { KYMO__PEN_CHUNKS = 64 }; /* sorted at a time */

/* Write full chunks of tracks: always with ALL, otherwise if it is time to. Returns how many, 0
   when another thread is doing it, or negative errno: then nothing is lost. */
int kymo__pens_drain(struct kymo_pens *pens, struct kymo_packer *packer, bool all);

/* For the flight recorder: pass the events of CHUNK before END that have not been passed yet to
   PUSH, one block per track. Stops when PUSH fails; returns PUSH's result. */
int kymo__pens_part(struct kymo_pens *pens, struct kymo_packer *packer, struct kymo_chunk *chunk,
                    size_t end, int (*push)(void *arg, const struct kymo_packed *), void *arg);

#endif
