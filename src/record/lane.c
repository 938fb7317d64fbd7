/* lane.c — the recording path where it is more than a few stores (kymo/lane.h): a thread joins a
   session, changes its chunk, counts what it gives up. */
#include <stdio.h>
#include <string.h>

#include "crash.h"
#include "file.h"
#include "local_parts.h"
#include "session.h"

struct kymo_record kymo__nowhere;

/* ---- what is given up ---- */

void kymo__gap_record(struct kymo_session *s, struct kymo_gap_slot *slot)
{
    uint64_t count = kymo__load_acquire(&slot->count);
    uint32_t thread = kymo__load_relaxed(&slot->thread); /* others look for a free slot */
    if (!count || !thread)
        return;
    const uint64_t numbers[] = {thread - 1, slot->reason, count, slot->first_ticks,
                                slot->last_ticks};
    if (kymo__names_define(&s->names, KYMO__DEF_GAP, numbers) < 0)
        return; /* it stays pending */
    kymo__add_relaxed(&s->dropped_records, count);
    kymo__add_release(&slot->count, -count); /* a signal handler may have lost more */
}

static void lose(struct kymo_local *local, unsigned count, int reason)
{
    if (!count)
        return;
    struct kymo_gap_slot *slot = local->gap;
    uint64_t now = kymo_ticks();
    if (!kymo__load_relaxed(&slot->count))
        slot->first_ticks = now;
    slot->reason = (uint32_t)reason;
    slot->last_ticks = now;
    kymo__add_release(&slot->count, (uint64_t)count); /* also from a signal handler */
}

/* A slot in the live file for LOCAL's pending gap, so that a kill does not lose the
   count. With all slots taken it counts in its own memory. */
static void gap_slot_take(struct kymo_session *s, struct kymo_local *local)
{
    local->spare = (struct kymo_gap_slot){.thread = local->lane.thread + 1};
    local->gap = &local->spare;
    uint32_t from = kymo__load_relaxed(&s->gap_hint);
    for (uint32_t i = 0; i < KYMO__GAP_SLOTS; i++) {
        struct kymo_gap_slot *slot = &s->live.gaps[(from + i) % KYMO__GAP_SLOTS];
        uint32_t none = 0;
        if (kymo__load_relaxed(&slot->thread) == 0 &&
            kymo__swap_if(&slot->thread, &none, local->lane.thread + 1)) {
            kymo__store_relaxed(&s->gap_hint, from + i + 1);
            local->gap = slot;
            return;
        }
    }
}

void kymo__local_gap_return(struct kymo_session *s, struct kymo_local *local)
{
    kymo__gap_record(s, local->gap);
    if (local->gap != &local->spare && !kymo__load_relaxed(&local->gap->count))
        kymo__store_release(&local->gap->thread, 0u);
    local->gap = &local->spare;
}

/* ---- joining ---- */

/* The thread's name as the system has it. */
static void system_name(uint32_t tid, char name[32])
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%u/comm", tid);
    if (kymo__file_text(path, name, 32) < 0)
        name[0] = '\0';
}

/* Make LOCAL, which is claimed, part of session S, but for telling the capture. Also in a
   signal handler. */
static void join_quietly(struct kymo_session *s, struct kymo_local *local)
{
    local->lane.session = s->number;
    local->lane.quick = kymo__load_relaxed(&kymo__clock_counter) ? s->number : KYMO_NO_SESSION;
    local->names = &s->names;
    local->chunk = NULL;
    local->lane.end = &kymo__nowhere;
    local->number = 0;
    memset(local->recent, 0, sizeof(local->recent)); /* keys are the session's */
    local->lane.thread = kymo__add_relaxed(&s->threads, 1u);
    local->joined_ticks = kymo_ticks();
    gap_slot_take(s, local);
    kymo__store_release(&local->untold, 1u);
}

void kymo__local_introduce(struct kymo_session *s, struct kymo_local *local, uint32_t tid)
{
    if (!kymo__load_relaxed(&local->untold) || !kymo__exchange(&local->untold, 0u))
        return;
    char name[32];
    system_name(tid, name);
    const uint64_t numbers[] = {local->lane.thread, tid, local->joined_ticks,
                                kymo__names_string(&s->names, name, NULL)};
    kymo__names_define(&s->names, KYMO__DEF_THREAD, numbers);
}

/* Make LOCAL, which is claimed, part of session S as thread TID. */
static void join(struct kymo_session *s, struct kymo_local *local, uint32_t tid)
{
    join_quietly(s, local);
    kymo__local_introduce(s, local, tid);
    kymo__crash_thread_begins();
}

void kymo__local_part(struct kymo_session *s, struct kymo_local *local)
{
    if (local->chunk)
        kymo__pool_give(s, local->chunk);
    local->chunk = NULL;
    local->lane.end = &kymo__nowhere;
}

/* ---- claims ---- */

/* Record into CHUNK from now on. */
static struct kymo_record *begin_chunk(struct kymo_local *local, struct kymo_chunk *chunk)
{
    chunk->type = KYMO__BLOCK_RECORDS;
    chunk->thread = local->lane.thread;
    chunk->number = local->number++;
    kymo__store_release(&chunk->state, (uint32_t)KYMO__CHUNK_OPEN);
    local->chunk = chunk;
    local->lane.end = chunk->records + KYMO__CHUNK_RECORDS;
    return chunk->records;
}

