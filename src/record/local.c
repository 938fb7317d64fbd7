/* local.c — see local.h: the life of a local, from a thread's first record to the thread's end. */
#include "local.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "crash.h"
#include "laneset.h"
#include "local_parts.h"
#include "lock.h"
#include "pool.h"
#include "running.h"
#include "thread.h"

__thread struct kymo_lane *kymo__lane __attribute__((tls_model("initial-exec")));

_Thread_local uint32_t kymo__tid __attribute__((tls_model("initial-exec")));

/* 1: this thread has given up its local and is about to end; it gets no other. */
static _Thread_local uint32_t over __attribute__((tls_model("initial-exec")));

uint32_t kymo__tid_ask(void)
{
    return kymo__tid = (uint32_t)syscall(SYS_gettid);
}

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kymo_local *all; /* under registry_lock */
static pthread_key_t at_exit;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void unlink_local(struct kymo_local *local)
{
    if (local->before)
        local->before->after = local->after;
    else
        all = local->after;
    if (local->after)
        local->after->before = local->before;
}

/* The thread of LOCAL ends, or has ended. The caller holds the registry's lock, which keeps
   kymo_stop from ending the session meanwhile, and must free LOCAL. */
static void end_local(struct kymo_local *local)
{
    (void)kymo__load_acquire(&local->lane.claimed); /* what the thread did up to its last commit */
    /* Do not test the switch: if it is already off, we may still hand the chunk over until
       kymo__locals_detach has run. */
    const struct kymo_running *running =
        local->home && !kymo__switch_forked() ? kymo__running : NULL;
    struct kymo_laneset *lanes = local->home;
    if (running && running->lanes == lanes) {
        kymo__local_introduce(lanes, local, local->tid);
        kymo__local_part(lanes, local);
        kymo__pen_lift(lanes->pool, &local->pen);
        kymo__local_gap_return(lanes, local);
        kymo__names_define(lanes->names, KYMO__DEF_THREAD_END,
                           (const uint64_t[]){local->lane.thread, kymo_ticks()});
    }
    unlink_local(local);
}

/* In the last round ThreadSanitizer ends its thread before we run; taking a lock would then
   crash. */
#ifdef __SANITIZE_THREAD__
enum { LAST_ROUND = PTHREAD_DESTRUCTOR_ITERATIONS - 1 };
#else
enum { LAST_ROUND = PTHREAD_DESTRUCTOR_ITERATIONS };
#endif

/* A process goes on when its main thread ends by itself, and ends with its last thread: one of ours
   would keep it alive for ever. */
static bool main_ended; /* under the registry's lock */

/* The thread of ENDED ends. Was it the last one of the program, as far as we know? */
static bool is_last(const struct kymo_local *ended)
{
    if (ended->ours)
        return false;
    main_ended |= ended->tid == (uint32_t)getpid();
    for (const struct kymo_local *local = all; main_ended && local; local = local->after)
        if (!local->ours && kymo__load_acquire(&local->orphan) == KYMO__OWNED)
            return false;
    return main_ended;
}

static void on_thread_exit(void *arg)
{
    struct kymo_local *local = arg;
    /* Other destructors may record and run after this one: ask to be called again until the last
       round. */
    if (++local->exit_rounds < LAST_ROUND && pthread_setspecific(at_exit, local) == 0)
        return;
    int cancel = kymo__cancel_off();
    over = 1; /* before the lane goes: a signal handler must not find another one */
    kymo__compiler_fence();
    kymo__lane = NULL;
    kymo__compiler_fence();
    kymo__lock(&registry_lock);
    end_local(local);
    bool last = is_last(local);
    kymo__unlock(&registry_lock);
    kymo__free(local);
    kymo__crash_thread_ends();
    if (last)
        kymo_writer_rest(); /* the C library then calls exit, which ends the recording */
    kymo__cancel_restore(cancel);
}

static void make_key(void)
{
    pthread_key_create(&at_exit, on_thread_exit);
}

/* As early as possible: the C library keeps the values of the first keys in the thread itself,
   and calls malloc for the others. */
__attribute__((constructor(101))) static void make_key_early(void)
{
    pthread_once(&once, make_key);
}

/* Under the registry's lock. */
static void link_local(struct kymo_local *local)
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

/* The local of thread TID, possibly one that another thread created for it; NULL when there is
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
    kymo__lock(&registry_lock);
    struct kymo_local *local = local_of(tid);
    if (!local)
        link_local(local = fresh);
    bool owned = kymo__load_relaxed(&local->orphan) == KYMO__OWNED;
    kymo__unlock(&registry_lock);
    if (local != fresh)
        kymo__free(fresh);
    return owned ? NULL : local;
}

void kymo__local_adopt(struct kymo_local *local)
{
    pthread_once(&once, make_key);
    kymo__inside_add(1); /* the C library may allocate memory for the value */
    bool adopted = pthread_setspecific(at_exit, local) == 0;
    kymo__inside_add((uint32_t)-1);
    kymo__store_release(&local->orphan, (uint32_t)(adopted ? KYMO__OWNED : KYMO__SAMPLED));
}

/* The local that another thread created for this thread, TID, which had no lane when it looked; or
   NULL. A signal handler may have begun to use it since. Any other local with records belongs to an
   earlier thread of the same id whose end nobody has noticed yet; it is returned in *STALE. Under
   the registry's lock. */
static struct kymo_local *begun_for(uint32_t tid, struct kymo_local **stale)
{
    struct kymo_local *local = local_of(tid);
    uint32_t orphan = local ? kymo__load_acquire(&local->orphan) : (uint32_t)KYMO__OWNED;
    *stale = NULL;
    if (orphan == KYMO__ORPHAN || (local && kymo__lane == &local->lane))
        return local;
    if (orphan == KYMO__SAMPLED) {
        end_local(local);
        *stale = local;
    }
    return NULL;
}

