/* sampler.h — sampled stacks: every thread has a timer, whose signal records the thread's stack.
   docs/internals/sampling.md explains how the parts work together.

   sampler.c    start, pause and stop of a session's samples
   timers.c     the threads of the process and their timers
   tick.c       the signal and its handler
   stackdesk.c  the thread that manages all this and defines the stacks */
#ifndef KYMO_SAMPLER_H
#define KYMO_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "atomic.h"
#include "kymo/kymo.h"

struct kymo_laneset;
struct kymo_sampler;
struct kymo_stackdesk;

#define KYMO__SAMPLE_MOST 10000u /* samples a second */

/* For kymo_start: prepare to take samples if OPTIONS ask for it; none are taken before
   kymo__sampler_go. They go into LANES and their stacks to DESK, whose thread also looks after the
   timers; *WRITER is the system id of the writer thread, which is not sampled. 0, KYMO_ESIGNALS
   when no signal is free, KYMO_ENOTIMER, or the errno of what failed; free *SAMPLER either way. */
int kymo__sampler_new(struct kymo_sampler **sampler, const struct kymo_options *options,
                      struct kymo_laneset *lanes, struct kymo_stackdesk *desk, const pid_t *writer);

/* All of these do nothing without a sampler. */
void kymo__sampler_go(struct kymo_sampler *sampler);

/* For kymo_stop, in this order, after the desk's thread has ended: stop taking samples; record
   their number in the capture. */
void kymo__sampler_halt(struct kymo_sampler *sampler);
void kymo__sampler_finish(struct kymo_sampler *sampler);
void kymo__sampler_free(struct kymo_sampler *sampler);

/* Pause or resume sampling. */
void kymo__sampler_pause(struct kymo_sampler *sampler, bool paused);

/* The calling thread has just joined the session: sample it from now on. Its lane may be
   claimed: nobody waits for claims while holding the desk's lock. */
void kymo__sampler_meet(void);

/* In a forked child. */
void kymo__sampler_forked(void);

#endif
