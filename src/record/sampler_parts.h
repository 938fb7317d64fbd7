/* sampler_parts.h — a session's sampler, for the files it consists of (sampler.h). */
#ifndef KYMO_SAMPLER_PARTS_H
#define KYMO_SAMPLER_PARTS_H

#include <pthread.h>
#include <semaphore.h>

#include "idring.h"
#include "sampler.h"
#include "stackbook.h"
#include "timers.h"

struct kymo_sampler {
    int clock;  /* enum kymo_sampled */
    int signal; /* 0: not handled, or no longer ours */
    struct kymo_timers timers;
    struct kymo_stackbook book;
    struct kymo_idring ring; /* stacks recorded and not yet defined */
    uint64_t samples;        /* recorded */
    uint32_t hurried;        /* 1: kymo__sampler_wake was posted by a handler */
    uint32_t going, ending;  /* 1: look after the threads; end. Set by others */

    pthread_t thread;
    bool threaded;     /* there is one; under the life lock */
    sem_t ended;       /* it is about to end */
    uint32_t settling; /* enum kymo_settling */
    int64_t settled;   /* when the interpreter was last asked to */
};

/* What the interpreter is asked to do may take for ever: when it is ending, or when whoever waits
   for our thread holds what it needs. Then the thread is left to itself, and touches nothing but
   this if it ever comes back. */
enum kymo_settling {
    KYMO__SETTLED = 0,
    KYMO__SETTLING = 1,
    KYMO__ABANDONED = 2,
};

/* What the sampler's thread waits for. It outlives every session, for the sake of handlers. */
extern sem_t kymo__sampler_wake;

#endif
