/* throttle.h — staying within an overhead budget.

   What tracing costs is events times the cost of one, measured before (_calibration.py). While that
   is more than the budget allows, the callables that are tiniest and most frequent are
   switched off through the interpreter's own switches, after which they cost nothing:
   Python functions by code object, C calls by call site. 3.10 and 3.11 have no such switches:
   there C calls go first and all together, and a Python function that is off costs the look
   that finds it so. Each one that is switched off is recorded with what it had done until
   then. What stays on stays exact: every recorded enter keeps its leave, which is why this
   keeps a stack of its own per thread. */
#ifndef KYMO_EXT_THROTTLE_H
#define KYMO_EXT_THROTTLE_H

#include "compat.h"

#include <stdbool.h>
#include <stdint.h>

/* A Python function, or one place in it that calls something. */
struct site {
    const void *code;      /* NULL: free slot */
    uint32_t offset;       /* of the call instruction; SITE_FUNCTION for the function itself */
    uint32_t key;          /* of what is recorded; 0 while nothing was */
    uint32_t off;          /* 1: switched off */
    uint32_t active;       /* recorded enters whose leave is still to come */
    uint32_t window;       /* events since the last look */
    uint32_t c_call;       /* its events cost what C calls cost */
    uint64_t calls, ticks; /* recorded so far, and their time */
    struct site *next;     /* another of the same code, from that of the function on */
};
#define SITE_FUNCTION 0xffffffffu

/* Keep to the budget of kymo__tracing, a fraction of the time the program takes without us. */
void kymo__throttle_begin(void);
void kymo__throttle_end(void);

/* After a pause: the recorded enters of before have ended unseen. */
void kymo__throttle_resume(void);
bool kymo__throttling(void);

/* C calls were switched off all together. */
bool kymo__throttle_without_c_calls(void);

/* The site, made if it is new; NULL when memory is short. */
struct site *kymo__site(const void *code, uint32_t offset);

/* CODE died: what comes to lie at its place is met for the first time. */
void kymo__throttle_forget(const void *code);

/* An event of SITE happened. Now and then looks whether the budget is kept. */
void kymo__throttle_count(struct site *site);

/* Is the Python function of CODE switched off? */
bool kymo__throttle_is_off(const void *code);

/* A call of CODE that was open already was recorded for another thread, which tells of it
   with its first event. */
void kymo__throttle_expect(const void *code);

/* A call of CODE by the frame OWNER of this thread is open already, and recorded unless it is
   off; EXPECTED when that was said before. */
void kymo__throttle_open(const void *code, const void *owner, bool expected);

/* The call by OWNER that was open already has ended, and so have those inside. */
void kymo__throttle_close(const void *owner);

/* All that were open on this thread were closed. */
void kymo__throttle_close_all(void);

/* A recorded enter of SITE, by the frame OWNER: the one that is called, or calls what is no
   Python function. */
void kymo__throttle_push(struct site *site, const void *owner, uint64_t ticks);

/* True when the leave of SITE by OWNER at TICKS belongs to a recorded enter; it is then
   taken off the stack. Counts it for max_depth. */
bool kymo__throttle_pop(struct site *site, const void *owner, uint64_t ticks);

#endif
