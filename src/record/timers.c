/* timers.c — see timers.h.

   A scan reads the CPU-time clock of every known thread: the clock is missing if the thread has
   ended, and has gone back if the system has given its id to another thread. The number of
   threads shows whether there are unknown ones; only then, and now and then in case the number
   misled us, is the list of threads read. */
#include "timers.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "hash.h"
#include "local.h"
#include "mapped.h"
#include "perfclock.h"
#include "procfs.h"
#include "signalstack.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

struct kymo_timed *kymo__timed;
uint32_t *kymo__timed_by_fd;

enum { LIST_EVERY = 16 }; /* scans */

int kymo__timers_reserve(void)
{
    if (kymo__timed)
        return 0;
    const size_t timed = KYMO__TIMED_MOST * sizeof(*kymo__timed);
    char *map = kymo__pages_new(timed + KYMO__TIMED_MOST * sizeof(*kymo__timed_by_fd));
    if (!map)
        return -ENOMEM;
    kymo__timed_by_fd = (uint32_t *)(void *)(map + timed);
    kymo__timed = (struct kymo_timed *)(void *)map;
    return 0;
}

/* The CPU-time clock of thread TID; its number is built the way the kernel does it. */
static clockid_t clock_of(uint32_t tid)
{
    return (clockid_t)(~tid << 3 | 6u);
}

/* The CPU time of thread TID, or -1 when there is no such thread. */
static int64_t ran(uint32_t tid)
{
    struct timespec t;
    if (clock_gettime(clock_of(tid), &t) < 0)
        return -1;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

/* The same with a perf event. False where there is none, and when sampling wall time. */
static bool make_exact(const struct kymo_timers *timers, struct kymo_timed *timed, uint32_t tid)
{
    timed->fd = -1;
    if (timers->clock == KYMO_SAMPLED_WALL || !timers->exact)
        return false;
    int fd = kymo__perfclock_open(tid, timers->signal, timers->period);
    if (fd < 0)
        return false;
    timed->fd_id = kymo__perfclock_id(fd);
    if ((unsigned)fd >= KYMO__TIMED_MOST) {
        kymo__perfclock_end(fd, timed->fd_id);
        return false;
    }
    timed->fd = fd;
    kymo__store_relaxed(&timed->period, timers->period);
    return true;
}

/* Make a stopped timer for thread TID, whose signals point to TIMED. */
static int make_timer(const struct kymo_timers *timers, struct kymo_timed *timed, uint32_t tid)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = timers->signal};
    event.sigev_value.sival_ptr = timed;
    event.sigev_notify_thread_id = (pid_t)tid;
    clockid_t clock = timers->clock == KYMO_SAMPLED_WALL ? CLOCK_MONOTONIC : clock_of(tid);
    return timer_create(clock, &event, &timed->timer) < 0 ? -errno : 0;
}

int kymo__timers_try(struct kymo_timers *timers)
{
    struct kymo_timed trial = {.fd = -1};
    uint32_t tid = kymo__tid_now();
    if (ran(tid) < 0)
        return -EOPNOTSUPP;
    int rc = make_timer(timers, &trial, tid);
    if (rc < 0)
        return rc;
    timer_delete(trial.timer);
    timers->exact = true;
    timers->exact = make_exact(timers, &trial, tid);
    if (timers->exact)
        kymo__perfclock_end(trial.fd, trial.fd_id);
    return 0;
}

/* Start or stop the timer of TIMED. The first period is cut to a fraction that differs between
   threads, so that they do not all fire at the same time. */
static void set_timer(const struct kymo_timers *timers, struct kymo_timed *timed)
{
    timed->set = true;
    if (timed->fd >= 0) {
        kymo__store_relaxed(&timed->covered, ran(timed->tid));
        kymo__perfclock_run(timed->fd, timed->fd_id, !timers->paused);
        return;
    }
    struct itimerspec when = {.it_interval = timespec_of(timers->period)};
    uint64_t part = kymo__hash_word(timed->tid) >> 54; /* of 1024 */
    if (!timers->paused)
        when.it_value = timespec_of(1 + timers->period * (int64_t)part / 1024);
    timer_settime(timed->timer, 0, &when, NULL);
}

static struct kymo_timed *free_place(struct kymo_timers *timers)
{
    if (timers->count < timers->top)
        for (uint32_t i = 0; i < timers->top; i++)
            if (!kymo__timed[i].session)
                return &kymo__timed[i];
    return timers->top < KYMO__TIMED_MOST ? &kymo__timed[timers->top] : NULL;
}

