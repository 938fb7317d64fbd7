/* scratch.h — memory in which one thread puts a stack together.

   A thread gets its own at its first capture. It is handed on when the thread has ended: by the
   thread itself, or, when a signal handler was the one that took it, by whoever needs one and
   finds the thread gone. */
#ifndef KYMO_SCRATCH_H
#define KYMO_SCRATCH_H

#include <kymo/stack.h>

#include "atomic.h"

#define KYMO__STACK_MAX 16384u /* frames of one stack, both kinds together */

struct kymo_scratch {
    struct kymo_scratch *older; /* all there are, for good */
    uint32_t owner;             /* system id of the thread; 0: nobody's */
    uint32_t busy;              /* a capture is going on */
    uint32_t registered;        /* it is given back when the thread ends */
    uint64_t captures, truncated;
    struct kymo_managed_frame managed[KYMO__STACK_MAX];
    uint64_t words[KYMO__STACK_MAX];
};

extern __thread struct kymo_scratch *kymo__scratch __attribute__((tls_model("initial-exec")));

/* The rare part of what follows. */
struct kymo_scratch *kymo__scratch_first(bool in_signal);

/* This thread's, marked busy; NULL when it is busy already or there is no memory. */
static inline struct kymo_scratch *kymo__scratch_enter(bool in_signal)
{
    struct kymo_scratch *s = kymo__scratch;
    if (kymo__unlikely(!s || !s->registered))
        s = kymo__scratch_first(in_signal);
    if (kymo__unlikely(!s || kymo__load_relaxed(&s->busy)))
        return NULL;
    kymo__store_relaxed(&s->busy, 1u);
    kymo__compiler_fence();
    return s;
}

static inline void kymo__scratch_leave(struct kymo_scratch *scratch)
{
    kymo__compiler_fence();
    kymo__store_relaxed(&scratch->busy, 0u);
}

/* Captures of all threads so far, and how many were cut. */
void kymo__scratch_count(uint64_t *captures, uint64_t *truncated);

#endif
