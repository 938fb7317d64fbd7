/* flightring.c — see flightring.h.

   Expired records are counted for each thread, in slots of the live file, and become a gap when
   something is written. */
#include "flightring.h"

#include <string.h>

#include "live.h"
#include "names.h"
#include "pool.h"

/* ---- expiry ---- */

int kymo__flight_record_expired(struct kymo_flight *f, struct kymo_gap_slot *slot)
{
    const uint64_t numbers[] = {slot->thread - 1, slot->reason, slot->count, slot->first_ticks,
                                slot->last_ticks};
    int rc = slot->count ? kymo__names_define(f->names, KYMO__DEF_GAP, numbers) : 0;
    if (rc == 0)
        kymo__store_release(&slot->count, UINT64_C(0));
    return rc;
}

static void count_expired(struct kymo_flight *f, uint32_t thread, uint64_t records, uint64_t first,
                          uint64_t last)
{
    struct kymo_gap_slot *slot = &f->pool->live.expired[thread % f->pool->live.expired_slots];
    /* A gap of another thread is recorded first. If that fails, both are counted for that
       thread: at least the sum is right. */
    if (slot->count && slot->thread != thread + 1)
        kymo__flight_record_expired(f, slot);
    if (!slot->count)
        *slot = (struct kymo_gap_slot){.thread = thread + 1,
                                       .reason = KYMO_GAP_FLIGHT,
                                       .first_ticks = first,
                                       .last_ticks = last};
    slot->first_ticks = first < slot->first_ticks ? first : slot->first_ticks;
    slot->last_ticks = last > slot->last_ticks ? last : slot->last_ticks;
    kymo__store_release(&slot->count, slot->count + records);
    kymo__add_relaxed(&f->expired_records, records);
}

size_t kymo__flight_pass_old(struct kymo_flight *f, struct kymo_chunk *chunk, size_t end)
{
    const uint64_t oldest = f->oldest;
    size_t passed = kymo__load_relaxed(&chunk->passed), from = passed;
    uint64_t events = 0, first = UINT64_MAX, last = 0;
    for (; oldest && passed < end; passed++) {
        const struct kymo_record *record = &chunk->records[passed];
        unsigned kind = kymo__word_kind(record->word);
        if (kymo__kind_follows(kind) || kind == KYMO_PAYLOAD)
            continue; /* values stay with the event before them */
        if (record->ticks >= oldest)
            break;
        first = record->ticks < first ? record->ticks : first;
        last = record->ticks > last ? record->ticks : last;
        events++;
    }
    if (events)
        count_expired(f, chunk->thread, events, first, last);
    if (passed != from)
        kymo__store_relaxed(&chunk->passed, (uint32_t)passed);
    return passed;
}

uint64_t kymo__flight_oldest_tick(const struct kymo_flight *f, const struct kymo_snapshot *now,
                                  uint64_t at)
{
    kymo_ns lasted = now->monotonic - f->started.monotonic;
    if (!f->span || lasted <= f->span)
        return 0;
    double share = (double)f->span / (double)lasted;
    uint64_t span = (uint64_t)((double)(now->ticks - f->started.ticks) * share);
    uint64_t ended = kymo__load_acquire(&f->ended);
    if (ended && ended < at)
        at = ended;
    return at - f->started.ticks > span ? at - span : 0;
}

/* ---- the ring ---- */

void kymo__flight_pop(struct kymo_flight *f)
{
    f->records -= kymo__flight_oldest(f)->records;
    f->head += (size_t)kymo__block_bytes(kymo__flight_oldest(f));
    if (f->head == f->wrap)
        f->head = f->wrap = 0;
    if (!--f->blocks)
        f->head = f->tail = f->wrap = 0;
    kymo__store_relaxed(&f->pool->live.header->ring_records, f->records);
}

static void expire_block(struct kymo_flight *f, const struct kymo_block_header *header)
{
    count_expired(f, header->thread, header->records, header->first_ticks, header->last_ticks);
}

void kymo__flight_expire_front(struct kymo_flight *f)
{
    expire_block(f, kymo__flight_oldest(f));
    kymo__flight_pop(f);
}

/* Make room for LEN bytes at `tail`. */
static bool has_room(struct kymo_flight *f, size_t len)
{
    if ((f->wrap ? f->head : f->size) - f->tail >= len)
        return true;
    if (f->wrap || f->head < len)
        return false;
    f->wrap = f->tail;
    f->tail = 0;
    return true;
}

void kymo__flight_push(struct kymo_flight *f, const struct kymo_packed *packed)
{
    if (packed->len > f->size) {
        /* Too large even for an empty ring. Drop everything: what the ring holds must be the
           newest. */
        while (f->blocks)
            kymo__flight_expire_front(f);
        expire_block(f, packed->header);
        return;
    }
    while (!has_room(f, packed->len))
        kymo__flight_expire_front(f);
    memcpy(f->ring + f->tail, packed->bytes, packed->len);
    f->tail += packed->len;
    f->blocks++;
    f->records += packed->header->records;
    kymo__store_relaxed(&f->pool->live.header->ring_records, f->records);
}
