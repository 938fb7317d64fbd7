/* sampler.h — sampled stacks: a timer for every thread, whose signal records where the thread
   is. docs/internals/sampling.md tells how the parts work together.

   sampler.c    the thread that looks after it all, and the life of a session's samples
   timers.c     the threads of the process and their timers
   tick.c       the signal and its handler
   stackbook.c  what the stacks stand for */
#ifndef KYMO_SAMPLER_H
#define KYMO_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "atomic.h"
#include "kymo/kymo.h"

struct kymo_session;
struct kymo_sampler;

#define KYMO__SAMPLE_MOST 10000u /* samples a second */

/* For kymo_start: get ready to take samples as OPTIONS say, if they do; none are taken before
   kymo__sampler_go. 0, -KYMO_ESIGNALS when none is free, or
   the errno of what failed; then nothing is left but what kymo__sampler_free frees. */
int kymo__sampler_new(struct kymo_session *s, const struct kymo_options *options);
void kymo__sampler_go(struct kymo_session *s);

/* For kymo_stop, in this order: no sample is taken any more, and our thread has ended; what
   recorded stacks stand for is in the capture. All of these do nothing without a sampler. */
void kymo__sampler_halt(struct kymo_session *s);
void kymo__sampler_finish(struct kymo_session *s);
void kymo__sampler_free(struct kymo_session *s);

/* No samples, and samples again. */
void kymo__sampler_pause(struct kymo_session *s, bool paused);

/* As kymo_writer_rest and kymo_writer_work for our thread; work returns 0 or negative errno. */
void kymo__sampler_rest(struct kymo_session *s);
int kymo__sampler_work(struct kymo_session *s);

/* The calling thread has just become part of the session, and is to be sampled from now on. Its
   lane may be claimed: nobody waits for that with the sampler's lock. */
void kymo__sampler_meet(void);

/* Around fork. */
void kymo__sampler_before_fork(void);
void kymo__sampler_after_fork(void);
void kymo__sampler_forked(void);

#endif
