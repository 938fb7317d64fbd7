/* tick.h — the signal of the sampler's timers, and what its handler does. */
#ifndef KYMO_TICK_H
#define KYMO_TICK_H

#include <kymo/lane.h>
#include <stdbool.h>
#include <time.h>

#define KYMO__TIMED_MOST 65536u /* threads sampled at a time */

/* A thread with a timer. These lie in one piece of memory that stays for good, so that a signal
   that comes late finds something there. */
struct kymo_timed {
    uint32_t session;       /* whose timer it is; 0: none's. The handler reads this and */
    uint32_t tid;           /* these two */
    struct kymo_lane *lane; /* in case the thread has none of its own; or NULL */
    timer_t timer;
    int fd;         /* instead of a timer: see perfclock.h; -1: it is a timer */
    uint64_t fd_id; /* what tells that descriptor */
    int64_t period; /* with it: nanoseconds. The handler reads it, maybe late */
    int64_t told;   /* with it: how much of the time it has run is in samples. The handler's */
    uint32_t owed;  /* periods of samples that could not be recorded. The handler's */
    bool set;       /* it has been told to run, or to stand still */
    int64_t ran;    /* how long the thread had run when it was last looked at */
};

extern struct kymo_timed *kymo__timed; /* KYMO__TIMED_MOST of them; NULL before the first use */

/* By descriptor, place in kymo__timed + 1, or 0; KYMO__TIMED_MOST of them too. */
extern uint32_t *kymo__timed_by_fd;

/* Choose a signal that nobody uses and handle it. Returns its number or -KYMO_ESIGNALS. */
int kymo__tick_install(void);

/* False when the program has made something else of the signal meanwhile. */
bool kymo__tick_ours(int number);

/* Forget signals that are on their way, and handle the signal as before. No timer may be left. */
void kymo__tick_remove(int number);

/* In a forked child: the same, where nothing is on its way. */
void kymo__tick_forked(int number);

#endif
