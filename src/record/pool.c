/* pool.c — where chunks come from when a thread needs one.

   In this order: a free one; a new one while the budget lasts; and then, by the
   session's policy, either the thread writes a full one itself and takes that, or
   there is none. */
#include <sched.h>
#include <string.h>
#include <time.h>

#include "session.h"

enum {
    GROW_STEP = 16, /* chunks: 1 MiB */
    LOW_WATER = 8,  /* fewer free ones than this: the writer makes more ahead of need */
};

void kymo__pool_wake(struct kymo_session *s)
{
    if (!kymo__load_relaxed(&s->awake) && !kymo__exchange(&s->awake, 1u))
        sem_post(&kymo__wake);
}

uint32_t kymo__pool_grow(struct kymo_session *s, uint32_t more)
{
    pthread_mutex_lock(&s->grow_lock);
    uint32_t first = s->live.ready;
    uint32_t grown = kymo__live_grow(&s->live, more);
    for (uint32_t i = 0; i < grown; i++)
        kymo__chunks_push(&s->free, s->live.chunks, &s->live.chunks[first + i]);
    pthread_mutex_unlock(&s->grow_lock);
    return grown;
}

void kymo__pool_give(struct kymo_session *s, struct kymo_chunk *chunk)
{
    kymo__add_relaxed(&s->held, (uint32_t)-1);
    kymo__store_release(&chunk->state, (uint32_t)KYMO__CHUNK_FULL);
    kymo__chunks_push(&s->full, s->live.chunks, chunk);
    if (kymo__load_relaxed(&s->full.count) > s->live.limit / 8)
        kymo__pool_wake(s);
}

void kymo__pool_free(struct kymo_session *s, struct kymo_chunk **chunks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        /* Free first, zero then: a kill in between leaves a free chunk. */
        size_t used = kymo__chunk_count(chunks[i]) * sizeof(chunks[i]->records[0]);
        kymo__store_release(&chunks[i]->state, (uint32_t)KYMO__CHUNK_FREE);
        kymo__store_relaxed(&chunks[i]->passed, 0u);
        memset(chunks[i]->records, 0, used);
        kymo__chunks_push(&s->free, s->live.chunks, chunks[i]);
    }
}

static struct kymo_packer *helper_take(struct kymo_session *s)
{
    for (int i = 0; i < KYMO__HELPERS; i++) {
        struct kymo_packer *packer = kymo__exchange(&s->helpers[i], (struct kymo_packer *)NULL);
        if (packer)
            return packer;
    }
    return NULL;
}

static void helper_return(struct kymo_session *s, struct kymo_packer *packer)
{
    for (int i = 0;; i = (i + 1) % KYMO__HELPERS) {
        struct kymo_packer *none = NULL;
        if (kymo__swap_if(&s->helpers[i], &none, packer))
            return;
    }
}

static int write_one(struct kymo_session *s, struct kymo_packer *packer)
{
    struct kymo_chunk *chunk = kymo__chunks_pop(&s->full, s->live.chunks);
    if (!chunk)
        return 0;
    int rc = kymo__drain_chunks(s, packer, &chunk, 1);
    if (rc == 0)
        return 1;
    kymo__chunks_push(&s->full, s->live.chunks, chunk);
    return rc;
}

/* Write one full chunk. 1 done, 0 nothing to do or nobody to do it with, negative:
   the file cannot be written. */
static int help(struct kymo_session *s)
{
    struct kymo_packer *packer = helper_take(s);
    if (!packer)
        return 0;
    int rc = kymo__flight_on(&s->flight) ? kymo__flight_keep(s, packer, 1) : write_one(s, packer);
    if (rc > 0)
        kymo__add_relaxed(&s->helped_chunks, 1u);
    helper_return(s, packer);
    return rc;
}

/* True when full chunks have to wait, since the file cannot be written. */
static bool blocked(const struct kymo_session *s)
{
    return kymo__load_relaxed(&s->failing) && !kymo__flight_on(&s->flight);
}

static struct kymo_chunk *take_by_helping(struct kymo_session *s, int *reason)
{
    for (;;) {
        kymo__pool_wake(s);
        int helped = blocked(s) ? -1 : help(s);
        struct kymo_chunk *chunk = kymo__chunks_pop(&s->free, s->live.chunks);
        if (chunk)
            return chunk;
        if (helped < 0) {
            *reason = KYMO_GAP_DISK;
            return NULL;
        }
        if (helped)
            continue; /* another thread was quicker */
        /* If every chunk but that of the definitions is being recorded into, waiting
           might be for ever; any other comes back. */
        if (kymo__load_relaxed(&s->held) + 1 >= kymo__load_relaxed(&s->live.header->chunks)) {
            *reason = KYMO_GAP_BUDGET;
            return NULL;
        }
        const struct timespec moment = {0, 20000};
        nanosleep(&moment, NULL);
    }
}

static struct kymo_chunk *take(struct kymo_session *s, int *reason)
{
    struct kymo_chunk *chunk = kymo__chunks_pop(&s->free, s->live.chunks);
    /* A full disk is asked again by the writer thread only: asking takes long. */
    if (!chunk && !kymo__load_relaxed(&s->live.full) && kymo__pool_grow(s, GROW_STEP))
        chunk = kymo__chunks_pop(&s->free, s->live.chunks);
    if (chunk) {
        if (kymo__load_relaxed(&s->free.count) < LOW_WATER)
            kymo__pool_wake(s);
        return chunk;
    }
    if (s->policy == KYMO_HELP)
        return take_by_helping(s, reason);
    kymo__pool_wake(s);
    *reason = blocked(s) ? KYMO_GAP_DISK : KYMO_GAP_BUDGET;
    return NULL;
}

struct kymo_chunk *kymo__pool_take(struct kymo_session *s, int *reason)
{
    struct kymo_chunk *chunk = take(s, reason);
    if (chunk)
        kymo__add_relaxed(&s->held, 1u);
    return chunk;
}

struct kymo_chunk *kymo__pool_take_free(struct kymo_session *s)
{
    struct kymo_chunk *chunk = kymo__chunks_pop(&s->free, s->live.chunks);
    if (chunk)
        kymo__add_relaxed(&s->held, 1u);
    if (kymo__load_relaxed(&s->free.count) < LOW_WATER)
        kymo__pool_wake(s);
    return chunk;
}
