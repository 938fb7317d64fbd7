/* timers.h — the threads of the process, and a timer for each that is to be sampled. All under
   the sampler's lock. */
#ifndef KYMO_TIMERS_H
#define KYMO_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#define KYMO__OWN_THREADS 2 /* of kymograph's, which are not sampled */

struct kymo_timers {
    uint32_t session;
    int signal, clock; /* enum kymo_sampled */
    int64_t period;    /* nanoseconds */
    bool paused;
    uint32_t own[KYMO__OWN_THREADS]; /* system ids, or 0 */
    uint32_t count;                  /* threads with a timer */
    uint32_t top;                    /* places of kymo__timed used so far, from the first on */
    uint32_t looks;
    uint32_t *places; /* by system id: places + 1, in a table of 2^bits; made anew at each look */
    unsigned bits;
    uint64_t refused; /* threads that the system gave no timer for, at the last look */
};

/* Memory for kymo__timed. 0 or -ENOMEM. */
int kymo__timers_reserve(void);

/* Can there be timers at all? 0, or the negative errno of the system, or of a sandbox. */
int kymo__timers_try(const struct kymo_timers *timers);

/* Look for threads that have begun or ended. Returns how many have begun; their timers stand
   still until the next function lets them run. */
uint32_t kymo__timers_look(struct kymo_timers *timers);
void kymo__timers_run(struct kymo_timers *timers);

/* Give thread TID a timer unless it has one. */
void kymo__timers_meet(struct kymo_timers *timers, uint32_t tid);

/* Let them all stand still, or run again. */
void kymo__timers_pause(struct kymo_timers *timers, bool paused);

/* Remove them all. */
void kymo__timers_remove(struct kymo_timers *timers);

/* In a forked child, which has none of them: forget them. */
void kymo__timers_forked(struct kymo_timers *timers);

#endif
