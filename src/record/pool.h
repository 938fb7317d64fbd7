/* pool.h — the chunks of a session: where a thread's next one comes from, and where full ones
   wait to be written. */
#ifndef KYMO_POOL_H
#define KYMO_POOL_H

#include <pthread.h>
#include <semaphore.h>

#include "chunks.h"
#include "live.h"

/* Writes one full chunk, so that it can be used again. 1: done; 0: there was nothing to write, or
   others are busy with it; negative: the file cannot be written. */
typedef int kymo_help_fn(void *arg);

struct kymo_pool {
    struct kymo_live live;               /* their memory */
    pthread_mutex_t grow_lock;           /* guards kymo__live_grow */
    struct kymo_chunk_stack free, full;  /* chunks */
    struct kymo_chunk_stack full_tracks; /* full chunks of tracks, waiting for more of them */
    uint32_t held;  /* chunks that threads are recording into; never above the true number */
    uint32_t awake; /* 1: kymo__wake has been posted and not yet answered */

    kymo_help_fn *help; /* for a thread that finds no free chunk; NULL: it gets none */
    void *help_arg;
    const uint32_t *failing; /* not 0 while full chunks cannot be written; NULL: they always can */
};

/* What the writer thread waits for. It outlives every session, so that a signal handler may post
   it at any time. */
extern sem_t kymo__wake;

void kymo__pool_init(struct kymo_pool *pool);

/* KEEP_LIVE leaves the live file in place. */
void kymo__pool_fini(struct kymo_pool *pool, bool keep_live);

/* A free chunk for the calling thread, or NULL with *REASON (enum kymo_gap). */
struct kymo_chunk *kymo__pool_take(struct kymo_pool *pool, int *reason);

/* A free chunk if there is one: for signal handlers. */
struct kymo_chunk *kymo__pool_take_free(struct kymo_pool *pool);

/* Hand over a chunk with records to be written. */
void kymo__pool_give(struct kymo_pool *pool, struct kymo_chunk *chunk);

/* CHUNKS have been written and may be used again. */
void kymo__pool_free(struct kymo_pool *pool, struct kymo_chunk **chunks, size_t count);

/* Allocate MORE chunks if the budget allows. Returns how many. */
uint32_t kymo__pool_grow(struct kymo_pool *pool, uint32_t more);

/* If few chunks are free, allocate more, before a thread needs them. */
void kymo__pool_ahead(struct kymo_pool *pool);

/* Wake the writer thread. */
void kymo__pool_wake(struct kymo_pool *pool);

#endif
