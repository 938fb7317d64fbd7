/* lane.c — the slow part of the recording path (kymo/lane.h): a thread joins a session, changes
   its chunk, counts the events it drops. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "crash.h"
#include "file.h"
#include "laneset.h"
#include "local.h"
#include "local_parts.h"
#include "lock.h"
#include "names.h"
#include "pool.h"
#include "running.h"

struct kymo_record kymo__nowhere;

uint64_t kymo__unplaced;

/* ---- dropped events ---- */

uint32_t kymo__laneset_index(struct kymo_laneset *lanes)
{
    return kymo__add_relaxed(&lanes->threads, 1u);
}

void kymo__gap_record(struct kymo_laneset *lanes, struct kymo_gap_slot *slot)
{
    uint64_t count = kymo__load_acquire(&slot->count);
    uint32_t thread = kymo__load_relaxed(&slot->thread); /* other threads look for a free slot */
    if (!count || !thread)
        return;
    const uint64_t numbers[] = {thread - 1, slot->reason, count, slot->first_ticks,
                                slot->last_ticks};
    if (kymo__names_define(lanes->names, KYMO__DEF_GAP, numbers) < 0)
        return; /* the gap stays pending */
    kymo__add_relaxed(&lanes->dropped_records, count);
    kymo__add_release(&slot->count, -count); /* a signal handler may have dropped more */
}

static void count_lost(struct kymo_local *local, unsigned count, int reason)
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

/* Take a slot in the live file for LOCAL's pending gap, so that a kill does not lose the count.
   If all slots are taken, LOCAL counts in its own memory. */
static void gap_slot_take(struct kymo_laneset *lanes, struct kymo_local *local)
{
    local->spare = (struct kymo_gap_slot){.thread = local->lane.thread + 1};
    local->gap = &local->spare;
    uint32_t from = kymo__load_relaxed(&lanes->gap_hint);
    const struct kymo_live *live = &lanes->pool->live;
    for (uint32_t i = 0; i < live->gap_slots; i++) {
        struct kymo_gap_slot *slot = &live->gaps[(from + i) % live->gap_slots];
        uint32_t none = 0;
        if (kymo__load_relaxed(&slot->thread) == 0 &&
            kymo__swap_if(&slot->thread, &none, local->lane.thread + 1)) {
            kymo__store_relaxed(&lanes->gap_hint, from + i + 1);
            local->gap = slot;
            return;
        }
    }
}

void kymo__local_gap_return(struct kymo_laneset *lanes, struct kymo_local *local)
{
    kymo__gap_record(lanes, local->gap);
    if (local->gap != &local->spare && !kymo__load_relaxed(&local->gap->count))
        kymo__store_release(&local->gap->thread, 0u);
    local->gap = &local->spare;
}

/* ---- joining ---- */

void kymo__system_name(uint32_t tid, char name[32])
{
    if (tid == kymo__tid_now() && prctl(PR_GET_NAME, name) == 0)
        return; /* a tenth of what reading a file takes */
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%u/comm", tid);
    if (kymo__file_text(path, name, 32) < 0)
        name[0] = '\0';
}

/* Make LOCAL, which is claimed, part of the session of LANES without announcing the thread in the capture.
   Also in signal handlers. */
static void join_quietly(struct kymo_laneset *lanes, struct kymo_local *local)
{
    local->lane.session = lanes->number;
    local->lane.quick = kymo__load_relaxed(&kymo__clock_counter) ? lanes->number : KYMO_NO_SESSION;
    local->home = lanes;
    local->chunk = NULL;
    local->lane.end = &kymo__nowhere;
    local->number = 0;
    local->pen = (struct kymo_pen){0};
    memset(local->recent, 0, sizeof(local->recent)); /* keys belong to a session */
    memset(local->recent_ops, 0, sizeof(local->recent_ops));
    local->recent_dtype = local->recent_device = (struct kymo_recent){0};
    local->lane.op_note = local->lane.op_numbers = 0;
    local->lane.thread = kymo__laneset_index(lanes);
    local->joined_ticks = kymo_ticks();
    gap_slot_take(lanes, local);
    kymo__store_relaxed(&local->nameless, 0u);
    kymo__store_release(&local->undefined, 1u);
}

