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
#include "file.h"
#include "session.h"

_Thread_local struct kymo_local *kymo__self __attribute__((tls_model("initial-exec")));

_Thread_local uint32_t kymo__tid __attribute__((tls_model("initial-exec")));

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
    if (!slot->count || !slot->thread)
        return;
    const uint64_t numbers[] = {slot->thread - 1, slot->reason, slot->count, slot->first_ticks,
                                slot->last_ticks};
    if (kymo__names_define(&s->names, KYMO__DEF_GAP, numbers) < 0)
        return; /* it stays pending */
    kymo__add_relaxed(&s->dropped_records, slot->count);
    kymo__store_release(&slot->count, UINT64_C(0));
}

static void lose(struct kymo_local *local, unsigned count, int reason)
{
    struct kymo_gap_slot *slot = local->gap;
    uint64_t now = kymo__ticks();
    if (!slot->count)
        slot->first_ticks = now;
    slot->reason = (uint32_t)reason;
    slot->last_ticks = now;
    kymo__store_release(&slot->count, slot->count + count);
}

/* A slot in the live file for LOCAL's pending gap, so that a kill does not lose the
   count. With all slots taken it counts in its own memory. */
static void gap_slot_take(struct kymo_session *s, struct kymo_local *local)
{
    local->spare = (struct kymo_gap_slot){.thread = local->thread + 1};
    local->gap = &local->spare;
    uint32_t from = kymo__load_relaxed(&s->gap_hint);
    for (uint32_t i = 0; i < KYMO__GAP_SLOTS; i++) {
        struct kymo_gap_slot *slot = &s->live.gaps[(from + i) % KYMO__GAP_SLOTS];
        uint32_t none = 0;
        if (kymo__load_relaxed(&slot->thread) == 0 &&
            kymo__swap_if(&slot->thread, &none, local->thread + 1)) {
            kymo__store_relaxed(&s->gap_hint, from + i + 1);
            local->gap = slot;
            return;
        }
    }
}

static void gap_slot_return(struct kymo_session *s, struct kymo_local *local)
{
    kymo__gap_record(s, local->gap);
    if (local->gap != &local->spare && !local->gap->count) {
        local->gap->count = 0;
        kymo__store_release(&local->gap->thread, 0u);
    }
    local->gap = &local->spare;
}

/* The thread's name as the system has it. */
static void system_name(char name[32])
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%u/comm", kymo__tid_now());
    if (kymo__file_text(path, name, 32) < 0)
        name[0] = '\0';
}

/* Make LOCAL, which is claimed, part of session S. */
static void join(struct kymo_session *s, struct kymo_local *local)
{
    local->session = s->number;
    local->names = &s->names;
    local->chunk = NULL;
    local->end = &nowhere;
    local->number = 0;
    memset(local->recent, 0, sizeof(local->recent)); /* keys are the session's */
    local->thread = kymo__add_relaxed(&s->threads, 1u);
    gap_slot_take(s, local);
    char name[32];
    system_name(name);
    const uint64_t numbers[] = {local->thread, kymo__tid_now(), kymo__ticks(),
                                kymo__names_string(&s->names, name, NULL)};
    kymo__names_define(&s->names, KYMO__DEF_THREAD, numbers);
}

/* Give LOCAL's chunk away to be written. */
static void part_with_chunk(struct kymo_session *s, struct kymo_local *local)
{
    if (local->chunk)
        kymo__pool_give(s, local->chunk);
    local->chunk = NULL;
    local->end = &nowhere;
}

/* A thread ends. The registry's lock keeps kymo_stop from ending the session meanwhile. */
static void on_thread_exit(void *arg)
{
    struct kymo_local *local = arg;
    kymo__self = NULL;
    pthread_mutex_lock(&registry_lock);
    if (kymo__switch_now() == local->session && local->session) {
        struct kymo_session *s = kymo__session;
        part_with_chunk(s, local);
        gap_slot_return(s, local);
        kymo__names_define(&s->names, KYMO__DEF_THREAD_END,
                           (const uint64_t[]){local->thread, kymo__ticks()});
    }
    forget(local);
    pthread_mutex_unlock(&registry_lock);
    kymo__free(local);
}

static void make_key(void)
{
    pthread_key_create(&at_exit, on_thread_exit);
}

static struct kymo_local *local_new(void)
{
    struct kymo_local *local = kymo__alloc_zeroed(sizeof(*local));
    if (!local)
        return NULL;
    local->next = local->end = &nowhere;
    local->gap = &local->spare;
    pthread_once(&once, make_key);
    if (pthread_setspecific(at_exit, local) != 0) {
        kymo__free(local);
        return NULL;
    }
    pthread_mutex_lock(&registry_lock);
    local->after = all;
    if (all)
        all->before = local;
    all = local;
    pthread_mutex_unlock(&registry_lock);
    kymo__self = local;
    return local;
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
    chunk->type = KYMO__BLOCK_RECORDS;
    chunk->thread = local->thread;
    chunk->number = local->number++;
    kymo__store_release(&chunk->state, (uint32_t)KYMO__CHUNK_OPEN);
    local->chunk = chunk;
    local->end = chunk->records + KYMO__CHUNK_RECORDS;
    return chunk->records;
}

KYMO__COLD struct kymo_record *kymo__claim_slow(struct kymo_local *local, struct kymo_record *at,
                                     unsigned count)
{
    if (!local) {
        if (!kymo__switch_now() || !(local = local_new()))
            return NULL;
        at = local->next;
        kymo__store_relaxed(&local->next, (struct kymo_record *)NULL);
        kymo__compiler_fence();
    } else if (!at) {
        /* A call inside a call: the claim is the outer one's. */
        lose(local, count, KYMO_GAP_NESTED);
        return NULL;
    }
    uint32_t now = kymo__switch_now();
    if (!now) {
        kymo__store_release(&local->next, at);
        return NULL;
    }
    struct kymo_session *s = kymo__session;
    if (now != local->session)
        join(s, local);
    else if (local->chunk && at + count <= local->end)
        return at;
    at = change_chunk(s, local);
    if (!at) {
        lose(local, count, (int)local->spare.reason);
        kymo__store_release(&local->next, &nowhere);
    }
    return at;
}

KYMO__COLD void kymo__abandon(struct kymo_local *local, struct kymo_record *at, unsigned count,
                              int reason)
{
    if (count)
        lose(local, count, reason);
    kymo__store_release(&local->next, at);
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
        if (kymo__load_acquire(&local->next))
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
    for (struct kymo_local *local = all; local; local = local->after) {
        if (!at_rest(local)) {
            stuck++;
            continue;
        }
        if (local->session != number)
            continue;
        part_with_chunk(kymo__session, local);
        gap_slot_return(kymo__session, local);
    }
    pthread_mutex_unlock(&registry_lock);
    return stuck;
}

void kymo__locals_forked(void)
{
    pthread_mutex_init(&registry_lock, NULL);
    kymo__tid = 0;
    struct kymo_local *self = kymo__self;
    all = self; /* the others' threads are not in this process */
    if (self) {
        self->before = self->after = NULL;
        self->gap = &self->spare;
        self->chunk = NULL;
        self->next = self->end = &nowhere;
    }
}
