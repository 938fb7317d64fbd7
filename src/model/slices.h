/* slices.h — calls one after another, for who wants to ask for the next.

   Of each thread in turn, those that began in a stretch of time, in the order in which they
   ended, whole: nothing is cut at the ends of the stretch. Reading ends when all of them
   have ended. Memory is that of the deepest stack. */
#ifndef KYMO_SLICES_H
#define KYMO_SLICES_H

#include "calls.h"

struct kymo_slice_row {
    uint64_t id;     /* the same whatever part is looked at */
    uint64_t parent; /* id of the call it was made in; 0 none */
    uint32_t thread;
    uint32_t key;
    kymo_ns start, end, self;
    uint64_t task; /* generator or coroutine, or 0 */
    uint32_t depth;
    uint8_t enter, leave, flags;
    unsigned arg_count;
    const struct kymo_call_arg *args; /* lent until the next call */
};

struct kymo_slices;

/* Those of thread THREAD, or of all with -1, that began at FROM or later and before TO.
   Returns 0, -EINVAL for a thread that is not there, or -ENOMEM. */
int kymo__slices_new(struct kymo_capture *capture, int64_t thread, kymo_ns from, kymo_ns to,
                     struct kymo_slices **slices);

/* The next: 1, 0 at the end, 2 when there is none yet but it took a while, so that the caller
   may look whether it is still wanted; or a negative code. */
int kymo__slices_next(struct kymo_slices *slices, struct kymo_slice_row *row);
void kymo__slices_free(struct kymo_slices *slices);

/* The thread of the slice called ID. */
static inline int64_t kymo__slice_thread(uint64_t id)
{
    return (int64_t)(id >> 40);
}

#endif