void kymo__local_introduce(struct kymo_laneset *lanes, struct kymo_local *local, uint32_t tid)
{
    if (!kymo__load_relaxed(&local->undefined) || !kymo__exchange(&local->undefined, 0u))
        return;
    char name[32];
    kymo__system_name(tid, name);
    const uint64_t numbers[] = {local->lane.thread, tid, local->joined_ticks,
                                kymo__names_string(lanes->names, name, NULL)};
    kymo__names_define(lanes->names, KYMO__DEF_THREAD, numbers);
}

/* Make LOCAL, which is claimed, part of the session of LANES as thread TID. */
static void join_session(struct kymo_laneset *lanes, struct kymo_local *local, uint32_t tid)
{
    join_quietly(lanes, local);
    kymo__local_introduce(lanes, local, tid);
    kymo__crash_thread_begins();
}

void kymo__local_part(struct kymo_laneset *lanes, struct kymo_local *local)
{
    if (local->chunk)
        kymo__pool_give(lanes->pool, local->chunk);
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

/* Get the next chunk. LOCAL is claimed and part of the session of LANES. */
static struct kymo_record *change_chunk(struct kymo_laneset *lanes, struct kymo_local *local)
{
    int reason = KYMO_GAP_BUDGET;
    kymo__local_part(lanes, local);
    struct kymo_chunk *chunk = kymo__pool_take(lanes->pool, &reason);
    if (!chunk) {
        local->spare.reason = (uint32_t)reason;
        return NULL;
    }
    kymo__gap_record(lanes, local->gap);
    return begin_chunk(local, chunk);
}

struct kymo_record *kymo__lane_join(struct kymo_lane *lane, struct kymo_record *at,
                                    struct kymo_laneset *lanes)
{
    if (lanes->number == lane->session)
        return at;
    join_session(lanes, (struct kymo_local *)lane, kymo__tid_now());
    if (lanes->joined)
        lanes->joined();
    return &kymo__nowhere;
}

/* Handle a claim that found no room or a new session. LOCAL is claimed at AT, or NULL when the
   thread has none. */
static struct kymo_record *claim_slowly(struct kymo_local *local, struct kymo_record *at,
                                        unsigned count)
{
    if (!local) {
        if (!kymo__switch_now() || !(local = kymo__local_mine()))
            return NULL;
        at = local->lane.next;
    } else if (kymo__unlikely(kymo__load_relaxed(&local->orphan) != KYMO__OWNED)) {
        kymo__local_adopt(local); /* a signal handler started using it */
    }
    const struct kymo_running *running = kymo__running_now();
    if (!running) {
        kymo_lane_release(&local->lane, at);
        return NULL;
    }
    if (!count)
        return at; /* no record follows: it does not have to join the session */
    return kymo_lane_more(&local->lane, kymo__lane_join(&local->lane, at, running->lanes), count);
}

KYMO__COLD struct kymo_record *kymo__lane_slow(struct kymo_lane *lane, struct kymo_record *at,
                                               unsigned count)
{
    struct kymo_local *local = (struct kymo_local *)lane;
    if (local && !at) {
        /* A call inside a call: the claim belongs to the outer one. */
        count_lost(local, count != 0, KYMO_GAP_NESTED);
        return NULL;
    }
    if (kymo__inside) {
        /* A signal handler that interrupted code holding one of our locks. */
        if (local) {
            count_lost(local, count != 0, KYMO_GAP_NESTED);
            kymo_lane_release(lane, at);
        } else if (count && kymo__switch_now()) {
            kymo__add_relaxed(&kymo__unplaced, UINT64_C(1));
        }
        return NULL;
    }
    int error = errno; /* the caller may be an allocator */
    int cancel = kymo__cancel_off();
    at = claim_slowly(local, at, count);
    kymo__cancel_restore(cancel);
    errno = error;
    return at;
}

KYMO__COLD void kymo_lane_drop(struct kymo_lane *lane, struct kymo_record *at, unsigned count,
                               int reason)
{
    count_lost((struct kymo_local *)lane, count, reason);
    kymo_lane_release(lane, at);
}

struct kymo_lane *kymo_lane_of_thread(uint32_t tid, unsigned count, struct kymo_record **at)
{
    struct kymo_local *local = kymo__switch_now() ? kymo__local_orphan(tid) : NULL;
    if (!local || kymo__load_relaxed(&local->orphan) == KYMO__SAMPLED)
        return NULL;
    kymo__store_relaxed(&local->lane.claimed, 1u);
    kymo__compiler_fence();
    /* Claimed: from here on kymo_stop waits. If it came first, there is nothing to do. */
    const struct kymo_running *running = kymo__running_now();
    if (!running) {
        kymo_lane_release(&local->lane, &kymo__nowhere);
        return NULL;
    }
    join_session(running->lanes, local, tid);
    *at = kymo_lane_more(&local->lane, &kymo__nowhere, count);
    return *at ? &local->lane : NULL;
}

struct kymo_record *kymo_lane_more(struct kymo_lane *lane, struct kymo_record *after,
                                   unsigned count)
{
    struct kymo_local *local = (struct kymo_local *)lane;
    if ((local->chunk || !count) && after + count <= lane->end)
        return after;
    struct kymo_record *at = change_chunk(local->home, local);
    if (!at) {
        count_lost(local, 1, (int)local->spare.reason);
        kymo_lane_release(lane, &kymo__nowhere);
    }
    return at;
}

/* Like change_chunk, using only what is available without a lock. */
static struct kymo_record *change_chunk_in_signal(struct kymo_laneset *lanes,
                                                  struct kymo_local *local)
{
    kymo__local_part(lanes, local);
    struct kymo_chunk *chunk = kymo__pool_take_free(lanes->pool);
    return chunk ? begin_chunk(local, chunk) : NULL;
}

struct kymo_record *kymo__lane_claim_in_signal(struct kymo_lane *lane, unsigned count)
{
    struct kymo_local *local = (struct kymo_local *)lane;
    if (kymo__load_relaxed(&lane->claimed)) {
        count_lost(local, 1, KYMO_GAP_NESTED);
        return NULL;
    }
    kymo__store_relaxed(&lane->claimed, 1u);
    kymo__compiler_fence();
    struct kymo_record *at = lane->next;
    const struct kymo_running *running = kymo__running_now();
    if (!running) {
        kymo_lane_release(lane, at);
        return NULL;
    }
    struct kymo_laneset *lanes = running->lanes;
    if (lanes->number != lane->session) {
        join_quietly(lanes, local);
        at = &kymo__nowhere;
    }
    if (local->chunk && (uintptr_t)at <= (uintptr_t)(lane->end - count))
        return at;
    at = change_chunk_in_signal(lanes, local);
    if (!at) {
        count_lost(local, 1, KYMO_GAP_BUDGET);
        kymo_lane_release(lane, &kymo__nowhere);
    }
    return at;
}

KYMO__COLD uint32_t kymo__key_slow(struct kymo_local *local, const char *name)
{
    struct kymo_names *names = local->home->names;
    uint32_t key = kymo__names_find(names, name);
    if (!key && !kymo__inside) {
        int cancel = kymo__cancel_off();
        key = kymo__names_add(names, name);
        kymo__cancel_restore(cancel);
    }
    if (key) {
        local->recent_changes++;
        local->recent[kymo__recent_place(name)] = (struct kymo_recent){name, key};
    }
    return key;
}
