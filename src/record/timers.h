/* timers.h — the threads of the process, and a timer for each thread to sample. All under the
   desk's lock. */
#ifndef KYMO_TIMERS_H
#define KYMO_TIMERS_H

#include <kymo/lane.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "atomic.h"

#define KYMO__TIMED_MOST 65536u /* threads sampled at once */

/* A thread with a timer. All of these are in one array that is never freed, so that a late
   signal still finds its entry. */
struct kymo_timed {
    uint32_t session;       /* owner of the timer; 0: none. The handler reads this and */
    uint32_t tid;           /* these two */
    struct kymo_lane *lane; /* prepared in case the thread has none of its own; or NULL */
    void *stack; /* signal stack for a thread that has none; or NULL. Taken by exchange */
    size_t stack_size;
    void *stack_given; /* the one that was taken; or NULL */
    timer_t timer;
    int fd;          /* perf event instead of a timer: see perfclock.h; -1: it is a timer */
    uint64_t fd_id;  /* identifies that descriptor */
    int64_t period;  /* for perf events: nanoseconds. The handler reads it, possibly late */
    int64_t covered; /* for perf events: how much CPU time is covered by samples. Handler only */
    uint32_t owed;   /* periods of samples that could not be recorded. Handler only */
    bool set;        /* it has been started or stopped */
    int64_t ran;     /* the thread's CPU time at the last scan */
};

/* Take the signal stack of TIMED for the calling thread TID, which keeps it until it ends; or NULL.
   For the signal handler. A handler that was delayed may come when the timer has been removed, or
   belongs to another thread: so no two get the same stack, and its last bytes say whose it is. */
static inline void *kymo__timed_take_stack(struct kymo_timed *timed, uint32_t tid)
{
    char *stack = kymo__exchange(&timed->stack, (void *)NULL);
    if (!stack)
        return NULL;
    *(uint32_t *)(void *)(stack + kymo__load_relaxed(&timed->stack_size)) = tid;
    kymo__store_release(&timed->stack_given, (void *)stack);
    return stack;
}

extern struct kymo_timed *kymo__timed; /* KYMO__TIMED_MOST of them; NULL before the first use */

/* By descriptor: slot in kymo__timed + 1, or 0; also KYMO__TIMED_MOST entries. */
extern uint32_t *kymo__timed_by_fd;

#define KYMO__OWN_THREADS 2 /* kymograph's own threads, which are not sampled */

struct kymo_timers {
    uint32_t session;
    int signal, clock; /* enum kymo_sampled */
    int64_t period;    /* nanoseconds */
    bool exact;        /* use perf events, see perfclock.h */
    bool paused;
    uint32_t own[KYMO__OWN_THREADS]; /* system ids, or 0 */
    uint32_t count;                  /* threads with a timer */
    uint32_t top;                    /* slots of kymo__timed used so far, from the first */
    uint32_t looks;
    uint32_t *places; /* by system id: slots + 1, in a table of 2^bits; rebuilt at each scan */
    unsigned bits;
    uint64_t refused; /* threads that the system refused a timer, at the last scan */
};

/* Allocate kymo__timed. 0 or -ENOMEM. */
int kymo__timers_reserve(void);

/* Check whether timers work at all, and exact ones. 0, or the negative errno of the system or of
   a sandbox. */
int kymo__timers_try(struct kymo_timers *timers);

/* Find threads that have begun or ended. Returns how many have begun; their timers are stopped
   until the next function starts them. */
uint32_t kymo__timers_look(struct kymo_timers *timers);
void kymo__timers_run(struct kymo_timers *timers);

/* Give thread TID a timer unless it has one. */
void kymo__timers_meet(struct kymo_timers *timers, uint32_t tid);

/* Stop all timers, or start them again. */
void kymo__timers_pause(struct kymo_timers *timers, bool paused);

/* Remove them all. */
void kymo__timers_remove(struct kymo_timers *timers);

/* In a forked child, which has none of them: forget them. */
void kymo__timers_forked(struct kymo_timers *timers);

#endif