/* A chunk to go on with. LOCAL is claimed and of session S. */
static struct kymo_record *change_chunk(struct kymo_session *s, struct kymo_local *local)
{
    int reason = KYMO_GAP_BUDGET;
    kymo__local_part(s, local);
    struct kymo_chunk *chunk = kymo__pool_take(s, &reason);
    if (!chunk) {
        local->spare.reason = (uint32_t)reason;
        return NULL;
    }
    kymo__gap_record(s, local->gap);
    return begin_chunk(local, chunk);
}

struct kymo_record *kymo__lane_join(struct kymo_lane *lane, struct kymo_record *at)
{
    if (kymo__session->number == lane->session)
        return at;
    join(kymo__session, (struct kymo_local *)lane, kymo__tid_now());
    kymo__sampler_meet();
    return &kymo__nowhere;
}

KYMO__COLD struct kymo_record *kymo__lane_slow(struct kymo_lane *lane, struct kymo_record *at,
                                               unsigned count)
{
    struct kymo_local *local = (struct kymo_local *)lane;
    if (!local) {
        if (!kymo__switch_now() || !(local = kymo__local_mine()))
            return NULL;
        kymo__store_relaxed(&local->lane.claimed, 1u);
        kymo__compiler_fence();
        at = local->lane.next;
    } else if (at && kymo__unlikely(kymo__load_relaxed(&local->orphan) != KYMO__OWNED)) {
        kymo__local_adopt(local); /* a signal handler found it */
    } else if (!at) {
        /* A call inside a call: the claim is the outer one's. */
        lose(local, count != 0, KYMO_GAP_NESTED);
        return NULL;
    }
    uint32_t now = kymo__switch_now();
    if (!now) {
        kymo_lane_release(&local->lane, at);
        return NULL;
    }
    if (!count)
        return at; /* no record is to follow: it need not be part of the session */
    return kymo_lane_more(&local->lane, kymo__lane_join(&local->lane, at), count);
}

KYMO__COLD void kymo_lane_drop(struct kymo_lane *lane, struct kymo_record *at, unsigned count,
                               int reason)
{
    lose((struct kymo_local *)lane, count, reason);
    kymo_lane_release(lane, at);
}

struct kymo_lane *kymo_lane_of_thread(uint32_t tid, unsigned count, struct kymo_record **at)
{
    struct kymo_local *local = kymo__switch_now() ? kymo__local_orphan(tid) : NULL;
    if (!local || kymo__load_relaxed(&local->orphan) == KYMO__SAMPLED)
        return NULL;
    kymo__store_relaxed(&local->lane.claimed, 1u);
    kymo__compiler_fence();
    /* Claimed: from here on kymo_stop waits. If it was quicker, there is nothing to do. */
    if (!kymo__switch_now()) {
        kymo_lane_release(&local->lane, &kymo__nowhere);
        return NULL;
    }
    join(kymo__session, local, tid);
    *at = kymo_lane_more(&local->lane, &kymo__nowhere, count);
    return *at ? &local->lane : NULL;
}

struct kymo_record *kymo_lane_more(struct kymo_lane *lane, struct kymo_record *after,
                                   unsigned count)
{
    struct kymo_local *local = (struct kymo_local *)lane;
    if ((local->chunk || !count) && after + count <= lane->end)
        return after;
    struct kymo_record *at = change_chunk(kymo__session, local);
    if (!at) {
        lose(local, 1, (int)local->spare.reason);
        kymo_lane_release(lane, &kymo__nowhere);
    }
    return at;
}

/* As change_chunk, with what can be had without a lock. */
static struct kymo_record *change_chunk_in_signal(struct kymo_session *s, struct kymo_local *local)
{
    kymo__local_part(s, local);
    struct kymo_chunk *chunk = kymo__pool_take_free(s);
    return chunk ? begin_chunk(local, chunk) : NULL;
}

struct kymo_record *kymo__lane_claim_in_signal(struct kymo_lane *lane, unsigned count)
{
    struct kymo_local *local = (struct kymo_local *)lane;
    if (kymo__load_relaxed(&lane->claimed)) {
        lose(local, 1, KYMO_GAP_NESTED);
        return NULL;
    }
    kymo__store_relaxed(&lane->claimed, 1u);
    kymo__compiler_fence();
    struct kymo_record *at = lane->next;
    uint32_t now = kymo__switch_now();
    if (!now) {
        kymo_lane_release(lane, at);
        return NULL;
    }
    if (now != lane->session) {
        join_quietly(kymo__session, local);
        at = &kymo__nowhere;
    }
    if (local->chunk && (uintptr_t)at <= (uintptr_t)(lane->end - count))
        return at;
    at = change_chunk_in_signal(kymo__session, local);
    if (!at) {
        lose(local, 1, KYMO_GAP_BUDGET);
        kymo_lane_release(lane, &kymo__nowhere);
    }
    return at;
}

KYMO__COLD uint32_t kymo__key_slow(struct kymo_local *local, const char *name)
{
    uint32_t key = kymo__names_find(local->names, name);
    if (!key)
        key = kymo__names_add(local->names, name);
    uintptr_t bits = (uintptr_t)name;
    if (key)
        local->recent[(bits ^ bits >> 6) % KYMO__RECENT] = (struct kymo_recent){name, key};
    return key;
}
