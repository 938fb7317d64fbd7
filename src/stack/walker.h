/* walker.h — what a thread keeps from one walk to the next.

   It is large, but made of pages that cost memory only once they are used. Made at a thread's
   first walk, and another thread's after its end. */
#ifndef KYMO_WALKER_H
#define KYMO_WALKER_H

#include "atomic.h"
#include "mapping.h"
#include "walk.h"

enum {
    KYMO__SITES = 4096,
    KYMO__SITE_ODD = 1, /* a site's `fp` that says: not one of the two simple rules */
};

/* A return address and its rule: CFA is (cfa & 1 ? fp : sp) + (cfa >> 1). Whoever called from
   here last time was called from site number `next`. */
struct kymo_site {
    uint64_t pc;
    int32_t cfa;
    int16_t fp; /* as in struct kymo_rule */
    uint16_t next;
};

/* A frame of this walk, while it goes on. */
struct kymo_fresh {
    uint64_t pc, end;
    uint64_t fp; /* the register's value in this frame */
    int32_t cfa; /* of its site */
    int16_t saved;
    uint16_t odd; /* the kind of its rule, if not simple */
};

/* What is known of a frame of the last walk. */
struct kymo_held {
    uint64_t sp, fp; /* the registers' values in that frame */
    uint64_t hash;   /* of this frame and those further out */
    uint32_t slots;  /* how many words were read for them */
    uint32_t needs_fp;
};

/* A word of the stack that was read. */
struct kymo_slot {
    uint64_t at, value;
};

struct kymo_walker {
    uint64_t busy;    /* the sp of the walk that is going on, else 0 */
    uint64_t version; /* of the modules, for everything below */
    struct kymo_range stack, other;
    size_t count;  /* of frames and held */
    size_t usable; /* so many of them can be continued from: all on `stack`, simple rules */
    uint32_t first_site;

    struct kymo_walker *next; /* all there are */
    uint32_t owner;           /* thread id; 0: free */
    uint32_t ended;           /* times that its thread's end was told to it */
    bool registered;          /* it will be told */

    struct kymo_site sites[KYMO__SITES];
    struct kymo_held held[1 + KYMO__WALK_MAX]; /* of frames[i]: i + 1; 0 ends a search */
    struct kymo_native frames[KYMO__WALK_MAX];
    struct kymo_slot slots[2 * KYMO__WALK_MAX];
    struct kymo_fresh fresh[KYMO__WALK_MAX];
};

extern __thread struct kymo_walker *kymo__walker __attribute__((tls_model("initial-exec")));

/* The thread's walker, claimed for a walk that begins at SP, with RANGE what can be read from
   there on. NULL when there is none, or it is in use. */
struct kymo_walker *kymo__walker_claim(uint64_t sp, struct kymo_range *range);

/* The range around SP, which is not on the thread's own stack. */
bool kymo__walker_range(struct kymo_walker *walker, uint64_t sp, struct kymo_range *range);

static inline void kymo__walker_release(struct kymo_walker *walker)
{
    kymo__compiler_fence();
    kymo__store_relaxed(&walker->busy, 0);
}

#endif
