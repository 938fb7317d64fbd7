/* local.c — see local.h: threads joining a session, changing chunks, leaving. */
#include "local.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "crash.h"
#include "file.h"
#include "session.h"

__thread struct kymo_lane *kymo__lane __attribute__((tls_model("initial-exec")));

_Thread_local uint32_t kymo__tid __attribute__((tls_model("initial-exec")));

/* 1: this thread has given its local up and is about to end. */
static _Thread_local uint32_t over __attribute__((tls_model("initial-exec")));

uint32_t kymo__tid_ask(void)
{
    return kymo__tid = (uint32_t)syscall(SYS_gettid);
}

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kymo_local *all; /* under registry_lock */
static pthread_key_t at_exit;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* What `next` is while there is no chunk: not NULL, and without room. */
static struct kymo_record nowhere;

static void forget(struct kymo_local *local)
{
    if (local->before)
        local->before->after = local->after;
    else
        all = local->after;
    if (local->after)
        local->after->before = local->before;
}

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

static void gap_slot_return(struct kymo_session *s, struct kymo_local *local)
{
    kymo__gap_record(s, local->gap);
    if (local->gap != &local->spare && !kymo__load_relaxed(&local->gap->count))
        kymo__store_release(&local->gap->thread, 0u);
    local->gap = &local->spare;
}

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
    local->names = &s->names;
    local->chunk = NULL;
    local->lane.end = &nowhere;
    local->number = 0;
    memset(local->recent, 0, sizeof(local->recent)); /* keys are the session's */
    local->lane.thread = kymo__add_relaxed(&s->threads, 1u);
    local->joined_ticks = kymo_ticks();
    gap_slot_take(s, local);
    kymo__store_release(&local->untold, 1u);
}

/* Tell the capture of LOCAL's thread, if that was not done. Whoever comes first does it. */
static void introduce(struct kymo_session *s, struct kymo_local *local, uint32_t tid)
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
    introduce(s, local, tid);
    kymo__crash_thread_begins();
}

/* Give LOCAL's chunk away to be written. */
static void part_with_chunk(struct kymo_session *s, struct kymo_local *local)
{
    if (local->chunk)
        kymo__pool_give(s, local->chunk);
    local->chunk = NULL;
    local->lane.end = &nowhere;
}

/* The thread of LOCAL ends, or has ended. The registry's lock, which the caller has, keeps
   kymo_stop from ending the session meanwhile. LOCAL is to be freed. */
static void leave(struct kymo_local *local)
{
    (void)kymo__load_acquire(&local->lane.claimed); /* what the thread did up to its last commit */
    /* Not the switch: when it is off already, the chunk is still ours to give until
       kymo__locals_detach has been here. */
    struct kymo_session *s = local->names && !kymo__switch_forked() ? kymo__session : NULL;
    if (s && local->names == &s->names) {
        introduce(s, local, local->tid);
        part_with_chunk(s, local);
        gap_slot_return(s, local);
        kymo__names_define(&s->names, KYMO__DEF_THREAD_END,
                           (const uint64_t[]){local->lane.thread, kymo_ticks()});
    }
    forget(local);
}

static void on_thread_exit(void *arg)
{
    struct kymo_local *local = arg;
    over = 1; /* before the lane goes: a signal handler must not find another one */
    kymo__compiler_fence();
    kymo__lane = NULL;
    kymo__compiler_fence();
    pthread_mutex_lock(&registry_lock);
    leave(local);
    pthread_mutex_unlock(&registry_lock);
    kymo__free(local);
    kymo__crash_thread_ends();
}

static void make_key(void)
{
    pthread_key_create(&at_exit, on_thread_exit);
}

/* Under the registry's lock. */
static void enrol(struct kymo_local *local)
{
    local->after = all;
    if (all)
        all->before = local;
    all = local;
}

