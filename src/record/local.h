/* local.h — what the recorder knows of a recording thread behind its lane (kymo/lane.h,
   which has the recording path itself). */
#ifndef KYMO_LOCAL_H
#define KYMO_LOCAL_H

#include <kymo/lane.h>

#include "clock.h"
#include "format.h"
#include "names.h"
#include "switch.h"

struct kymo_session;

#define KYMO__RECENT 64 /* a power of two */

struct kymo_local {
    struct kymo_lane lane;     /* first: a lane is a local. Below: its owner, while claimed */
    struct kymo_names *names;  /* of the session; NULL once kymo_stop has taken the chunk */
    struct kymo_chunk *chunk;  /* NULL: none could be had */
    uint64_t number;           /* of the next chunk */
    struct kymo_gap_slot *gap; /* in the live file, or &spare */
    struct kymo_gap_slot spare;
    uint32_t tid;                      /* system id of its thread; under the registry's lock */
    uint32_t orphan;                   /* enum kymo_orphan */
    uint32_t untold;                   /* 1: the capture has yet to be told of this thread */
    uint64_t joined_ticks;             /* when it became part of the session */
    struct kymo_local *before, *after; /* all locals; under the registry's lock */
    /* Names met lately and their keys, by address: most look-ups end here. */
    struct kymo_recent {
        const void *address;
        uint32_t key;
    } recent[KYMO__RECENT];
};

/* Who tidies up when the thread ends. Once the thread knows of its local it alone changes this. */
enum kymo_orphan {
    KYMO__OWNED = 0,   /* the thread itself */
    KYMO__ORPHAN = 1,  /* somebody else; the thread does not know of it */
    KYMO__SAMPLED = 2, /* somebody else; but the thread records into it */
};

/* The system's id of this thread, asked for once. */
extern _Thread_local uint32_t kymo__tid __attribute__((tls_model("initial-exec")));
uint32_t kymo__tid_ask(void);

static inline uint32_t kymo__tid_now(void)
{
    return kymo__likely(kymo__tid) ? kymo__tid : kymo__tid_ask();
}

/* The key of the name at NAME, inside a claim of LANE; 0 when it cannot be had. */
uint32_t kymo__key_slow(struct kymo_local *local, const char *name);

KYMO_INLINE uint32_t kymo__key(struct kymo_lane *lane, const char *name)
{
    struct kymo_local *local = (struct kymo_local *)lane;
    uintptr_t bits = (uintptr_t)name;
    const struct kymo_recent *recent = &local->recent[(bits ^ bits >> 6) % KYMO__RECENT];
    if (kymo__likely(recent->address == name))
        return recent->key;
    return kymo__key_slow(local, name);
}

/* Make LANE, which the calling thread has claimed at AT, part of the running session if it
   is not yet. Returns where it stands then. */
struct kymo_record *kymo__lane_join(struct kymo_lane *lane, struct kymo_record *at);

/* For signal handlers, on their thread. They take no lock and allocate nothing: */

/* This thread's lane: its own, or else PREPARED, which kymo__lane_prepare made for it; NULL
   when there is none, or the thread is about to end. */
struct kymo_lane *kymo__lane_in_signal(struct kymo_lane *prepared);

/* As kymo_lane_claim; but there is no room when all chunks are in use, or when LANE is claimed
   by what the signal interrupted. Then it is counted as lost. */
struct kymo_record *kymo__lane_claim_in_signal(struct kymo_lane *lane, unsigned count);

/* For the sampler's thread: */

/* A lane for the thread TID, in case it has none of its own; NULL when it has or when memory
   is short. It is the thread's until kymo__lane_ended. */
struct kymo_lane *kymo__lane_prepare(uint32_t tid);

/* The thread TID has ended. */
void kymo__lane_ended(uint32_t tid);

/* The same for all that have, whose end nobody saw. */
void kymo__lanes_sweep(void);

/* Tell the capture of threads that became part of the session in a signal handler. */
void kymo__lanes_tell(struct kymo_session *s);

/* For kymo_stop, under no lock: wait until no thread is inside a claim, then take
   every chunk of session NUMBER from its thread. Returns how many threads could not
   be waited for. */
unsigned kymo__locals_detach(uint32_t number);

/* In a forked child: forget all threads but this one. */
void kymo__locals_forked(void);

#endif
