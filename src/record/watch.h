/* watch.h — finds slow calls for the flight recorder.

   The recording threads are not involved: records are scanned when a chunk is packed, and those of
   open chunks by the writer thread, ten times a second. Enters and leaves are matched by their
   keys, as in a reader.

   Time spent in functions that wait does not count, neither for them nor for their callers. With
   a pattern only matching calls are watched, and all of their time counts. */
#ifndef KYMO_WATCH_H
#define KYMO_WATCH_H

#include "buffer.h"
#include "format.h"

struct kymo_names;

/* Threads that can be watched at once, and open calls on each: memory is bounded. If threads
   share a slot, the last one to begin has it. */
enum { KYMO__WATCH_THREADS = 1024, KYMO__WATCH_DEPTH = 1024 };

struct kymo_watched;

struct kymo_watch {
    kymo_ns slow;   /* a call that takes this long is slow; 0: nothing is watched */
    uint64_t ticks; /* the same in ticks */
    uint64_t found; /* how many slow calls, and the longest: */
    uint64_t longest;
    uint32_t longest_key;
    bool chosen;               /* only keys with KYMO__TRAIT_WATCHED are watched */
    struct kymo_names *names;  /* NULL: nothing is known about keys */
    struct kymo_buffer traits; /* as far as they have been read */
    struct kymo_watched *threads[KYMO__WATCH_THREADS];
};

/* Scan the finished records of CHUNK that have not been scanned yet. The chunks of a thread come
   in order; one that is out of order is skipped, and so are records that memory does not suffice
   for. */
void kymo__watch_chunk(struct kymo_watch *watch, const struct kymo_chunk *chunk);
void kymo__watch_fini(struct kymo_watch *watch);

#endif
