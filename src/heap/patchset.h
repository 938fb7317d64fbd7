/* patchset.h — which loaded objects are patched (patch.h), from start to stop.

   All functions but the ones for forks take a lock of their own, and the loader's. */
#ifndef KYMO_PATCHSET_H
#define KYMO_PATCHSET_H

#include <stdbool.h>
#include <stdint.h>

struct kymo_patchset_counts {
    uint64_t objects, slots; /* patched now */
    uint64_t missed;         /* slots that could not be patched */
    uint64_t lost;           /* slots that somebody else had changed when they were put back */
};

/* Patch every object for WHAT (enum kymo_memory_what bits), with the hooks of the sampled mode or not;
   or those loaded since. */
void kymo__patchset_start(unsigned what, bool sampled);
void kymo__patchset_more(void);

/* Put every slot back. */
void kymo__patchset_stop(void);

void kymo__patchset_count(struct kymo_patchset_counts *counts);

void kymo__patchset_before_fork(void);
void kymo__patchset_after_fork(void);
void kymo__patchset_forked(void);

#endif
