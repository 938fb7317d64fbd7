/* local.h — a recording thread's state beyond its lane (kymo/lane.h has the lane and the
   recording path itself). */
#ifndef KYMO_LOCAL_H
#define KYMO_LOCAL_H

#include <kymo/lane.h>

#include "clock.h"
#include "format.h"
#include "names.h"
#include "pen.h"
#include "switch.h"

struct kymo_laneset;

#define KYMO__RECENT 64 /* a power of two */

struct kymo_local {
    struct kymo_lane lane;     /* first: a lane is a local. Below: for whoever has claimed it */
    struct kymo_laneset *home; /* of its session; NULL once kymo_stop has taken the chunk */
    struct kymo_chunk *chunk;  /* NULL: none was available */
    uint64_t number;           /* for the next chunk */
    struct kymo_pen pen;       /* for events of tracks */
    struct kymo_gap_slot *gap; /* in the live file, or &spare */
    struct kymo_gap_slot spare;
    uint32_t tid;                      /* system id of its thread; under the registry's lock */
    uint32_t orphan;                   /* enum kymo_orphan */
    uint32_t undefined;                /* 1: the capture has no definition of this thread yet */
    uint32_t nameless;                 /* 1: introduced by another thread, and not named since */
    uint32_t exit_rounds;              /* how often the exit destructor has run */
    uint32_t ours;                     /* 1: the thread is Kymograph's */
    uint64_t joined_ticks;             /* when it became part of the session */
    uint64_t ops;                      /* operators that were given an id */
    struct kymo_local *before, *after; /* all locals; under the registry's lock */
    /* Recently used names and their keys, by address: most look-ups end here. */
    struct kymo_recent {
        const void *address;
        uint32_t key;
    } recent[KYMO__RECENT];
    struct kymo_recent recent_dtype, recent_device; /* of the tensor recorded last */
    uint32_t recent_changes; /* of those three: whoever reads them without a claim compares it */
    /* The same for operators: the name at an address may be another one by now, so that it is
       compared with `text`, the session's copy. */
    struct kymo_recent_op {
        const void *address;
        const char *text;
        uint32_t key;
    } recent_ops[KYMO__RECENT];
};

/* Who cleans up when the thread ends. Once the thread uses its local, only the thread changes
   this. */
enum kymo_orphan {
    KYMO__OWNED = 0,   /* the thread itself */
    KYMO__ORPHAN = 1,  /* another thread; this thread does not use it yet */
    KYMO__SAMPLED = 2, /* another thread; but this thread records into it */
};

/* The system's id of this thread, asked for once. */
extern _Thread_local uint32_t kymo__tid __attribute__((tls_model("initial-exec")));
uint32_t kymo__tid_ask(void);

static inline uint32_t kymo__tid_now(void)
{
    return kymo__likely(kymo__tid) ? kymo__tid : kymo__tid_ask();
}

/* The name of a thread of this process as the system has it; "" if unknown. */
void kymo__system_name(uint32_t tid, char name[32]);

/* The key of the name at NAME, inside a claim of LANE; 0 on failure. */
uint32_t kymo__key_slow(struct kymo_local *local, const char *name);

/* The place of ADDRESS among those recently used. */
KYMO_INLINE size_t kymo__recent_place(const void *address)
{
    uintptr_t bits = (uintptr_t)address;
    return (bits ^ bits >> 6) % KYMO__RECENT;
}

KYMO_INLINE uint32_t kymo__key(struct kymo_lane *lane, const char *name)
{
    struct kymo_local *local = (struct kymo_local *)lane;
    const struct kymo_recent *recent = &local->recent[kymo__recent_place(name)];
    if (kymo__likely(recent->address == name))
        return recent->key;
    return kymo__key_slow(local, name);
}

/* Make LANE, which the calling thread has claimed at AT, part of the session of LANES if it
   is not yet. Returns the claim's new position. */
struct kymo_record *kymo__lane_join(struct kymo_lane *lane, struct kymo_record *at,
                                    struct kymo_laneset *lanes);

/* For signal handlers, on the thread they interrupted. These take no lock and allocate nothing: */

/* This thread's own lane, or else PREPARED, which kymo__lane_prepare made for it; NULL when
   there is none, or the thread is about to end. */
struct kymo_lane *kymo__lane_in_signal(struct kymo_lane *prepared);

/* Like kymo_lane_claim, but there is no room when all chunks are in use, or when the interrupted
   code has claimed LANE. Then the event is counted as dropped. */
struct kymo_record *kymo__lane_claim_in_signal(struct kymo_lane *lane, unsigned count);

/* For the desk's thread, on behalf of the sampler: */

/* A lane for the thread TID, in case it has none of its own; NULL when it has one or memory is
   short. The thread may use it until kymo__lane_ended. */
struct kymo_lane *kymo__lane_prepare(uint32_t tid);

/* The thread TID has ended. */
void kymo__lane_ended(uint32_t tid);

/* The same for all threads whose end nobody noticed. */
void kymo__lanes_sweep(void);

/* Define, in the capture, the threads that joined the session in a signal handler. Returns their
   number. */
unsigned kymo__lanes_introduce(struct kymo_laneset *lanes);

/* Give NAME to thread TID if it was introduced in this way and has not named itself. */
void kymo__lanes_name(struct kymo_laneset *lanes, uint32_t tid, const char *name);

/* Write that LOCAL's thread has NAME. */
void kymo__local_name(struct kymo_laneset *lanes, struct kymo_local *local, const char *name);

/* For kymo_stop, holding no lock: wait until no thread is inside a claim, then take every chunk
   of the session from its thread. Returns how many threads did not leave their claim in time. */
unsigned kymo__locals_detach(struct kymo_laneset *lanes);

/* In a forked child: forget all threads but this one. */
void kymo__locals_forked(void);

#endif
