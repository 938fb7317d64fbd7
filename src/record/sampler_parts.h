/* sampler_parts.h — a session's sampler, for the files that implement it (sampler.h). */
#ifndef KYMO_SAMPLER_PARTS_H
#define KYMO_SAMPLER_PARTS_H

#include <sys/types.h>

#include "timers.h"

struct kymo_laneset;
struct kymo_stackdesk;

struct kymo_sampler {
    struct kymo_laneset *lanes;
    struct kymo_stackdesk *desk;
    const pid_t *writer; /* system id of the writer thread */
    int clock;           /* enum kymo_sampled */
    int signal;          /* 0: not handled, or taken over by the program */
    struct kymo_timers timers;
    uint64_t samples; /* recorded */
    uint32_t going;   /* 1: keep scanning the threads */
    int64_t next;     /* when to scan the threads again; only the desk's thread uses it */
};

#endif
