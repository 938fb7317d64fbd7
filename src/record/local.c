/* local.c — see local.h: who has a local, from the first record of a thread to its end. */
#include "local.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "crash.h"
#include "local_parts.h"
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

static void forget(struct kymo_local *local)
{
    if (local->before)
        local->before->after = local->after;
    else
        all = local->after;
    if (local->after)
        local->after->before = local->before;
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
        kymo__local_introduce(s, local, local->tid);
        kymo__local_part(s, local);
        kymo__local_gap_return(s, local);
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
    local->lane.next = local->lane.end = &kymo__nowhere;
    local->lane.running = kymo__switch;
    local->lane.quick = KYMO_NO_SESSION;
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

struct kymo_local *kymo__local_orphan(uint32_t tid)
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

void kymo__local_adopt(struct kymo_local *local)
{
    pthread_once(&once, make_key);
    if (pthread_setspecific(at_exit, local) == 0)
        kymo__store_release(&local->orphan, (uint32_t)KYMO__OWNED);
}

struct kymo_local *kymo__local_mine(void)
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
    kymo__local_adopt(local);
    return local;
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

struct kymo_lane *kymo__lane_prepare(uint32_t tid)
{
    struct kymo_local *local = kymo__local_orphan(tid);
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
            kymo__local_introduce(s, local, local->tid);
    pthread_mutex_unlock(&registry_lock);
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
        kymo__local_introduce(kymo__session, local, local->tid);
        kymo__local_part(kymo__session, local);
        kymo__local_gap_return(kymo__session, local);
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
        self->lane.next = self->lane.end = &kymo__nowhere;
        self->lane.claimed = 0;
    }
}
