/* shown.h — what the page of the timeline needs of a capture, as JSON: for its server, and for
   pages that have their data inside. docs/internals/viewer.md describes the fields.

   All times are nanoseconds since `origin`. Functions return 0 or a negative code. */
#ifndef KYMO_SHOWN_H
#define KYMO_SHOWN_H

#include "callables.h"
#include "jsonout.h"
#include "sampletile.h"

/* A capture as it is shown. Everything is lent. */
struct kymo_shown_capture {
    struct kymo_capture *capture;
    const struct kymo_callables *callables;
    const struct kymo_info *info;
    const char *path;
    uint64_t generation; /* how often it was opened before, because it had grown */
    kymo_ns origin;      /* the start, as it was first seen */
    kymo_ns from, to;    /* the part to show in full */
    const bool *chosen;  /* by thread: which to show; NULL for all */
    /* For pages with their data inside. */
    const struct kymo_samplebook *book; /* NULL: there are no samples */
    /* Append a tile of live memory to OUT; NULL: there is none. */
    int (*memory_tile)(void *arg, unsigned level, uint64_t index, struct kymo_buffer *out);
    void *memory_arg;
    /* Called now and then; a negative result ends what is going on. May be NULL. */
    int (*stop)(void *arg);
    void *stop_arg;
};

enum { KYMO__SHOWN_THREADS = 4000 }; /* more would be of no use on a screen */

/* The capture, its processes, threads, names and gaps, as an object inside of an array. */
int kymo__shown_overview(const struct kymo_shown_capture *shown, struct kymo_jsonout *json);

/* The functions of CALLABLES: member "names". */
void kymo__shown_names(const struct kymo_callables *callables, struct kymo_jsonout *json);

/* Counters, instants, arrows, tasks and finished events: members of an object. */
int kymo__shown_marks(const struct kymo_shown_capture *shown, struct kymo_jsonout *json);

/* Functions and call tree of the part and, if COUNTS, how often each name was called in it: members
   of an object. Uses all cores. */
int kymo__shown_stats(const struct kymo_shown_capture *shown, bool counts,
                      struct kymo_jsonout *json);

/* How often each name was called in all of the capture: members of an object. Uses all cores. */
int kymo__shown_counts(const struct kymo_shown_capture *shown, struct kymo_jsonout *json);

/* How many samples there are on which thread, and the names of their functions; and SAMPLE with its
   stack, innermost first: members of an object. BOOK is of the same capture. */
int kymo__shown_samples(const struct kymo_shown_capture *shown, const struct kymo_samplebook *book,
                        struct kymo_jsonout *json);
int kymo__shown_sample(const struct kymo_shown_capture *shown, const struct kymo_samplebook *book,
                       const struct kymo_event *sample, struct kymo_jsonout *json);

/* Every sample of the part, as [thread, time, name, stack, periods, time that they represent, clock],
   and the stacks by number: members "all" and "stacks" of an object. If there are more than a page
   should have, nothing. */
int kymo__shown_every_sample(const struct kymo_shown_capture *shown,
                             const struct kymo_samplebook *book, struct kymo_jsonout *json);

/* What kymo__shown_stats gives of calls, of the samples of the part: times are estimates, "calls" are
   samples with the function anywhere on the stack and "own" those directly in it. */
int kymo__shown_sample_stats(const struct kymo_shown_capture *shown,
                             const struct kymo_samplebook *book, struct kymo_jsonout *json);

#endif
