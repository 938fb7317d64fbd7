/* pool.c — where a thread's next chunk comes from.

   In this order: a free one; a new one while the budget lasts; then, depending on the session's
   policy, either the thread writes a full chunk itself and reuses it, or there is none. */
#include "pool.h"

#include <string.h>
#include <time.h>

#include "encode.h"
#include "lock.h"

/* The pool doubles until it can grow by these many chunks at a time: a process that records little
   gets little. */
enum {
    GROW_STEP = 16, /* by a thread that needs one: 1 MiB */
    AHEAD = 32,     /* by the writer, in advance */
    LOW_WATER = 8,  /* with fewer free chunks than this, or a quarter of all, it does that */
};

sem_t kymo__wake;

void kymo__pool_init(struct kymo_pool *pool)
{
    pthread_mutex_init(&pool->grow_lock, NULL);
    pool->live.file.fd = -1;
}

void kymo__pool_fini(struct kymo_pool *pool, bool keep_live)
{
    kymo__live_close(&pool->live, keep_live);
    pthread_mutex_destroy(&pool->grow_lock);
}

void kymo__pool_wake(struct kymo_pool *pool)
{
    if (!kymo__load_relaxed(&pool->awake) && !kymo__exchange(&pool->awake, 1u))
        sem_post(&kymo__wake);
}

uint32_t kymo__pool_grow(struct kymo_pool *pool, uint32_t more)
{
    kymo__lock(&pool->grow_lock);
    uint32_t first = pool->live.ready;
    uint32_t grown = kymo__live_grow(&pool->live, more);
    for (uint32_t i = 0; i < grown; i++)
        kymo__chunks_push(&pool->free, pool->live.chunks, &pool->live.chunks[first + i]);
    kymo__unlock(&pool->grow_lock);
    return grown;
}

/* Are so few chunks free that more should be made? */
static bool is_low(const struct kymo_pool *pool)
{
    uint32_t quarter = kymo__load_relaxed(&pool->live.ready) / 4;
    return kymo__load_relaxed(&pool->free.count) < (quarter > LOW_WATER ? LOW_WATER : quarter);
}

/* As many chunks as there are, but at most MOST. */
static uint32_t grow_by(struct kymo_pool *pool, uint32_t most)
{
    uint32_t ready = kymo__load_relaxed(&pool->live.ready);
    return kymo__pool_grow(pool, ready < most ? ready : most);
}

void kymo__pool_ahead(struct kymo_pool *pool)
{
    if (is_low(pool))
        grow_by(pool, AHEAD);
}

void kymo__pool_give(struct kymo_pool *pool, struct kymo_chunk *chunk)
{
    kymo__add_relaxed(&pool->held, (uint32_t)-1);
    kymo__store_release(&chunk->state, (uint32_t)KYMO__CHUNK_FULL);
    bool track = chunk->type == KYMO__BLOCK_TRACK;
    kymo__chunks_push(track ? &pool->full_tracks : &pool->full, pool->live.chunks, chunk);
    if (kymo__load_relaxed(&pool->full.count) + kymo__load_relaxed(&pool->full_tracks.count) >
        pool->live.limit / 8)
        kymo__pool_wake(pool);
}

void kymo__pool_free(struct kymo_pool *pool, struct kymo_chunk **chunks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        /* Free first, then zero: a kill in between leaves a free chunk. */
        size_t used = kymo__chunk_count(chunks[i]) * sizeof(chunks[i]->records[0]);
        kymo__store_release(&chunks[i]->state, (uint32_t)KYMO__CHUNK_FREE);
        kymo__store_relaxed(&chunks[i]->passed, 0u);
        memset(chunks[i]->records, 0, used);
        kymo__chunks_push(&pool->free, pool->live.chunks, chunks[i]);
    }
}

/* True when full chunks have to wait because the file cannot be written. */
static bool is_blocked(const struct kymo_pool *pool)
{
    return pool->failing && kymo__load_relaxed(pool->failing);
}

static struct kymo_chunk *take_by_helping(struct kymo_pool *pool, int *reason)
{
    for (;;) {
        kymo__pool_wake(pool);
        kymo__inside_add(1); /* what encoding allocates is no event */
        int helped = is_blocked(pool) ? -1 : pool->help(pool->help_arg);
        kymo__inside_add((uint32_t)-1);
        struct kymo_chunk *chunk = kymo__chunks_pop(&pool->free, pool->live.chunks);
        if (chunk)
            return chunk;
        if (helped < 0) {
            *reason = KYMO_GAP_DISK;
            return NULL;
        }
        if (helped)
            continue; /* another thread was faster */
        /* If threads are recording into every chunk except that of the definitions, this might
           wait forever; any other chunk comes back. */
        if (kymo__load_relaxed(&pool->held) + 1 >= kymo__load_relaxed(&pool->live.header->chunks)) {
            *reason = KYMO_GAP_BUDGET;
            return NULL;
        }
        const struct timespec moment = {0, 20000};
        nanosleep(&moment, NULL);
    }
}

static struct kymo_chunk *pool_take(struct kymo_pool *pool, int *reason)
{
    struct kymo_chunk *chunk = kymo__chunks_pop(&pool->free, pool->live.chunks);
    /* Only the writer thread retries a full disk: the attempt takes long. */
    if (!chunk && !kymo__load_relaxed(&pool->live.full) && grow_by(pool, GROW_STEP))
        chunk = kymo__chunks_pop(&pool->free, pool->live.chunks);
    if (chunk) {
        if (is_low(pool))
            kymo__pool_wake(pool);
        return chunk;
    }
    if (pool->help)
        return take_by_helping(pool, reason);
    kymo__pool_wake(pool);
    *reason = is_blocked(pool) ? KYMO_GAP_DISK : KYMO_GAP_BUDGET;
    return NULL;
}

struct kymo_chunk *kymo__pool_take(struct kymo_pool *pool, int *reason)
{
    struct kymo_chunk *chunk = pool_take(pool, reason);
    if (chunk)
        kymo__add_relaxed(&pool->held, 1u);
    return chunk;
}

struct kymo_chunk *kymo__pool_take_free(struct kymo_pool *pool)
{
    struct kymo_chunk *chunk = kymo__chunks_pop(&pool->free, pool->live.chunks);
    if (chunk)
        kymo__add_relaxed(&pool->held, 1u);
    if (is_low(pool))
        kymo__pool_wake(pool);
    return chunk;
}
