/* flightkeep.c — setting up the flight recorder, and moving records into its ring. See flight.h. */
#include "flight.h"

#include <errno.h>
#include <time.h>

#include "alloc.h"
#include "flightring.h"
#include "live.h"
#include "lock.h"
#include "pen.h"
#include "pool.h"

#define DEFAULT_BYTES ((uint64_t)64 << 20)
#define BLOCKS_AT_LEAST 16 /* the ring should have room for this many */

void kymo__flight_init(struct kymo_flight *flight)
{
    pthread_mutex_init(&flight->lock, NULL);
    sem_init(&flight->done, 0, 0);
}

void kymo__flight_fini(struct kymo_flight *flight)
{
    kymo__free(flight->ring);
    kymo__watch_fini(&flight->watch);
    sem_destroy(&flight->done);
    pthread_mutex_destroy(&flight->lock);
}

int kymo__flight_begin(struct kymo_flight *flight, uint64_t bytes, kymo_ns span, kymo_ns slow)
{
    if (!bytes && !span)
        return 0;
    bytes = bytes ? bytes : DEFAULT_BYTES;
    if (bytes > SIZE_MAX - 8)
        return -ENOMEM;
    size_t size = ((size_t)bytes + 7) & ~(size_t)7;
    flight->ring = kymo__alloc(size); /* pages that are never touched cost nothing */
    if (!flight->ring)
        return -ENOMEM;
    size_t chunks = size / KYMO__CHUNK_BYTES / BLOCKS_AT_LEAST;
    flight->block_chunks = chunks < 1                    ? 1
                           : chunks > KYMO__BLOCK_CHUNKS ? KYMO__BLOCK_CHUNKS
                                                         : (uint32_t)chunks;
    flight->size = size;
    flight->span = span;
    flight->watch.slow = slow;
    flight->watch.ticks = UINT64_MAX; /* until the clock's rate is known */
    return 0;
}

/* ---- into the ring ---- */

/* Queue the chunks that have become full since. The stack yields the newest first. */
static void queue_full_chunks(struct kymo_flight *f)
{
    for (uint32_t at = kymo__chunks_take(&f->pool->full, f->pool->live.chunks), next; at;
         at = next) {
        next = kymo__load_relaxed(&f->pool->live.chunks[at - 1].next);
        kymo__store_relaxed(&f->pool->live.chunks[at - 1].next, f->first);
        f->first = at;
    }
}

/* Take the next chunks to pack; the caller then owns them. */
static size_t take_chunks(struct kymo_flight *f, struct kymo_chunk **chunks, size_t most)
{
    size_t n = 0;
    if (!f->first)
        queue_full_chunks(f);
    for (; n < most && f->first; n++) {
        struct kymo_chunk *chunk = &f->pool->live.chunks[f->first - 1];
        if (n && (chunk->thread != chunks[0]->thread || chunk->number != chunks[0]->number + n ||
                  kymo__load_relaxed(&chunk->passed)))
            break;
        f->first = kymo__load_relaxed(&chunk->next);
        chunks[n] = chunk;
    }
    return n;
}

/* The first of CHUNKS with records that have not expired; older ones are counted as expired. */
static size_t first_young(struct kymo_flight *f, struct kymo_chunk **chunks, size_t count)
{
    size_t i = 0;
    for (; i < count; i++) {
        size_t end = kymo__chunk_count(chunks[i]);
        if (kymo__flight_pass_old(f, chunks[i], end) < end)
            break;
    }
    return i;
}

/* Lock, once all that was taken before TURN is in the ring: it holds the newest only if they come in
   order, and several threads pack at the same time. The other one has no need of this thread. */
static void lock_in_turn(struct kymo_flight *f, uint64_t turn)
{
    const struct timespec moment = {0, 20000};
    kymo__lock(&f->lock);
    while (f->kept != turn) {
        kymo__unlock(&f->lock);
        nanosleep(&moment, NULL);
        kymo__lock(&f->lock);
    }
}

int kymo__flight_keep(struct kymo_flight *f, struct kymo_packer *packer, size_t most)
{
    struct kymo_chunk *chunks[KYMO__BLOCK_CHUNKS];
    struct kymo_packed packed;
    int rc = 0;
    kymo__lock(&f->lock);
    size_t count = take_chunks(f, chunks, most);
    for (size_t i = 0; f->watch.slow && i < count; i++)
        kymo__watch_chunk(&f->watch, chunks[i]);
    size_t first = first_young(f, chunks, count);
    const bool packs = first < count;
    const uint64_t turn = f->taken;
    f->taken += packs;
    while (first < count) {
        uint64_t round = f->round;
        kymo__unlock(&f->lock);
        rc = kymo__pack_chunks(packer, chunks + first, count - first, &packed);
        lock_in_turn(f, turn);
        if (rc < 0 || round == f->round)
            break;
        /* A flush meanwhile has written these chunks, and some of what was packed. */
        first = first_young(f, chunks, count);
    }
    if (first < count && rc == 0)
        kymo__flight_push(f, &packed);
    if (rc == 0)
        kymo__pool_free(f->pool, chunks, count);
    for (size_t i = 0; i < count && rc < 0; i++)
        kymo__chunks_push(&f->pool->full, f->pool->live.chunks, chunks[i]);
    f->kept += packs;
    kymo__unlock(&f->lock);
    return rc < 0 ? rc : (int)count;
}

static int push_track(void *arg, const struct kymo_packed *packed)
{
    kymo__flight_push(arg, packed);
    return 0;
}

/* Keep the events of one full chunk of tracks. Returns 1, 0 when there is none, or negative
   errno. */
static int keep_tracks(struct kymo_flight *f, struct kymo_packer *packer)
{
    kymo__lock(&f->lock);
    struct kymo_chunk *chunk = kymo__chunks_pop(&f->pool->full_tracks, f->pool->live.chunks);
    int rc = 0;
    if (chunk)
        rc = kymo__pens_part(f->pens, packer, chunk, kymo__chunk_count(chunk), push_track, f);
    if (chunk && rc == 0)
        kymo__pool_free(f->pool, &chunk, 1);
    else if (chunk)
        kymo__chunks_push(&f->pool->full_tracks, f->pool->live.chunks, chunk);
    kymo__unlock(&f->lock);
    return rc < 0 ? rc : chunk != NULL;
}

int kymo__flight_help(struct kymo_flight *f, struct kymo_packer *packer)
{
    int rc = kymo__flight_keep(f, packer, 1);
    return rc ? rc : keep_tracks(f, packer);
}

int kymo__flight_drain(struct kymo_flight *f)
{
    uint32_t done = 0;
    while (!kymo__load_acquire(&f->held)) {
        int n = kymo__flight_keep(f, f->packer, f->block_chunks);
        if (n == 0)
            n = keep_tracks(f, f->packer);
        if (n <= 0)
            return n;
        done += (uint32_t)n;
        if (done >= f->pool->live.limit) {
            /* Other threads fill chunks as fast as this empties them; there may be more to do. */
            kymo__pool_wake(f->pool);
            return 0;
        }
    }
    return 0;
}
