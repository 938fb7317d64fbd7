/* throttle.h — stay within an overhead budget.

   The cost of tracing is the number of events times the cost of one, which is measured
   beforehand in a loop (_calibration.py) and corrected by timing some of our callbacks in this
   program. It is compared with the program's CPU time, including startup. While it exceeds the
   budget, the shortest and most frequent callables are switched off with the interpreter's own
   switches, after which they cost nothing: Python functions by code object, C calls by call
   site. 3.10 and 3.11 have no such switches: there all C calls are switched off first, together,
   and a Python function that is off still costs the lookup. Each callable switched off is
   recorded with its calls and time so far. What stays on stays exact: every recorded enter keeps
   its leave, which is why this keeps a separate stack per thread. */
#ifndef KYMO_EXT_THROTTLE_H
#define KYMO_EXT_THROTTLE_H

#include "throttle_sites.h"

/* Start: keep to the budget of kymo__tracing, a fraction of the program's time without tracing. */
void kymo__throttle_begin(void);
void kymo__throttle_end(void);

/* After a pause: enters recorded before it have ended unseen. */
void kymo__throttle_resume(void);
bool kymo__throttling(void);

/* True while tracing has exceeded the budget by so much that new sites are off. */
bool kymo__throttle_is_broke(void);

/* True if all C calls have been switched off together. */
bool kymo__throttle_without_c_calls(void);

/* Count an event of SITE. Checks the budget now and then. */
void kymo__throttle_count(struct site *site);

/* The function of CODE is called for the first time; instrumenting it has a cost. */
void kymo__throttle_met(const void *code);

/* SITE, or an excluded function when it is NULL, is being switched off: this has a cost, too. */
void kymo__throttle_switched(struct site *site);

/* At the start of a callback: the tick, or 0 when this one is not timed. At the end of a timed
   one. */
uint64_t kymo__throttle_timer(void);
void kymo__throttle_took(uint64_t began);

/* The smallest average of ticks per callback, in sessions that did not know it beforehand; 0
   when none was timed. */
double kymo__throttle_least_ticks(void);

/* The session, and the part of it since the last pause, by number. A thread's stack of another one
   is invalid. */
extern uint32_t kymo__throttle_session;

/* A call of CODE by the frame OWNER of this thread is already open, and recorded unless it is
   off; EXPECTED if kymo__throttle_expect announced it. */
void kymo__throttle_open(const void *code, const void *owner, bool expected);

/* The call by OWNER that was already open has ended, and so have those inside it. */
void kymo__throttle_close(const void *owner);

/* All calls that were open on this thread have been closed. */
void kymo__throttle_close_all(void);

/* Save and restore what is open on this thread, when another stack of calls is about to run:
   TAKE moves it to BEFORE, which an earlier TAKE returned, or to new memory; GIVE restores it,
   or nothing. */
void *kymo__throttle_stack_take(void *before);
void kymo__throttle_stack_give(void *taken);

/* An enter of SITE was recorded. OWNER is the frame that is called, or the frame that calls if
   the callee is not a Python function. */
void kymo__throttle_push(struct site *site, const void *owner, uint64_t ticks);

/* True when the leave of SITE by OWNER at TICKS belongs to a recorded enter, which is then
   removed from the stack. Counts it for max_depth. */
bool kymo__throttle_pop(struct site *site, const void *owner, uint64_t ticks);

#endif
