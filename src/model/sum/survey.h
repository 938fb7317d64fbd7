/* survey.h — one pass over a capture that finds where the time went.

   Threads of the capture are read in parallel, long ones in pieces, and the results are summed at
   the end. Memory is bounded by callables, call paths (up to a limit), stack depth and, unless they
   are taken together, the number of threads; not by the length of the capture. */
#ifndef KYMO_SURVEY_H
#define KYMO_SURVEY_H

#include "asyncs.h"
#include "functions.h"
#include "tree.h"

enum {
    KYMO__CLASS_OTHER = KYMO_CLASS_OPERATOR + 1, /* for classes that this version does not know */
    KYMO__CLASSES,
    KYMO__GENERATIONS = 4
};

static inline unsigned kymo__class_known(unsigned class)
{
    return class < KYMO__CLASS_OTHER ? class : KYMO__CLASS_OTHER;
}

struct kymo_survey_options {
    kymo_ns from, to;       /* INT64_MIN and INT64_MAX for everything */
    const bool *chosen;     /* by thread; NULL for all */
    unsigned workers;       /* 0: one per core */
    uint64_t piece_records; /* minimum size of the pieces that threads are split into; 0:
                               automatic */
    size_t nodes;           /* most nodes in the call tree; 0: no call tree */
    bool by_thread; /* the nodes directly below the root are the threads that made calls: their
                           callable is the thread's index, their total its busy time */
    kymo_ns until;  /* of the monotonic clock: stop reading there; 0: no limit */
    bool together;  /* threads are not told apart: `threads` of the survey has one, their sum */
    /* Called now and then on the calling thread with the events read and the total; a negative
       result stops the survey and is returned. May be NULL. */
    int (*progress)(void *arg, uint64_t done, uint64_t all);
    void *progress_arg;
};

struct kymo_survey_thread {
    struct kymo_calls_counts counts;
    uint64_t calls, resumes;
    kymo_ns busy;    /* inside any call */
    kymo_ns waiting; /* of that, in functions that wait; see origin.h */
    bool read;
};

struct kymo_survey_gc {
    uint64_t count[KYMO__GENERATIONS]; /* by generation; the last: unknown */
    kymo_ns time[KYMO__GENERATIONS];
    kymo_ns longest;
    uint64_t collected, uncollectable;
};

struct kymo_survey_counter {
    uint64_t changes;
    kymo_ns when; /* time of the last */
    double last, least, most;
};

struct kymo_survey {
    struct kymo_callables callables;
    struct kymo_functions functions;
    struct kymo_tree tree;              /* sorted; empty if not requested */
    struct kymo_survey_thread *threads; /* by index; a single one if `together` */
    size_t thread_count;
    struct kymo_survey_gc gc;
    struct kymo_survey_counter **counters; /* by callable: the counter of that name, or NULL */
    struct kymo_asyncs asyncs;
    kymo_ns self[KYMO__CLASSES]; /* by enum kymo_class; the last: unknown to this version */
    uint64_t called[KYMO__CLASSES];
    uint64_t completes; /* finished events on separate tracks, and their time */
    kymo_ns complete_time;
    struct kymo_calls_counts counts; /* totals over all threads */
    uint64_t calls, resumes;
    kymo_ns from, to; /* the part surveyed, within the capture */
    bool of_samples;  /* what is counted are samples, see samples.h */
    bool cut;         /* not everything was read: see kymo_capture_until */
};

/* Survey CAPTURE. Returns 0 or a negative code. The caller frees *SURVEY. */
int kymo__survey(struct kymo_capture *capture, const struct kymo_survey_options *options,
                 struct kymo_survey **survey);
void kymo__survey_free(struct kymo_survey *survey);

#endif
