/* session.h — the running session and its parts, for the files of this room. */
#ifndef KYMO_SESSION_H
#define KYMO_SESSION_H

#include <pthread.h>
#include <semaphore.h>

#include "chunks.h"
#include "flight.h"
#include "live.h"
#include "names.h"
#include "sampler.h"
#include "sink.h"

#define KYMO__HELPERS 4 /* threads that may help with writing at the same time */

struct kymo_session {
    uint32_t number;
    int policy, level;
    struct kymo_snapshot started;

    struct kymo_live live;
    pthread_mutex_t grow_lock;          /* guards kymo__live_grow */
    struct kymo_chunk_stack free, full; /* chunks */

    struct kymo_sink sink;
    pthread_mutex_t file_lock; /* guards sink */

    struct kymo_names names;
    struct kymo_packer *packer;                 /* the writer thread's */
    struct kymo_packer *helpers[KYMO__HELPERS]; /* NULL while in use; exchanged */
    uint32_t failing; /* 1: the last write failed; the writer thread tries again, nobody else */
    uint32_t held;    /* chunks that threads record into; never more than there are */

    struct kymo_flight flight;
    struct kymo_sampler *sampler; /* NULL: no samples are taken */

    pthread_t writer;
    pid_t writer_id;    /* the system's id of that thread; it sets it */
    bool writing;       /* there is one; under the life lock */
    uint32_t awake;     /* 1: kymo__wake has been posted and not yet answered */
    uint32_t finishing; /* 1: write everything and end */
    uint32_t resting;   /* 1: end, and leave everything to the next one */

    uint32_t threads; /* indices given out */
    uint32_t gap_hint;
    uint64_t written_records, dropped_records, helped_chunks;
};

/* The running session; valid inside a claim and under the life lock. */
extern struct kymo_session *kymo__session;

/* What the writer thread waits for. It outlives every session, so that a signal handler
   may post it at any time. */
extern sem_t kymo__wake;

/* pool.c: a free chunk for the calling thread, or NULL with *REASON (enum kymo_gap). */
struct kymo_chunk *kymo__pool_take(struct kymo_session *s, int *reason);

/* A free one if there is one: for signal handlers. */
struct kymo_chunk *kymo__pool_take_free(struct kymo_session *s);

/* A chunk has been recorded into; it is to be written. */
void kymo__pool_give(struct kymo_session *s, struct kymo_chunk *chunk);

/* Make MORE chunks usable if the budget allows. Returns how many. */
uint32_t kymo__pool_grow(struct kymo_session *s, uint32_t more);

/* Tell the writer thread that there is something to do now. */
void kymo__pool_wake(struct kymo_session *s);

/* CHUNKS have been written: they may be taken again. */
void kymo__pool_free(struct kymo_session *s, struct kymo_chunk **chunks, size_t count);

/* drain.c: pack CHUNKS, of one thread and consecutive numbers, with PACKER, append
   them and free them. On failure they are as before. */
int kymo__drain_chunks(struct kymo_session *s, struct kymo_packer *packer,
                       struct kymo_chunk **chunks, size_t count);

/* The body of the writer thread; ARG is the session. Returns NULL, or as an intptr_t the
   negative errno for which the file is not complete. */
void *kymo__drain_thread(void *arg);

/* Append a packed block; ARG is the session. */
int kymo__drain_append(void *arg, const struct kymo_packed *packed);

/* Record the gap in SLOT, if there is one, and clear it. */
void kymo__gap_record(struct kymo_session *s, struct kymo_gap_slot *slot);

/* source.c: the tracer's part in a session's life. */
void kymo__source_begin(struct kymo_session *s);
void kymo__source_end(struct kymo_session *s);
void kymo__source_finish(struct kymo_session *s);
void kymo__source_forked(void);

/* Wait until the system has forgotten the thread ID, which has ended, too. */
void kymo__wait_for_end(pid_t id);

/* The life lock: start, stop and the tracers take turns. */
void kymo__life_lock(void);
void kymo__life_unlock(void);

#endif
