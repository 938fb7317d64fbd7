/* flightwrite.c — writes what the flight recorder (flight.h) holds to the file.

   When asked to write, the writer thread appends the ring to the file and then the finished records
   of every chunk that is in use; nothing expires to make room for them. The chunk keeps its state,
   and its `passed` field says where the next part begins, so the recording path is not involved. No
   chunk is freed or reused while the lock is held; a helper that packed a chunk meanwhile packs it
   again. */
#include "capfile.h"
#include "flightring.h"
#include "follow.h"
#include "live.h"
#include "lock.h"
#include "names.h"
#include "pen.h"
#include "pool.h"
#include "wallnote.h"

static int append_block(void *arg, const struct kymo_packed *packed)
{
    struct kymo_flight *f = arg;
    uint64_t offset;
    int rc = kymo__capfile_records(f->file, packed, &offset);
    if (rc == 0 && kymo__block_has_chunks(packed->header->type) && packed->header->records)
        kymo__follow_later(f->follow, packed->header, offset);
    return rc;
}

static int write_ring(struct kymo_flight *f)
{
    while (f->blocks) {
        const struct kymo_block_header *header = kymo__flight_oldest(f);
        const struct kymo_packed packed = {(const void *)header, (size_t)kymo__block_bytes(header),
                                           header};
        if (kymo__block_has_chunks(header->type) && header->last_ticks < f->oldest) {
            kymo__flight_expire_front(f);
            continue;
        }
        int rc = append_block(f, &packed);
        if (rc < 0)
            return rc;
        kymo__flight_pop(f);
    }
    return 0;
}

/* False when a value that belongs to a record with WORD may not have been stored yet. */
static bool is_whole(uint64_t word)
{
    unsigned kind = kymo__word_kind(word);
    return kind == KYMO__VALUE || kind == KYMO__TRACK || kind == KYMO_INSTANT ||
           ((kind == KYMO_ENTER || kind == KYMO_LEAVE) && !(kymo__word_detail(word) & KYMO_HAS_ID));
}

/* Where the finished events of CHUNK end; in an OPEN chunk the last event may be incomplete. */
static size_t end_of(const struct kymo_chunk *chunk, bool open)
{
    size_t end = kymo__chunk_count(chunk);
    while (end && open && kymo__word_kind(chunk->records[end - 1].word) >= KYMO__BYTES &&
           kymo__word_kind(chunk->records[end - 1].word) <= KYMO__MORE)
        end--;
    if (end && open && !is_whole(chunk->records[end - 1].word))
        end--;
    return end;
}

/* Events of tracks do not expire by age: they may use other clocks. */
static int write_tracks(struct kymo_flight *f, struct kymo_chunk *chunk, bool open)
{
    size_t end = end_of(chunk, open);
    int rc = kymo__pens_part(f->pens, f->packer, chunk, end, append_block, f);
    if (rc == 0)
        kymo__store_relaxed(&chunk->passed, (uint32_t)end);
    return rc;
}

/* Write the finished part of CHUNK. */
static int write_part(struct kymo_flight *f, struct kymo_chunk *chunk, bool open)
{
    size_t end = end_of(chunk, open);
    if (kymo__flight_pass_old(f, chunk, end) >= end)
        return 0;
    struct kymo_packed packed;
    int rc = kymo__pack_part(f->packer, chunk, end, &packed);
    if (rc == 0)
        rc = append_block(f, &packed);
    if (rc == 0)
        kymo__store_relaxed(&chunk->passed, (uint32_t)end);
    return rc;
}

static int write_chunks(struct kymo_flight *f)
{
    uint32_t count = kymo__load_acquire(&f->pool->live.header->chunks);
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        struct kymo_chunk *chunk = &f->pool->live.chunks[i];
        uint32_t state = kymo__load_acquire(&chunk->state);
        if (state != KYMO__CHUNK_FREE && chunk->type == KYMO__BLOCK_RECORDS)
            rc = write_part(f, chunk, state == KYMO__CHUNK_OPEN);
        if (state != KYMO__CHUNK_FREE && chunk->type == KYMO__BLOCK_TRACK)
            rc = write_tracks(f, chunk, state == KYMO__CHUNK_OPEN);
    }
    return rc;
}

int kymo__flight_flush(struct kymo_flight *f, uint64_t asked)
{
    struct kymo_snapshot now = kymo__clock_snapshot();
    kymo__names_snapshot(f->names, &now);
    kymo__wall_note(f->names, "wall_clock.stop", NULL);
    kymo__lock(&f->lock);
    f->round++;
    f->oldest = kymo__flight_oldest_tick(f, &now, asked);
    int rc = kymo__names_flush(f->names);
    if (rc == 0)
        rc = write_ring(f);
    if (rc == 0)
        rc = write_chunks(f);
    for (size_t i = 0; rc == 0 && i < f->pool->live.expired_slots; i++)
        rc = kymo__flight_record_expired(f, &f->pool->live.expired[i]);
    if (rc == 0)
        rc = kymo__names_flush(f->names);
    kymo__unlock(&f->lock);
    return rc;
}