struct kymo_local *kymo__local_mine(void)
{
    uint32_t tid = kymo__tid_now();
    struct kymo_local *fresh = over ? NULL : local_new(tid);
    if (!fresh) {
        kymo__add_relaxed(&kymo__unplaced, UINT64_C(1));
        return NULL;
    }
    kymo__lock(&registry_lock);
    struct kymo_local *stale, *local = begun_for(tid, &stale);
    if (!local)
        link_local(local = fresh);
    /* Owned from here on, so that nobody frees it on noticing that an earlier thread of this id
       has ended. */
    kymo__store_release(&local->orphan, (uint32_t)KYMO__OWNED);
    local->ours = kymo__thread_is_ours();
    kymo__unlock(&registry_lock);
    if (local != fresh)
        kymo__free(fresh);
    kymo__free(stale);
    kymo__store_relaxed(&local->lane.claimed, 1u); /* the functions that adopt it may record */
    kymo__compiler_fence();
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
    kymo__store_release(&((struct kymo_local *)prepared)->orphan, (uint32_t)KYMO__SAMPLED);
    return kymo__lane = prepared;
}

struct kymo_lane *kymo__lane_prepare(uint32_t tid)
{
    struct kymo_local *local = kymo__local_orphan(tid);
    return local ? &local->lane : NULL;
}

void kymo__lane_ended(uint32_t tid)
{
    kymo__lock(&registry_lock);
    struct kymo_local *local = local_of(tid);
    bool ours = local && kymo__load_acquire(&local->orphan) != KYMO__OWNED;
    if (ours)
        end_local(local);
    kymo__unlock(&registry_lock);
    if (ours)
        kymo__free(local);
}

void kymo__lanes_sweep(void)
{
    kymo__lock(&registry_lock);
    for (struct kymo_local *local = all, *after; local; local = after) {
        after = local->after;
        if (kymo__load_acquire(&local->orphan) == KYMO__OWNED ||
            syscall(SYS_tgkill, getpid(), local->tid, 0) == 0 || errno != ESRCH)
            continue;
        end_local(local);
        kymo__free(local);
    }
    kymo__unlock(&registry_lock);
}

unsigned kymo__lanes_introduce(struct kymo_laneset *lanes)
{
    unsigned count = 0;
    kymo__lock(&registry_lock);
    for (struct kymo_local *local = all; local; local = local->after)
        if (kymo__load_acquire(&local->undefined) && local->lane.session == lanes->number) {
            kymo__store_relaxed(&local->nameless, 1u);
            kymo__local_introduce(lanes, local, local->tid);
            count++;
        }
    kymo__unlock(&registry_lock);
    return count;
}

void kymo__local_name(struct kymo_laneset *lanes, struct kymo_local *local, const char *name)
{
    const uint64_t numbers[] = {local->lane.thread, kymo__names_string(lanes->names, name, NULL)};
    kymo__store_relaxed(&local->nameless, 0u);
    if (numbers[1])
        kymo__names_define(lanes->names, KYMO__DEF_THREAD_NAME, numbers);
}

void kymo__lanes_name(struct kymo_laneset *lanes, uint32_t tid, const char *name)
{
    kymo__lock(&registry_lock);
    for (struct kymo_local *local = all; local; local = local->after)
        if (local->tid == tid && local->lane.session == lanes->number &&
            kymo__load_relaxed(&local->nameless))
            kymo__local_name(lanes, local, name);
    kymo__unlock(&registry_lock);
}

/* Wait until LOCAL is not claimed. False when that takes too long: its thread is stopped in a
   debugger, or left a recording call without returning. */
static bool wait_unclaimed(struct kymo_local *local)
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

/* Record events that no thread counts as a gap of the first thread. */
static void record_unplaced(struct kymo_laneset *lanes)
{
    struct kymo_gap_slot gap = {
        .thread = 1,
        .reason = KYMO_GAP_NESTED,
        .count = kymo__exchange(&kymo__unplaced, UINT64_C(0)),
        .first_ticks = lanes->started.ticks,
        .last_ticks = kymo_ticks(),
    };
    kymo__gap_record(lanes, &gap);
}

unsigned kymo__locals_detach(struct kymo_laneset *lanes)
{
    unsigned stuck = 0;
    kymo__lock(&registry_lock);
    for (struct kymo_local *local = all, *after; local; local = after) {
        after = local->after;
        if (!wait_unclaimed(local)) {
            stuck++;
            continue;
        }
        if (local->lane.session != lanes->number)
            continue;
        kymo__local_introduce(lanes, local, local->tid);
        kymo__local_part(lanes, local);
        kymo__pen_lift(lanes->pool, &local->pen);
        kymo__local_gap_return(lanes, local);
        local->home = NULL; /* it is not part of the session any more */
    }
    record_unplaced(lanes);
    kymo__unlock(&registry_lock);
    return stuck;
}

void kymo__locals_forked(void)
{
    pthread_mutex_init(&registry_lock, NULL);
    kymo__tid = 0;
    over = 0;
    main_ended = false;
    struct kymo_local *self = (struct kymo_local *)kymo__lane;
    all = self; /* the other threads do not exist in this process */
    if (self) {
        self->before = self->after = NULL;
        self->tid = kymo__tid_now();
        self->gap = &self->spare;
        self->chunk = NULL;
        self->undefined = 0;
        self->lane.next = self->lane.end = &kymo__nowhere;
        self->lane.claimed = 0;
    }
}
