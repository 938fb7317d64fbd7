/* perfclock.h — a signal after every so many nanoseconds that a thread has run.

   The system's timers on the time that a thread has run are looked at when its own clock ticks, a
   hundred to a thousand times a second, and not in between. Its performance counters have such a
   clock too, with a timer of its own, that is exact; it needs a file descriptor per thread. Where
   those may not be used there are the timers. */
#ifndef KYMO_PERFCLOCK_H
#define KYMO_PERFCLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Tests only: as where they may not be used. */
extern bool kymo__perfclock_refused;

/* A descriptor for thread TID that will send it SIGNAL, with the descriptor in si_fd, every
   PERIOD nanoseconds that it has run in the program itself; it stands still. Negative errno when
   there can be none. */
int kymo__perfclock_open(uint32_t tid, int signal, int64_t period);

/* What tells our descriptor FD from one that the program has opened in its place. */
uint64_t kymo__perfclock_id(int fd);

/* Let it run or stand still; end it. Nothing is done to a descriptor that is not ID. After its end
   no signal comes, also when another process has the descriptor too: one that is being started. */
void kymo__perfclock_run(int fd, uint64_t id, bool run);
void kymo__perfclock_end(int fd, uint64_t id);

/* In a forked child: close the descriptor, whose clock is the parent's. */
void kymo__perfclock_forked(int fd, uint64_t id);

#endif
