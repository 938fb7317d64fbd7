/* timers.c — see timers.h.

   A look asks every known thread's clock how long the thread has run: there is no such clock
   when it has ended, and it has gone back when the system has given its id to another thread.
   Whether there are threads that are not known is seen by how many there are; only then, and now
   and then in case that was wrong, is the list of threads read. */
#include "timers.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "hash.h"
#include "local.h"
#include "perfclock.h"
#include "tick.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { LIST_EVERY = 16 }; /* looks */

int kymo__timers_reserve(void)
{
    if (kymo__timed)
        return 0;
    const size_t timed = KYMO__TIMED_MOST * sizeof(*kymo__timed);
    char *map = mmap(NULL, timed + KYMO__TIMED_MOST * sizeof(*kymo__timed_by_fd),
                     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return -ENOMEM;
    kymo__timed_by_fd = (uint32_t *)(void *)(map + timed);
    kymo__timed = (struct kymo_timed *)(void *)map;
    return 0;
}

/* The clock of the time that thread TID has run, as the kernel makes its number. */
static clockid_t clock_of(uint32_t tid)
{
    return (clockid_t)(~tid << 3 | 6u);
}

/* How long thread TID has run, or -1 when there is no such thread. */
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

/* The same with a clock of the performance counters. False where there is none, and for a clock
   that is the wall's. */
static bool make_exact(const struct kymo_timers *timers, struct kymo_timed *timed, uint32_t tid)
{
    timed->fd = -1;
    if (timers->clock == KYMO_SAMPLED_WALL)
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

/* Make a timer for thread TID, whose signals point to TIMED. It stands still. */
static int make(const struct kymo_timers *timers, struct kymo_timed *timed, uint32_t tid)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = timers->signal};
    event.sigev_value.sival_ptr = timed;
    event.sigev_notify_thread_id = (pid_t)tid;
    clockid_t clock = timers->clock == KYMO_SAMPLED_WALL ? CLOCK_MONOTONIC : clock_of(tid);
    return timer_create(clock, &event, &timed->timer) < 0 ? -errno : 0;
}

int kymo__timers_try(const struct kymo_timers *timers)
{
    struct kymo_timed trial;
    uint32_t tid = kymo__tid_now();
    if (ran(tid) < 0)
        return -EOPNOTSUPP;
    int rc = make(timers, &trial, tid);
    if (rc == 0)
        timer_delete(trial.timer);
    return rc;
}

/* Let the timer of TIMED run or stand still. The first period is a part of one, another for each
   thread, so that they do not all come at the same time. */
static void set(const struct kymo_timers *timers, struct kymo_timed *timed)
{
    timed->set = true;
    if (timed->fd >= 0) {
        kymo__store_relaxed(&timed->told, ran(timed->tid));
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

/* Give thread TID, which has none, a timer that stands still; or NULL. */
static struct kymo_timed *add(struct kymo_timers *timers, uint32_t tid)
{
    struct kymo_timed *timed = free_place(timers);
    int64_t now = ran(tid);
    if (!timed || now < 0) {
        timers->refused += !timed;
        return NULL;
    }
    int rc = make_exact(timers, timed, tid) ? 0 : make(timers, timed, tid);
    if (rc < 0) {
        timers->refused += rc != -EINVAL; /* that: it has just ended */
        return NULL;
    }
    timed->set = false;
    kymo__store_relaxed(&timed->owed, 0u);
    timed->ran = now;
    kymo__store_relaxed(&timed->tid, tid);
    /* After the id: who finds this lane sees whose it is. */
    kymo__store_release(&timed->lane, kymo__lane_prepare(tid));
    kymo__store_release(&timed->session, timers->session);
    if (timed->fd >= 0)
        kymo__store_release(&kymo__timed_by_fd[timed->fd], (uint32_t)(timed - kymo__timed) + 1);
    timers->count++;
    if (timed == &kymo__timed[timers->top])
        timers->top++;
    return timed;
}

static void drop(struct kymo_timers *timers, struct kymo_timed *timed)
{
    kymo__store_release(&timed->session, 0u);
    if (timed->fd >= 0) {
        kymo__store_relaxed(&kymo__timed_by_fd[timed->fd], 0u);
        kymo__perfclock_end(timed->fd, timed->fd_id);
    } else {
        timer_delete(timed->timer);
    }
    kymo__store_relaxed(&timed->lane, (struct kymo_lane *)NULL);
    timers->count--;
}

static bool is_own(const struct kymo_timers *timers, uint32_t tid)
{
    for (int i = 0; i < KYMO__OWN_THREADS; i++)
        if (kymo__load_relaxed(&timers->own[i]) == tid)
            return true;
    return false;
}

/* Drop the timers of threads that have ended, or turned out to be ours. */
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
        drop(timers, timed);
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

/* Make the table of those that are known. */
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

/* Add those in the list of threads that are not known. Returns how many. */
static uint32_t add_unknown(struct kymo_timers *timers)
{
    DIR *dir = index_known(timers) ? opendir("/proc/self/task") : NULL;
    const struct dirent *entry;
    uint32_t fresh = 0;
    if (!dir)
        return 0;
    timers->refused = 0;
    while ((entry = readdir(dir))) {
        uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10); /* 0 for . and .. */
        if (tid && !is_own(timers, tid) && !*place_of(timers, tid))
            fresh += add(timers, tid) != NULL; /* not into the table: each is in the list once */
    }
    closedir(dir);
    return fresh;
}

uint32_t kymo__timers_look(struct kymo_timers *timers)
{
    struct stat tasks;
    drop_ended(timers);
    uint32_t own = 0;
    for (int i = 0; i < KYMO__OWN_THREADS; i++)
        own += kymo__load_relaxed(&timers->own[i]) != 0;
    /* A directory has two links and one more for every directory in it. */
    if (timers->looks++ % LIST_EVERY == 0 || stat("/proc/self/task", &tasks) < 0 ||
        tasks.st_nlink != timers->count + own + 2)
        return add_unknown(timers);
    return 0;
}

void kymo__timers_run(struct kymo_timers *timers)
{
    for (uint32_t i = 0; i < timers->top; i++)
        if (kymo__timed[i].session && !kymo__timed[i].set)
            set(timers, &kymo__timed[i]);
}

void kymo__timers_meet(struct kymo_timers *timers, uint32_t tid)
{
    for (uint32_t i = 0; i < timers->top; i++)
        if (kymo__timed[i].session && kymo__timed[i].tid == tid)
            return;
    struct kymo_timed *timed = is_own(timers, tid) ? NULL : add(timers, tid);
    if (timed)
        set(timers, timed);
}

void kymo__timers_pause(struct kymo_timers *timers, bool paused)
{
    timers->paused = paused;
    for (uint32_t i = 0; i < timers->top; i++)
        if (kymo__timed[i].session)
            set(timers, &kymo__timed[i]);
}

void kymo__timers_remove(struct kymo_timers *timers)
{
    for (uint32_t i = 0; i < timers->top; i++)
        if (kymo__timed[i].session)
            drop(timers, &kymo__timed[i]);
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
    }
}
