/* slices.h — pull iterator over finished calls.

   Goes thread by thread through the calls that began in a range of time, in the order in which they
   ended. Calls are whole, not cut at the ends of the range; reading stops when all of them have
   ended. Memory use is proportional to the deepest stack. */
#ifndef KYMO_SLICES_H
#define KYMO_SLICES_H

#include "calls.h"

struct kymo_slice_row {
    uint64_t id;     /* independent of the range read */
    uint64_t parent; /* id of the calling call, 0 if none */
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

/* Iterate over the calls of thread THREAD, or of all with -1, that began at FROM <= time < TO.
   Returns 0, -EINVAL for a thread that does not exist, or -ENOMEM. */
int kymo__slices_new(struct kymo_capture *capture, int64_t thread, kymo_ns from, kymo_ns to,
                     struct kymo_slices **slices);

/* Read the next call. Returns 1, 0 at the end, or a negative code; 2 if none is ready yet, so that
   the caller can check for cancellation. */
int kymo__slices_next(struct kymo_slices *slices, struct kymo_slice_row *row);
void kymo__slices_free(struct kymo_slices *slices);

/* The thread of the slice with this ID. */
static inline int64_t kymo__slice_thread(uint64_t id)
{
    return (int64_t)(id >> 40);
}

#endif
