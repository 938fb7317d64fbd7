/* tally.h — samples counted by thread and stack: the basis of everything computed from samples.

   Memory is bounded by the distinct stacks of each thread, not by the number of samples. */
#ifndef KYMO_TALLY_H
#define KYMO_TALLY_H

#include "capture.h"
#include "map.h"

struct kymo_tally {
    uint32_t thread;
    uint32_t node; /* reader node where the stack ends */
    uint64_t samples, periods;
};

struct kymo_tallies {
    struct kymo_tally *all; /* by thread, then by node */
    size_t count, capacity;
    struct kymo_map places; /* positions + 1, by thread and node */
    uint64_t samples, periods;
    uint64_t of_wall; /* samples of elapsed time rather than CPU time */
    kymo_ns period;   /* 1 if the capture does not say */
    bool period_known;
};

struct kymo_tally_options {
    kymo_ns from, to;   /* INT64_MIN and INT64_MAX for everything */
    const bool *chosen; /* by thread; NULL for all */
    /* As in a survey. */
    int (*progress)(void *arg, uint64_t done, uint64_t all);
    void *progress_arg;
    /* For viewers: read as kymo__each_sample_quick does, and call EACH, too. */
    bool quick;
    int (*each)(void *arg, const struct kymo_event *event);
    void *each_arg;
};

/* Count what OPTIONS select of CAPTURE. Returns 0 or a negative code; call fini in either case. */
int kymo__tally(struct kymo_tallies *tallies, struct kymo_capture *capture,
                const struct kymo_tally_options *options);
void kymo__tally_fini(struct kymo_tallies *tallies);

/* Call EACH for the samples of THREAD with FROM <= time < TO, in the order recorded; a negative
   result stops and is returned. Returns 0 or a negative code. */
int kymo__each_sample(struct kymo_capture *capture, uint32_t thread, kymo_ns from, kymo_ns to,
                      int (*each)(void *arg, const struct kymo_event *event), void *arg);

/* The same for viewers: blocks without samples are passed over, so damage in them is not noticed. STOP,
   which may be NULL, is called before each block with STOP_ARG; a negative result ends it, too. */
int kymo__each_sample_quick(struct kymo_capture *capture, uint32_t thread, kymo_ns from, kymo_ns to,
                            int (*each)(void *arg, const struct kymo_event *event), void *arg,
                            int (*stop)(void *arg), void *stop_arg);

/* PERIODS as time. */
kymo_ns kymo__tally_time(const struct kymo_tallies *tallies, uint64_t periods);

#endif
