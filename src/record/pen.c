/* pen.c — see pen.h. */
#include "pen.h"

#include <errno.h>
#include <kymo/lane.h>

#include "alloc.h"
#include "capfile.h"
#include "clock.h"
#include "lock.h"
#include "pool.h"
#include "trackparts.h"

enum {
    SHARE = 16,                 /* 1 / SHARE of the budget may be full chunks that wait */
    PERIOD_NS = 2 * 1000000000, /* after this long they are written, however few there are */
};

void kymo__pens_init(struct kymo_pens *pens, struct kymo_pool *pool, struct kymo_capfile *file)
{
    *pens = (struct kymo_pens){.pool = pool, .file = file};
    pthread_mutex_init(&pens->lock, NULL);
}

void kymo__pens_fini(struct kymo_pens *pens)
{
    kymo__free(pens->parts);
    pthread_mutex_destroy(&pens->lock);
}

/* ---- writing events ---- */

/* Get a chunk with room for COUNT records and a TRACK. 0, or the reason why there is none. */
static int make_room(struct kymo_pens *pens, struct kymo_pen *pen, unsigned count)
{
    if (pen->chunk && pen->used + count + 1 <= KYMO__CHUNK_RECORDS)
        return 0;
    if (kymo__inside)
        return KYMO_GAP_NESTED; /* a signal handler interrupted code that holds our locks */
    int reason = KYMO_GAP_BUDGET, cancel = kymo__cancel_off();
    kymo__pen_lift(pens->pool, pen);
    struct kymo_chunk *chunk = kymo__pool_take(pens->pool, &reason);
    kymo__cancel_restore(cancel);
    if (!chunk)
        return reason;
    chunk->type = KYMO__BLOCK_TRACK;
    chunk->thread = KYMO__NO_THREAD;
    chunk->number = kymo__add_relaxed(&pens->chunks, UINT64_C(1));
    kymo__store_release(&chunk->state, (uint32_t)KYMO__CHUNK_OPEN);
    *pen = (struct kymo_pen){.chunk = chunk, .track = KYMO__NO_THREAD};
    return 0;
}

static struct kymo_record *put_payload(struct kymo_record *at, const struct kymo_schema *schema,
                                       const uint8_t *bytes, size_t len)
{
    unsigned count = kymo__chain_records(len);
    kymo_lane_store(at++, 0, kymo_word(KYMO_PAYLOAD, 0, schema->key));
    for (unsigned i = 0; i < count; i++, at++) {
        struct kymo_record record = kymo__chain_record(schema->number, bytes, len, i);
        kymo_lane_store(at, record.ticks, record.word);
    }
    return at;
}

int kymo__pen_write(struct kymo_pens *pens, struct kymo_pen *pen, struct kymo_track *track,
                    const struct kymo_pen_event *event)
{
    unsigned char room[10];
    struct kymo_payload id = {.bytes = room, .size = sizeof(room)};
    unsigned count = 2;
    if (event->correlation) {
        kymo_payload_uint(&id, event->correlation);
        count += 1 + kymo__chain_records(id.used);
    }
    if (event->schema)
        count += 1 + kymo__chain_records(event->payload->used);
    int reason = make_room(pens, pen, count);
    if (reason)
        return reason;
    struct kymo_record *at = pen->chunk->records + pen->used;
    if (pen->track != track->thread) {
        kymo_lane_store(at++, track->events, kymo_word(KYMO__TRACK, 0, track->thread));
        pen->track = track->thread;
    }
    kymo_lane_store(at++, event->start, kymo_word(KYMO_COMPLETE, 0, event->key));
    kymo_lane_store(at++, event->length, KYMO_VALUE_WORD);
    track->events++;
    if (event->correlation) {
        at = put_payload(at, &pens->correlation, id.bytes, id.used);
        track->events++;
    }
    if (event->schema) {
        at = put_payload(at, event->schema, event->payload->bytes, event->payload->used);
        track->events++;
    }
    pen->used = (uint32_t)(at - pen->chunk->records);
    kymo__write_ahead(at);
    return 0;
}

void kymo__pen_lift(struct kymo_pool *pool, struct kymo_pen *pen)
{
    if (pen->chunk)
        kymo__pool_give(pool, pen->chunk);
    pen->chunk = NULL;
}

/* ---- the writer's part ---- */

