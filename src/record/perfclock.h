/* perfclock.h — a signal each time a thread has run for a given number of nanoseconds.

   The kernel checks CPU-time timers only at its own clock tick, a hundred to a thousand times a
   second. Its performance counters include a clock with its own exact timer; it needs a file
   descriptor per thread. Where performance counters are not allowed, timers are used. */
#ifndef KYMO_PERFCLOCK_H
#define KYMO_PERFCLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Tests only: behave as if performance counters were not allowed. */
extern bool kymo__perfclock_refused;

/* Open a stopped clock for thread TID, which will send it SIGNAL, with the descriptor in si_fd,
   every PERIOD nanoseconds that the thread has run, in the program and in the kernel. Returns
   the descriptor or a negative errno. */
int kymo__perfclock_open(uint32_t tid, int signal, int64_t period);

/* An id that distinguishes our descriptor FD from one that the program has opened in its place. */
uint64_t kymo__perfclock_id(int fd);

/* Start or stop the clock; close it. A descriptor whose id is not ID is left alone. After the
   close no signal comes, even if another process, one that is being started, still has the
   descriptor. */
void kymo__perfclock_run(int fd, uint64_t id, bool run);
void kymo__perfclock_end(int fd, uint64_t id);

/* In a forked child: close the descriptor; its clock belongs to the parent. */
void kymo__perfclock_forked(int fd, uint64_t id);

#endif
