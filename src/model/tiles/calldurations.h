/* calldurations.h — how long the calls of a function took: a histogram with a logarithmic scale, and
   the longest calls in each of its bars.

   Counted are the calls that began in a range, each with its real duration: one that ends after the
   range is not cut. Reading stops after a number of events, and what was not counted is reported. */
#ifndef KYMO_CALLDURATIONS_H
#define KYMO_CALLDURATIONS_H

#include "callables.h"
#include "calls.h"
#include "histogram.h"

/* Bars 0 to 3 count the durations of 0 to 3 ns; above, every power of two is divided into four. */
enum {
    KYMO__DURATION_BARS = 248,
    KYMO__DURATION_LONGEST = 16, /* calls that are kept of each bar */
};

/* The shortest duration that bar BAR counts; that of the one after the last is INT64_MAX. */
kymo_ns kymo__duration_bar_start(unsigned bar);

struct kymo_calldurations_request {
    const struct kymo_callables *callables;
    uint32_t name;       /* which callable */
    const bool *chosen;  /* by thread: which to read; NULL for all */
    kymo_ns from, to;    /* count calls that began from here to before there */
    uint64_t budget;     /* events to read at most, about */
    int (*stop)(void *); /* called now and then; a negative result ends it. May be NULL */
    void *stop_arg;
};

struct kymo_long_call {
    uint32_t thread, depth;
    kymo_ns start, duration;
};

struct kymo_duration_bar {
    uint64_t calls;
    struct kymo_long_call *longest; /* the longest ones, the longest first */
};

/* All zero before; free what is in it with fini, also after an error. */
struct kymo_calldurations {
    uint64_t calls; /* that are in the bars */
    uint64_t open;  /* others, whose ends were not reached */
    kymo_ns least, most;
    bool complete; /* the range was read to its end on every thread */
    kymo_ns until; /* if not: calls that began before are counted, of later ones only some */
    uint64_t events;
    struct kymo_histogram lengths; /* for percentiles */
    struct kymo_duration_bar bars[KYMO__DURATION_BARS];
    unsigned looked_up; /* private: calls whose end was looked for after reading had stopped */
};

/* Read CAPTURE. Returns 0 or a negative code. */
int kymo__calldurations(struct kymo_capture *capture,
                        const struct kymo_calldurations_request *request,
                        struct kymo_calldurations *durations);
void kymo__calldurations_fini(struct kymo_calldurations *durations);

/* The duration that FRACTION of the calls do not exceed, accurate to 1 %. */
kymo_ns kymo__calldurations_at(const struct kymo_calldurations *durations, double fraction);

#endif
