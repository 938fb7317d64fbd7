/* walker.h — what a thread keeps between walks, and the buffers in which a stack is assembled.

   It is large, but its pages take memory only once used. Created at a thread's first capture; after
   the thread exits, another thread reuses it. */
#ifndef KYMO_WALKER_H
#define KYMO_WALKER_H

#include <kymo/stack.h>

#include "atomic.h"
#include "loader.h"
#include "mapping.h"
#include "merge.h"
#include "walk.h"

#define KYMO__STACK_MAX 16384u /* most frames of one stack, native and managed together */

enum { KYMO__SITE_BITS = 12, KYMO__TRAIL_BITS = 13 };

/* A return address, and its rule if that is simple. From the low end of `code`:
     1 bit    CFA is 0: sp, 1: fp, plus
     31 bits  this;
     32 bits  the caller's fp is at CFA - 8 + this; 0: still in the register.
   0: the rule is not simple. */
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

/* A frame that used fp to find its end. */
struct kymo_slot {
    uint64_t sp;    /* in that frame */
    uint64_t value; /* of fp */
    uint64_t at;    /* where it was saved; 0: in the register */
};

/* A stack that this thread has recorded in SESSION, by its hash. See interrupted.h. */
#define KYMO__MEMOS 1024u /* a power of two */
struct kymo_walk_memo {
    uint64_t hash; /* 0: none */
    uint32_t session;
    kymo_stack stack;
};

/* A stack that this thread has recorded, by the words that its walk read: see reread.h. */
struct kymo_reread_word {
    uint64_t at, value;
};
struct kymo_reread {
    uint64_t frame, managed, version;
    uint64_t begin; /* of its words, counted since the first one ever added */
    uint32_t session, how;
    kymo_stack stack;
    uint32_t count; /* of its words */
};
enum {
    KYMO__REREAD_BITS = 10,
    KYMO__REREAD_WAYS = 2,
    KYMO__REREAD_WORDS = 1 << 14,
    KYMO__REREAD_MANAGED = 64,   /* most frames of the interpreter */
    KYMO__REREAD_MOST = 1 << 10, /* of one stack; a multiple of 8 */
};

/* The interpreter's stacks of up to so many frames are found by their hash; for those of fewer than half
   as many, a trail is given up. */
#define KYMO__SHALLOW 20u

/* The node of a frame of the interpreter, by what it was called from: see trail.c. */
enum { KYMO__TRAIL_MEMO_BITS = 10 };
struct kymo_trail_memo {
    uint64_t place, code, scope, known;
    kymo_stack parent;
};

/* What the nodes of a path depend on. */
struct kymo_path_scope {
    uint64_t session, epoch, modules;
};

/* A frame of the path, its word (0: it is not shown), and its node in the tree. */
struct kymo_path_frame {
    struct kymo_merged frame;
    uint64_t word;
    kymo_stack node;
    uint32_t managed; /* how many of the path up to here are the interpreter's */
};

/* The word of a native frame, by its return address, for a version of the modules. */
enum { KYMO__WORD_BITS = 11 };
struct kymo_word_memo {
    uint64_t pc, word, modules;
};

struct kymo_walker {
    uint64_t busy;                /* sp of the walk in progress, else 0 */
    uint64_t capture;             /* the same for a capture, which may contain a walk */
    uint64_t captures, truncated; /* totals so far, over all threads that owned this */
    uint64_t version;             /* version of the modules, for everything below */
    struct kymo_range stack, other;
    size_t count;  /* of frames and hashes */
    size_t usable; /* how many can be reused: all on `stack`, with simple rules */
    size_t slot_count;
    size_t
        same; /* how many of the outermost frames are as they were when path.h last used them, and so
                    is where they begin */

    struct kymo_walker *next; /* list of all walkers */
    uint32_t owner;           /* thread id; 0: free */
    uint32_t registered;      /* its thread's exit will be reported */

