/* crash.h — what recording needs from crash.c: signal stacks for its threads, and a way to share
   the fatal signals. */
#ifndef KYMO_CRASH_H
#define KYMO_CRASH_H

#include <signal.h>
#include <stdbool.h>

/* If crash reporting is on, or kymo__crash_want_stacks was called: give the calling thread an
   alternate signal stack if it has none, and remove it again. Cheap otherwise. */
void kymo__crash_thread_begins(void);
void kymo__crash_thread_ends(void);

/* Give the calling thread a signal stack now, and other threads one when they begin to record:
   for a fault handler, which may run after a stack overflow. */
void kymo__crash_want_stacks(void);

/* Before a SIGBUS is reported, ask REPAIR; if it returns true, the program continues. */
void kymo__crash_repair_bus(bool (*repair)(const siginfo_t *info));

/* The action for signal NUMBER after the crash report; the caller may change it. NULL when
   crash.c does not handle NUMBER. */
struct sigaction *kymo__crash_beneath(int number);

#endif