static struct kymo_local *local_new(uint32_t tid)
{
    struct kymo_local *local = kymo__alloc_zeroed(sizeof(*local));
    if (!local)
        return NULL;
    local->lane.next = local->lane.end = &nowhere;
    local->gap = &local->spare;
    local->tid = tid;
    return local;
}

/* The local of thread TID, or the one that another thread began for it; NULL when there is
   none. */
static struct kymo_local *local_of(uint32_t tid)
{
    struct kymo_local *local = all;
    while (local && local->tid != tid)
        local = local->after;
    return local;
}

/* What somebody else keeps for thread TID, made if there is none; NULL when the thread has its
   own or memory is short. */
static struct kymo_local *orphan_of(uint32_t tid)
{
    struct kymo_local *fresh = local_new(tid);
    if (!fresh)
        return NULL;
    fresh->orphan = KYMO__ORPHAN;
    pthread_mutex_lock(&registry_lock);
    struct kymo_local *local = local_of(tid);
    if (!local)
        enrol(local = fresh);
    bool owned = kymo__load_relaxed(&local->orphan) == KYMO__OWNED;
    pthread_mutex_unlock(&registry_lock);
    if (local != fresh)
        kymo__free(fresh);
    return owned ? NULL : local;
}

/* From now on the calling thread itself tidies LOCAL up, which is its own. Where that cannot
   be, somebody else will. Not under the registry's lock: the lane may be claimed, and
   kymo_stop waits for claims with that lock. */
static void adopt(struct kymo_local *local)
{
    pthread_once(&once, make_key);
    if (pthread_setspecific(at_exit, local) == 0)
        kymo__store_release(&local->orphan, (uint32_t)KYMO__OWNED);
}

/* A local for the calling thread, which has none: a new one, unless somebody began one. */
static struct kymo_local *local_mine(void)
{
    uint32_t tid = kymo__tid_now();
    struct kymo_local *fresh = local_new(tid);
    if (!fresh)
        return NULL;
    fresh->orphan = KYMO__SAMPLED;
    pthread_mutex_lock(&registry_lock);
    struct kymo_local *local = local_of(tid);
    if (!local || kymo__load_relaxed(&local->orphan) == KYMO__OWNED)
        enrol(local = fresh);
    else
        kymo__store_relaxed(&local->orphan, (uint32_t)KYMO__SAMPLED);
    pthread_mutex_unlock(&registry_lock);
    if (local != fresh)
        kymo__free(fresh);
    kymo__lane = &local->lane;
    adopt(local);
    kymo__sampler_meet();
    return local;
}

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
    part_with_chunk(s, local);
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
    return &nowhere;
}

KYMO__COLD struct kymo_record *kymo__lane_slow(struct kymo_lane *lane, struct kymo_record *at,
                                               unsigned count)
{
    struct kymo_local *local = (struct kymo_local *)lane;
    if (!local) {
        if (!kymo__switch_now() || !(local = local_mine()))
            return NULL;
        kymo__store_relaxed(&local->lane.claimed, 1u);
        kymo__compiler_fence();
        at = local->lane.next;
    } else if (at && kymo__unlikely(kymo__load_relaxed(&local->orphan) != KYMO__OWNED)) {
        adopt(local); /* a signal handler found it */
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
    struct kymo_local *local = kymo__switch_now() ? orphan_of(tid) : NULL;
    if (!local || kymo__load_relaxed(&local->orphan) == KYMO__SAMPLED)
        return NULL;
    kymo__store_relaxed(&local->lane.claimed, 1u);
    kymo__compiler_fence();
    /* Claimed: from here on kymo_stop waits. If it was quicker, there is nothing to do. */
    if (!kymo__switch_now()) {
        kymo_lane_release(&local->lane, &nowhere);
        return NULL;
    }
    join(kymo__session, local, tid);
    *at = kymo_lane_more(&local->lane, &nowhere, count);
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
        kymo_lane_release(lane, &nowhere);
    }
    return at;
}

/* ---- in signal handlers ---- */

