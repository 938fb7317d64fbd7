/* flight.h — the flight recorder: packed records stay in a ring in memory, and only the most
   recent ones are written to the file, on request. Definitions are written as usual. */
#ifndef KYMO_FLIGHT_H
#define KYMO_FLIGHT_H

#include <pthread.h>
#include <semaphore.h>

#include "block.h"
#include "clock.h"
#include "watch.h"

struct kymo_names;
struct kymo_capfile;
struct kymo_follow;
struct kymo_pens;
struct kymo_pool;

struct kymo_flight {
    struct kymo_pool *pool;
    struct kymo_names *names;
    struct kymo_capfile *file;
    struct kymo_follow *follow; /* learns of every block that is written */
    struct kymo_pens *pens;
    struct kymo_packer *packer;   /* the writer thread's */
    struct kymo_snapshot started; /* of the session */

    size_t size;           /* of the ring; 0: this session is not a flight recorder */
    kymo_ns span;          /* older records expire; 0: none expire by age */
    uint32_t block_chunks; /* most chunks in a block, so that it is a small part of the ring */

    pthread_mutex_t lock; /* guards what follows; chunks are freed only under it */
    uint8_t *ring;
    size_t head, tail;        /* the oldest block, and the byte after the newest */
    size_t wrap;              /* not 0: blocks lie from head to here, then from 0 to tail */
    uint64_t blocks, records; /* in the ring */
    uint32_t first;           /* of the full chunks waiting to be packed, as in chunks.h */
    uint64_t taken, kept;     /* how often chunks have been taken to be packed, and brought back */
    uint64_t oldest;          /* tick: everything before it has expired */
    uint64_t round;           /* how often it has been written */
    uint64_t expired_records; /* read without the lock */
    struct kymo_watch watch;
    bool slow_full; /* slow calls are no longer written. Writer thread only */

    uint32_t held; /* 1: full chunks stay where they are */

    uint64_t ended; /* the tick at which kymo_stop was called, or 0 */
    uint64_t asked; /* the tick at which somebody asked who waits for `done` and then reads
                       `result`, or 0 */
    sem_t done;
    int result;
};

static inline bool kymo__flight_on(const struct kymo_flight *flight)
{
    return flight->size != 0;
}

void kymo__flight_init(struct kymo_flight *flight);
void kymo__flight_fini(struct kymo_flight *flight);

/* Set up a flight recorder unless BYTES and SPAN are both 0; if SLOW is not 0, it writes when a
   call took that long. 0 or -ENOMEM. */
int kymo__flight_begin(struct kymo_flight *flight, uint64_t bytes, kymo_ns span, kymo_ns slow);

/* Move full chunks into the ring: the oldest, up to MOST of them that make one block. Returns
   how many, 0 when there is none, or -EIO. */
int kymo__flight_keep(struct kymo_flight *flight, struct kymo_packer *packer, size_t most);

/* The same for one chunk, of records or of tracks: for a thread that needs a free one. */
int kymo__flight_help(struct kymo_flight *flight, struct kymo_packer *packer);

/* For the writer thread: move all full chunks. */
int kymo__flight_drain(struct kymo_flight *flight);

/* For the writer thread, periodically: expire what is too old, and write if asked to. */
void kymo__flight_serve(struct kymo_flight *flight);

/* For the writer thread, after a drain: write if a call was slow. */
void kymo__flight_watch(struct kymo_flight *flight);

/* How many requests have been answered, in all sessions. */
extern uint32_t kymo__flight_answers;

/* signals.c: restore the program's signal handlers. Under the life lock. */
void kymo__signals_restore(void);

/* Write the ring and the contents of chunks, except what was too old at tick ASKED, or when the
   session ended: the writer thread may get a core much later than that. Writer thread only. 0 or
   negative errno; on failure nothing is lost. */
int kymo__flight_flush(struct kymo_flight *flight, uint64_t asked);

/* The session ends: what is not too old now will be written. */
void kymo__flight_end(struct kymo_flight *flight);

/* Have the writer thread, which must exist, do that, and wait for it. Under the life lock. */
int kymo__flight_ask(struct kymo_flight *flight);

/* For kymo_stop: while HELD, full chunks stay where they are, so that what threads recorded last
   is written from the chunks, whatever the size of the ring. */
void kymo__flight_hold(struct kymo_flight *flight, bool held);

#endif
