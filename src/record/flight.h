/* flight.h — the flight recorder: packed records stay in a ring in memory, and only the
   last of them reach the file, when somebody asks. Definitions go there as ever. */
#ifndef KYMO_FLIGHT_H
#define KYMO_FLIGHT_H

#include <pthread.h>
#include <semaphore.h>

#include "block.h"
#include "watch.h"

struct kymo_session;

struct kymo_flight {
    size_t size;           /* of the ring; 0: this session is no flight recorder */
    kymo_ns span;          /* what is older expires; 0: nothing does for its age */
    uint32_t block_chunks; /* most chunks in a block, so that it is a small part of the ring */

    pthread_mutex_t lock; /* guards what follows; and no chunk is freed but under it */
    uint8_t *ring;
    size_t head, tail;        /* the oldest block, and the byte behind the newest */
    size_t wrap;              /* not 0: blocks lie from head to here, and on from 0 to tail */
    uint64_t blocks, records; /* in it */
    uint32_t first;           /* of the full chunks in line to be packed, as in chunks.h */
    uint64_t oldest;          /* tick: what is before has expired */
    uint64_t round;           /* how often it was written */
    uint64_t expired_records; /* read without the lock */
    struct kymo_watch watch;

    uint32_t held; /* 1: full chunks stay where they are */

    uint32_t asked; /* 1: somebody waits for `done`, and then reads `result` */
    sem_t done;
    int result;
};

static inline bool kymo__flight_on(const struct kymo_flight *flight)
{
    return flight->size != 0;
}

void kymo__flight_init(struct kymo_flight *flight);
void kymo__flight_fini(struct kymo_flight *flight);

/* Make it a flight recorder unless BYTES and SPAN are both 0; with SLOW not 0 it writes
   when a call took that long. 0 or -ENOMEM. */
int kymo__flight_begin(struct kymo_flight *flight, uint64_t bytes, kymo_ns span, kymo_ns slow);

/* Move full chunks into the ring: those that were full first, up to MOST of them that make
   one block. Returns how many, 0 when there is none, or -EIO. */
int kymo__flight_keep(struct kymo_session *s, struct kymo_packer *packer, size_t most);

/* The writer thread: move all there are. */
int kymo__flight_drain(struct kymo_session *s);

/* The writer thread, now and then: let expire what is too old, and write if asked to. */
void kymo__flight_serve(struct kymo_session *s);

/* The writer thread, after a drain: write if a call was slow. */
void kymo__flight_watch(struct kymo_session *s);

/* How often a request was answered, in all sessions. Changes only. */
extern uint32_t kymo__flight_answers;

/* signals.c: signals are the program's again. Under the life lock. */
void kymo__signals_restore(void);

/* Write the ring, and what is in chunks. The writer thread only. 0 or negative errno; then
   what was not written is still there. */
int kymo__flight_flush(struct kymo_session *s);

/* For kymo_stop, before and after threads give up their chunks: what they recorded last is
   written from there, whatever the size of the ring. */
void kymo__flight_hold(struct kymo_session *s);
void kymo__flight_release(struct kymo_session *s);

#endif