struct kymo_lane *kymo__lane_in_signal(struct kymo_lane *prepared)
{
    struct kymo_lane *lane = kymo__lane;
    if (lane || !prepared || over)
        return lane;
    kymo__store_relaxed(&((struct kymo_local *)prepared)->orphan, (uint32_t)KYMO__SAMPLED);
    return kymo__lane = prepared;
}

/* As change_chunk, with what can be had without a lock. */
static struct kymo_record *change_chunk_in_signal(struct kymo_session *s, struct kymo_local *local)
{
    part_with_chunk(s, local);
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
        at = &nowhere;
    }
    if (local->chunk && (uintptr_t)at <= (uintptr_t)(lane->end - count))
        return at;
    at = change_chunk_in_signal(kymo__session, local);
    if (!at) {
        lose(local, 1, KYMO_GAP_BUDGET);
        kymo_lane_release(lane, &nowhere);
    }
    return at;
}

struct kymo_lane *kymo__lane_prepare(uint32_t tid)
{
    struct kymo_local *local = orphan_of(tid);
    return local ? &local->lane : NULL;
}

void kymo__lane_ended(uint32_t tid)
{
    pthread_mutex_lock(&registry_lock);
    struct kymo_local *local = local_of(tid);
    bool ours = local && kymo__load_acquire(&local->orphan) != KYMO__OWNED;
    if (ours)
        leave(local);
    pthread_mutex_unlock(&registry_lock);
    if (ours)
        kymo__free(local);
}

void kymo__lanes_sweep(void)
{
    pthread_mutex_lock(&registry_lock);
    for (struct kymo_local *local = all, *after; local; local = after) {
        after = local->after;
        if (kymo__load_acquire(&local->orphan) == KYMO__OWNED ||
            syscall(SYS_tgkill, getpid(), local->tid, 0) == 0 || errno != ESRCH)
            continue;
        leave(local);
        kymo__free(local);
    }
    pthread_mutex_unlock(&registry_lock);
}

void kymo__lanes_tell(struct kymo_session *s)
{
    pthread_mutex_lock(&registry_lock);
    for (struct kymo_local *local = all; local; local = local->after)
        if (kymo__load_acquire(&local->untold) && local->lane.session == s->number)
            introduce(s, local, local->tid);
    pthread_mutex_unlock(&registry_lock);
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

/* Wait until LOCAL is not claimed. False when that takes too long: its thread is
   stopped by a debugger, or left a recording call in a way that never returns. */
static bool at_rest(struct kymo_local *local)
{
    const struct timespec moment = {0, 100000};
    for (int attempt = 0; attempt < 20000; attempt++) {
        if (!kymo__load_acquire(&local->lane.claimed))
            return true;
        if (attempt < 100)
            sched_yield();
        else
            nanosleep(&moment, NULL);
    }
    return false;
}

unsigned kymo__locals_detach(uint32_t number)
{
    unsigned stuck = 0;
    pthread_mutex_lock(&registry_lock);
    for (struct kymo_local *local = all, *after; local; local = after) {
        after = local->after;
        if (!at_rest(local)) {
            stuck++;
            continue;
        }
        if (local->lane.session != number)
            continue;
        introduce(kymo__session, local, local->tid);
        part_with_chunk(kymo__session, local);
        gap_slot_return(kymo__session, local);
        local->names = NULL; /* it is no longer part of the session */
    }
    pthread_mutex_unlock(&registry_lock);
    return stuck;
}

void kymo__locals_forked(void)
{
    pthread_mutex_init(&registry_lock, NULL);
    kymo__tid = 0;
    over = 0;
    struct kymo_local *self = (struct kymo_local *)kymo__lane;
    all = self; /* the others' threads are not in this process */
    if (self) {
        self->before = self->after = NULL;
        self->tid = kymo__tid_now();
        self->gap = &self->spare;
        self->chunk = NULL;
        self->untold = 0;
        self->lane.next = self->lane.end = &nowhere;
        self->lane.claimed = 0;
    }
}