int kymo__pens_prepare(struct kymo_pens *pens)
{
    kymo__lock(&pens->lock);
    if (!pens->parts)
        pens->parts = kymo__alloc(KYMO__PEN_CHUNKS * KYMO__TRACK_PARTS_MOST * sizeof(*pens->parts));
    int rc = pens->parts ? 0 : -ENOMEM;
    kymo__unlock(&pens->lock);
    return rc;
}

/* Note in the chunk that PART is in the file, so that a failure of a later part does not write
   this one twice. */
static void mark_written(const struct kymo_track_part *part)
{
    struct kymo_record *track = (struct kymo_record *)(uintptr_t)(part->records - 1);
    kymo__store_relaxed(&track->word, kymo_word(KYMO__TRACK, 0, KYMO__NO_THREAD));
}

static int write_track(struct kymo_pens *pens, struct kymo_packer *packer,
                       const struct kymo_track_part *parts, size_t count)
{
    struct kymo_packed packed;
    uint64_t offset;
    int rc = kymo__pack_track(packer, parts, count, &packed);
    if (rc == 0)
        rc = kymo__capfile_records(pens->file, &packed, &offset);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < count; i++)
        mark_written(&parts[i]);
    return 0;
}

static int write_track_chunks(struct kymo_pens *pens, struct kymo_packer *packer,
                              struct kymo_chunk **chunks, size_t count)
{
    struct kymo_track_part *parts = pens->parts;
    size_t all = 0;
    for (size_t i = 0; i < count; i++)
        all += kymo__track_parts(chunks[i]->records, kymo__chunk_count(chunks[i]), 0, parts + all);
    kymo__track_parts_sort(parts, all);
    for (size_t done = 0, n; done < all; done += n) {
        n = kymo__track_parts_together(parts + done, all - done);
        int rc = write_track(pens, packer, parts + done, n);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Is it time to write the full chunks? */
static bool is_time(struct kymo_pens *pens)
{
    uint32_t full = kymo__load_relaxed(&pens->pool->full_tracks.count);
    return full >= KYMO__PEN_CHUNKS || full > pens->pool->live.limit / SHARE ||
           (full && kymo__clock_snapshot().monotonic - pens->written > PERIOD_NS);
}

int kymo__pens_drain(struct kymo_pens *pens, struct kymo_packer *packer, bool all)
{
    struct kymo_chunk *chunks[KYMO__PEN_CHUNKS];
    size_t count = 0;
    if (!kymo__load_relaxed(&pens->pool->full_tracks.count))
        return 0;
    kymo__inside_add(1);
    if (pthread_mutex_trylock(&pens->lock) != 0) {
        kymo__inside_add((uint32_t)-1);
        return 0;
    }
    bool now = all || is_time(pens);
    while (now && count < KYMO__PEN_CHUNKS &&
           (chunks[count] = kymo__chunks_pop(&pens->pool->full_tracks, pens->pool->live.chunks)))
        count++;
    int rc = count ? write_track_chunks(pens, packer, chunks, count) : 0;
    if (rc == 0 && count) {
        pens->written = kymo__clock_snapshot().monotonic;
        kymo__pool_free(pens->pool, chunks, count);
    }
    for (size_t i = 0; rc < 0 && i < count; i++)
        kymo__chunks_push(&pens->pool->full_tracks, pens->pool->live.chunks, chunks[i]);
    kymo__unlock(&pens->lock);
    return rc < 0 ? rc : (int)count;
}

int kymo__pens_part(struct kymo_pens *pens, struct kymo_packer *packer, struct kymo_chunk *chunk,
                    size_t end, int (*push)(void *arg, const struct kymo_packed *), void *arg)
{
    int rc = 0;
    kymo__lock(&pens->lock);
    struct kymo_track_part *parts = pens->parts;
    size_t all = kymo__track_parts(chunk->records, end, kymo__load_relaxed(&chunk->passed), parts);
    kymo__track_parts_sort(parts, all);
    for (size_t done = 0, n; rc == 0 && done < all; done += n) {
        struct kymo_packed packed;
        n = kymo__track_parts_together(parts + done, all - done);
        rc = kymo__pack_track(packer, parts + done, n, &packed);
        if (rc == 0)
            rc = push(arg, &packed);
    }
    kymo__unlock(&pens->lock);
    return rc;
}
