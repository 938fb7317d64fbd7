/* watch.h — finds calls that take long, for the flight recorder.

   The recording threads know nothing of it: the records are looked through when a chunk
   is packed, and those of open chunks ten times a second by the writer thread. Enters and
   leaves are matched by their keys, as a reader does it. */
#ifndef KYMO_WATCH_H
#define KYMO_WATCH_H

#include "format.h"

/* Threads that can be watched at a time, and calls open on each: memory is bounded. Of
   threads that share a place the last one to begin has it. */
enum { KYMO__WATCH_THREADS = 1024, KYMO__WATCH_DEPTH = 1024 };

struct kymo_watched;

struct kymo_watch {
    kymo_ns slow;   /* a call that takes this long is found; 0: nothing is watched */
    uint64_t ticks; /* the same */
    uint64_t found; /* how many were */
    struct kymo_watched *threads[KYMO__WATCH_THREADS];
};

/* Look at the records of CHUNK that are finished and were not looked at. The chunks of a
   thread come in their order; one whose turn has not come is passed over, and so is what
   memory does not suffice for. */
void kymo__watch_chunk(struct kymo_watch *watch, const struct kymo_chunk *chunk);
void kymo__watch_fini(struct kymo_watch *watch);

#endif
