/* pace.h — reading that ends in time: see kymo_capture_until.

   Threads are read one after the other, or several at once. Each gets a share of the time that is
   left, by the number of its records, so that what is read of a capture is the beginning of every
   thread. */
#ifndef KYMO_PACE_H
#define KYMO_PACE_H

#include "calls.h"

struct kymo_pace {
    kymo_ns until;    /* of the monotonic clock; 0: no limit */
    uint64_t records; /* of threads that have no share yet */
};

/* For all threads of CAPTURE, or for those that are CHOSEN, by thread, if it is not NULL. */
struct kymo_pace kymo__pace_of(const struct kymo_capture *capture, const bool *chosen,
                               kymo_ns until);

/* Return the time by which a thread of RECORDS records, which is read now, must end; or 0. */
kymo_ns kymo__pace_share(struct kymo_pace *pace, uint64_t records);

/* kymo__calls_read; past UNTIL, it cuts CALLS first and sets *CUT. */
int kymo__pace_read(struct kymo_calls *calls, unsigned most, kymo_ns until, bool *cut);

#endif