/* Bytes at the end of a signal stack that say whose it is. Its thread does not know of them. */
enum { STACK_OWNER = 16 };

static void add_stack(struct kymo_timed *timed)
{
    size_t size;
    void *stack = kymo__signalstack_map(&size);
    if (!stack)
        return;
    kymo__store_relaxed(&timed->stack_size, size - STACK_OWNER);
    kymo__store_release(&timed->stack, stack);
}

/* Whose the stack GIVEN of SIZE bytes is; 0 if it does not exist any more: AddressSanitizer unmaps
   whatever signal stack a thread has when it ends. */
static uint32_t stack_owner(char *given, size_t size)
{
    uint32_t owner = 0;
    struct iovec to = {&owner, sizeof(owner)}, from = {given + size, sizeof(owner)};
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0 && errno != EFAULT)
        memcpy(&owner, given + size, sizeof(owner)); /* a sandbox forbids it */
    return owner;
}

/* Thread TID has ended: keep the stack that it took from TIMED for the next one. */
static void reuse_stack(struct kymo_timed *timed, char *given, uint32_t tid)
{
    uint32_t owner = stack_owner(given, timed->stack_size);
    if (owner == tid && !kymo__load_relaxed(&timed->stack))
        kymo__store_release(&timed->stack, (void *)given);
}

/* Give thread TID, which has none, a stopped timer; or NULL. */
static struct kymo_timed *timer_add(struct kymo_timers *timers, uint32_t tid)
{
    struct kymo_timed *timed = free_place(timers);
    int64_t now = ran(tid);
    if (!timed || now < 0) {
        timers->refused += !timed;
        return NULL;
    }
    int rc = make_exact(timers, timed, tid) ? 0 : make_timer(timers, timed, tid);
    if (rc < 0) {
        timers->refused += rc != -EINVAL; /* -EINVAL: it has just ended */
        return NULL;
    }
    timed->set = false;
    kymo__store_relaxed(&timed->owed, 0u);
    if (!kymo__load_relaxed(&timed->stack))
        add_stack(timed);
    timed->ran = now;
    kymo__store_relaxed(&timed->tid, tid);
    /* After the id: a handler that finds this lane sees whose it is. */
    kymo__store_release(&timed->lane, kymo__lane_prepare(tid));
    kymo__store_release(&timed->session, timers->session);
    if (timed->fd >= 0)
        kymo__store_release(&kymo__timed_by_fd[timed->fd], (uint32_t)(timed - kymo__timed) + 1);
    timers->count++;
    if (timed == &kymo__timed[timers->top])
        timers->top++;
    return timed;
}

/* ENDED: the thread does not exist any more. */
static void drop_timer(struct kymo_timers *timers, struct kymo_timed *timed, bool ended)
{
    kymo__store_release(&timed->session, 0u);
    if (timed->fd >= 0) {
        kymo__store_relaxed(&kymo__timed_by_fd[timed->fd], 0u);
        kymo__perfclock_end(timed->fd, timed->fd_id);
    } else {
        timer_delete(timed->timer);
    }
    kymo__store_relaxed(&timed->lane, (struct kymo_lane *)NULL);
    char *given = kymo__exchange(&timed->stack_given, (void *)NULL);
    if (ended && given)
        reuse_stack(timed, given, timed->tid);
    timers->count--;
}

static bool is_own(const struct kymo_timers *timers, uint32_t tid)
{
    for (int i = 0; i < KYMO__OWN_THREADS; i++)
        if (kymo__load_relaxed(&timers->own[i]) == tid)
            return true;
    return false;
}

/* Drop the timers of threads that have ended, or turned out to be our own. */
static void drop_ended(struct kymo_timers *timers)
{
    for (uint32_t i = 0; i < timers->top; i++) {
        struct kymo_timed *timed = &kymo__timed[i];
        if (!timed->session)
            continue;
        int64_t now = ran(timed->tid);
        bool ended = now < timed->ran;
        timed->ran = now;
        if (!ended && !is_own(timers, timed->tid))
            continue;
        drop_timer(timers, timed, ended);
        if (ended)
            kymo__lane_ended(timed->tid);
    }
    while (timers->top && !kymo__timed[timers->top - 1].session)
        timers->top--;
}

/* ---- by system id ---- */