    struct kymo_site sites[1 << KYMO__SITE_BITS];
    /* A guess: the number of the site that followed last time, by those that came before it; in the
       upper half, where the guess after that one is. */
    uint32_t trails[1 << KYMO__TRAIL_BITS];
    /* Result of the last walk, outermost first. After the last frame comes a sentinel, whose `end`
       is the innermost frame's sp. */
    struct kymo_native frames[KYMO__WALK_MAX + 1];
    uint64_t hashes[KYMO__WALK_MAX]; /* of a frame and those further out */
    struct kymo_slot slots[KYMO__WALK_MAX];
    /* New frames of this walk, innermost first. */
    struct kymo_native fresh[KYMO__WALK_MAX];
    struct kymo_slot fresh_slots[KYMO__WALK_MAX];

    struct kymo_walk_memo memos[KYMO__MEMOS];
    uint64_t reread_end;   /* how many words were ever added */
    uint32_t reread_found; /* the last stack was found by them: so may the next be */
    struct kymo_reread rereads[1 << KYMO__REREAD_BITS];
    struct kymo_reread_word reread_words[KYMO__REREAD_WORDS];
    struct kymo_reread_word reread_fresh[KYMO__REREAD_MOST]; /* to be added */
    struct kymo_managed_frame managed[KYMO__STACK_MAX];
    struct kymo_merged merged[KYMO__STACK_MAX];
    uint64_t words[KYMO__STACK_MAX]; /* frames as stored: see merge.h */

    /* The stack that was last added to the tree, outermost first: see path.h. */
    struct kymo_path_scope path_scope;
    size_t path_count;
    uint32_t path_whole;  /* it is all of the stack */
    size_t planted_count; /* the interpreter's frames in it, outermost first */
    struct kymo_managed_frame planted[KYMO__STACK_MAX];
    struct kymo_path_frame path[KYMO__STACK_MAX];
    struct kymo_word_memo word_memos[1 << KYMO__WORD_BITS];

    /* The interpreter's frames when a stack of them was last recorded: see trail.h. Not for signal
       handlers while it is busy. */
    uint32_t trail_busy;
    uint32_t trail_deep; /* stacks are deep now, so that it is worth while */
    uint32_t trail_session;
    uint64_t trail_scope; /* of what is known about the frames */
    size_t trail_done;    /* frames whose nodes are known */
    struct kymo_trail trail;
    struct kymo_trail_memo trail_memos[1 << KYMO__TRAIL_MEMO_BITS];
    struct kymo_trail_frame trail_frames[1 + KYMO__STACK_MAX];
};

extern __thread struct kymo_walker *kymo__walker __attribute__((tls_model("initial-exec")));

/* Claim the thread's walker for a capture by a function whose frame is at SP; the walks in it claim
   it separately. NULL if there is none, or a capture is in progress. */
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

/* End the capture and count it. */
static inline void kymo__walker_captured(struct kymo_walker *walker, bool truncated)
{
    kymo__store_relaxed(&walker->captures, walker->captures + 1);
    if (kymo__unlikely(truncated))
        kymo__store_relaxed(&walker->truncated, walker->truncated + 1);
    kymo__compiler_fence();
    kymo__store_relaxed(&walker->capture, UINT64_C(0));
}

/* Total captures of all threads so far, and how many were truncated. */
void kymo__walker_counts(uint64_t *captures, uint64_t *truncated);

/* Claim the thread's walker for a walk that starts at SP; RANGE is set to what is readable from
   there. NULL if there is none, or it is in use. */
struct kymo_walker *kymo__walker_claim(uint64_t sp, struct kymo_range *range, bool in_signal);

/* Fast path of the same, with the thread's own stack as range, if nothing has happened since its
   last walk that needs a closer look; otherwise false, and nothing is claimed. */
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

/* Store in WORDS, which has room for MOST, the words at FRAME and above that OWN's last walk read, and
   return how many there are: 0 if there are more, or the walk from FRAME on depended on anything else
   but rules. FRAME is __builtin_frame_address(0) of a function that was walked and is still running. */
size_t kymo__walk_words(struct kymo_walker *own, uint64_t frame, struct kymo_reread_word *words,
                        size_t most);

/* The range around SP, which is not on the thread's own stack. */
bool kymo__walker_range(struct kymo_walker *walker, uint64_t sp, struct kymo_range *range);

static inline void kymo__walker_release(struct kymo_walker *walker)
{
    kymo__compiler_fence();
    kymo__store_relaxed(&walker->busy, 0);
}

#endif
