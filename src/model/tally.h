/* tally.h — samples counted by thread and stack: what everything about them is made from.

   Memory is bounded by the different stacks of each thread, not by the number of samples. */
#ifndef KYMO_TALLY_H
#define KYMO_TALLY_H

#include "capture.h"

struct kymo_tally {
    uint32_t thread;
    uint32_t node; /* of the reader's: where the stack ends */
    uint64_t samples, periods;
};

struct kymo_tallies {
    struct kymo_tally *all; /* by thread, then by node */
    size_t count, capacity;
    uint32_t *slots; /* positions + 1, 0 for free */
    size_t slot_count;
    uint64_t samples, periods;
    uint64_t of_wall; /* of the samples, those of time that passed and not of time run */
    kymo_ns period;   /* 1 when the capture does not say */
    bool period_known;
};

struct kymo_tally_options {
    kymo_ns from, to;   /* INT64_MIN and INT64_MAX for everything */
    const bool *chosen; /* by thread; NULL for all */
    /* As those of a survey. */
    int (*progress)(void *arg, uint64_t done, uint64_t all);
    void *progress_arg;
};

/* Count what OPTIONS choose of CAPTURE. Returns 0 or a negative code; fini in any case. */
int kymo__tally(struct kymo_tallies *tallies, struct kymo_capture *capture,
                const struct kymo_tally_options *options);
void kymo__tally_fini(struct kymo_tallies *tallies);

/* Call EACH for the samples of THREAD from FROM up to TO, in the order recorded; a negative result
   ends it and is the result. Returns 0 or a negative code. */
int kymo__each_sample(struct kymo_capture *capture, uint32_t thread, kymo_ns from, kymo_ns to,
                      int (*each)(void *arg, const struct kymo_event *event), void *arg);

/* PERIODS as time. */
kymo_ns kymo__tally_time(const struct kymo_tallies *tallies, uint64_t periods);

#endif