static uint32_t *place_of(const struct kymo_timers *timers, uint32_t tid)
{
    size_t mask = ((size_t)1 << timers->bits) - 1;
    size_t i = (size_t)(kymo__hash_word(tid) >> (64 - timers->bits));
    while (timers->places[i & mask] && kymo__timed[timers->places[i & mask] - 1].tid != tid)
        i++;
    return &timers->places[i & mask];
}

/* Build the table of known threads. */
static bool index_known(struct kymo_timers *timers)
{
    unsigned bits = 6;
    while (((size_t)1 << bits) < (size_t)timers->count * 2)
        bits++;
    if (bits != timers->bits) {
        uint32_t *places = kymo__realloc(timers->places, ((size_t)1 << bits) * sizeof(*places));
        if (!places)
            return false;
        timers->places = places;
        timers->bits = bits;
    }
    memset(timers->places, 0, ((size_t)1 << bits) * sizeof(*timers->places));
    for (uint32_t i = 0; i < timers->top; i++)
        if (kymo__timed[i].session)
            *place_of(timers, kymo__timed[i].tid) = i + 1;
    return true;
}

/* The ids of all threads, to be freed by the caller. NULL if memory is short. */
static uint32_t *list_threads(size_t *count)
{
    size_t room = 64;
    uint32_t *tids = NULL;
    for (*count = room + 1; *count > room;) {
        room = *count + 64; /* some may begin meanwhile */
        uint32_t *more = kymo__realloc(tids, room * sizeof(*tids));
        if (!more) {
            kymo__free(tids);
            return NULL;
        }
        tids = more;
        *count = kymo__tasks_list(tids, room);
    }
    return tids;
}

/* Add the threads of the list that are not known. Returns how many. */
static uint32_t add_unknown(struct kymo_timers *timers)
{
    size_t count;
    uint32_t *tids = index_known(timers) ? list_threads(&count) : NULL;
    uint32_t fresh = 0;
    if (!tids)
        return 0;
    timers->refused = 0;
    for (size_t i = 0; i < count; i++)
        if (!is_own(timers, tids[i]) && !*place_of(timers, tids[i]))
            fresh +=
                timer_add(timers, tids[i]) != NULL; /* not into the table: each is listed once */
    kymo__free(tids);
    return fresh;
}

uint32_t kymo__timers_look(struct kymo_timers *timers)
{
    struct stat tasks;
    drop_ended(timers);
    uint32_t own = 0;
    for (int i = 0; i < KYMO__OWN_THREADS; i++)
        own += kymo__load_relaxed(&timers->own[i]) != 0;
    /* A directory has two links plus one for every directory in it. */
    if (timers->looks++ % LIST_EVERY == 0 || stat("/proc/self/task", &tasks) < 0 ||
        tasks.st_nlink != timers->count + own + 2)
        return add_unknown(timers);
    return 0;
}

void kymo__timers_run(struct kymo_timers *timers)
{
    for (uint32_t i = 0; i < timers->top; i++)
        if (kymo__timed[i].session && !kymo__timed[i].set)
            set_timer(timers, &kymo__timed[i]);
}

void kymo__timers_meet(struct kymo_timers *timers, uint32_t tid)
{
    for (uint32_t i = 0; i < timers->top; i++)
        if (kymo__timed[i].session && kymo__timed[i].tid == tid)
            return;
    struct kymo_timed *timed = is_own(timers, tid) ? NULL : timer_add(timers, tid);
    if (timed)
        set_timer(timers, timed);
}

void kymo__timers_pause(struct kymo_timers *timers, bool paused)
{
    timers->paused = paused;
    for (uint32_t i = 0; i < timers->top; i++)
        if (kymo__timed[i].session)
            set_timer(timers, &kymo__timed[i]);
}

void kymo__timers_remove(struct kymo_timers *timers)
{
    for (uint32_t i = 0; i < timers->top; i++)
        if (kymo__timed[i].session)
            drop_timer(timers, &kymo__timed[i], false);
    timers->top = 0;
    kymo__free(timers->places);
    timers->places = NULL;
    timers->bits = 0;
}

void kymo__timers_forked(struct kymo_timers *timers)
{
    for (uint32_t i = 0; i < timers->top; i++) {
        struct kymo_timed *timed = &kymo__timed[i];
        if (timed->session && timed->fd >= 0) {
            kymo__timed_by_fd[timed->fd] = 0;
            kymo__perfclock_forked(timed->fd, timed->fd_id);
        }
        timed->session = 0;
        timed->stack_given = NULL; /* perhaps in use by the thread that forked */
    }
}
