/* walker.h — what a thread keeps from one walk to the next, and where it puts a stack together.

   It is large, but made of pages that cost memory only once they are used. Made at a thread's
   first capture, and another thread's after its end. */
#ifndef KYMO_WALKER_H
#define KYMO_WALKER_H

#include <kymo/stack.h>

#include "atomic.h"
#include "loader.h"
#include "mapping.h"
#include "walk.h"

#define KYMO__STACK_MAX 16384u /* frames of one stack, native and managed together */

enum { KYMO__SITE_BITS = 12, KYMO__TRAIL_BITS = 13 };

/* A return address, and its rule if that is simple: from the low end of `code`,
     1 bit    CFA is 0: sp, 1: fp, plus
     31 bits  this;
     32 bits  the caller's fp is at CFA - 8 + this; 0: still in the register.
   0: the rule is another one. */
struct kymo_site {
    uint64_t pc, code;
};

static inline uint64_t kymo__code(int32_t cfa, bool fp, int32_t saved)
{
    return (uint32_t)cfa << 1 | fp | (uint64_t)(uint32_t)saved << 32;
}
static inline int64_t kymo__code_cfa(uint64_t code)
{
    return (int32_t)(uint32_t)code >> 1;
}
static inline int64_t kymo__code_saved(uint64_t code)
{
    return (int64_t)code >> 32;
}

/* A frame used fp to find its end. */
struct kymo_slot {
    uint64_t sp;    /* in that frame */
    uint64_t value; /* of fp */
    uint64_t at;    /* where it had been saved; 0: nowhere, it was in the register */
};

struct kymo_walker {
    uint64_t busy;                /* the sp of the walk that is going on, else 0 */
    uint64_t capture;             /* the same of a capture, which may have a walk in it */
    uint64_t captures, truncated; /* how many so far, of all threads that had this */
    uint64_t version;             /* of the modules, for everything below */
    struct kymo_range stack, other;
    size_t count;  /* of frames and hashes */
    size_t usable; /* so many of them can be continued from: all on `stack`, simple rules */
    size_t slot_count;

    struct kymo_walker *next; /* all there are */
    uint32_t owner;           /* thread id; 0: free */
    uint32_t registered;      /* its thread's end will be told to it */

    struct kymo_site sites[1 << KYMO__SITE_BITS];
    /* A guess: the number of the site that followed last time, by those that came before it;
       and in the upper half, where the guess after that one is. */
    uint32_t trails[1 << KYMO__TRAIL_BITS];
    /* What the last walk found, outermost first. After the last frame follows one that is none,
       and whose `end` is the innermost frame's sp. */
    struct kymo_native frames[KYMO__WALK_MAX + 1];
    uint64_t hashes[KYMO__WALK_MAX]; /* of a frame and those further out */
    struct kymo_slot slots[KYMO__WALK_MAX];
    /* What this one has found that is new, innermost first. */
    struct kymo_native fresh[KYMO__WALK_MAX];
    struct kymo_slot fresh_slots[KYMO__WALK_MAX];

    struct kymo_managed_frame managed[KYMO__STACK_MAX];
    uint64_t words[KYMO__STACK_MAX]; /* frames as they are stored: see capture.c */
};

extern __thread struct kymo_walker *kymo__walker __attribute__((tls_model("initial-exec")));

/* The thread's walker, claimed for a capture by a function whose frame is at SP; the walks in it
   claim it for themselves. NULL when there is none, or a capture is going on. */
struct kymo_walker *kymo__walker_capture_slow(uint64_t sp);
static inline struct kymo_walker *kymo__walker_capture(uint64_t sp)
{
    struct kymo_walker *walker = kymo__walker;
    if (kymo__unlikely(!walker || walker->capture))
        return kymo__walker_capture_slow(sp);
    kymo__store_relaxed(&walker->capture, sp);
    kymo__compiler_fence();
    return walker;
}

/* It is over, and counted. */
static inline void kymo__walker_captured(struct kymo_walker *walker, bool truncated)
{
    kymo__store_relaxed(&walker->captures, walker->captures + 1);
    if (kymo__unlikely(truncated))
        kymo__store_relaxed(&walker->truncated, walker->truncated + 1);
    kymo__compiler_fence();
    kymo__store_relaxed(&walker->capture, UINT64_C(0));
}

/* Captures of all threads so far, and how many were cut. */
void kymo__walker_counts(uint64_t *captures, uint64_t *truncated);

/* The thread's walker, claimed for a walk that begins at SP, with RANGE what can be read from
   there on. NULL when there is none, or it is in use. */
struct kymo_walker *kymo__walker_claim(uint64_t sp, struct kymo_range *range, bool in_signal);

/* The same, with the thread's own stack for range, where nothing has happened since its last walk
   that would need a closer look; otherwise false, and nothing is claimed. */
static inline bool kymo__walker_quick(struct kymo_walker *walker, uint64_t sp)
{
    if (walker->busy || !kymo__load_relaxed(&kymo__loader.count) ||
        walker->version != kymo__modules_version() || !kymo__loader_finds() ||
        sp - walker->stack.low >= walker->stack.high - walker->stack.low)
        return false;
    kymo__store_relaxed(&walker->busy, sp);
    kymo__compiler_fence();
    return true;
}

/* The range around SP, which is not on the thread's own stack. */
bool kymo__walker_range(struct kymo_walker *walker, uint64_t sp, struct kymo_range *range);

static inline void kymo__walker_release(struct kymo_walker *walker)
{
    kymo__compiler_fence();
    kymo__store_relaxed(&walker->busy, 0);
}

#endif
