/* survey.h — one pass over a capture that answers where the time went.

   Threads of the capture are read side by side, one processor core each; what they found
   is added up at the end. Memory is bounded by callables, call paths (up to a limit) and
   the depth of stacks, and not by the length of the capture. */
#ifndef KYMO_SURVEY_H
#define KYMO_SURVEY_H

#include "asyncs.h"
#include "functions.h"
#include "tree.h"

enum { KYMO__CLASSES = KYMO_CLASS_GC + 2, KYMO__GENERATIONS = 4 };

struct kymo_survey_options {
    kymo_ns from, to;   /* INT64_MIN and INT64_MAX for everything */
    const bool *chosen; /* by thread; NULL for all */
    unsigned workers;   /* 0: one per core */
    size_t nodes;       /* of the call tree at most; 0: no call tree */
    bool by_thread;     /* the nodes right below the tree's root are the threads that made calls:
                           their callable is the thread's index, their total its busy time */
    /* Called now and then by the thread that asked, with events read of those there are; a
       negative result ends the survey and is its result. May be NULL. */
    int (*progress)(void *arg, uint64_t done, uint64_t all);
    void *progress_arg;
};

struct kymo_survey_thread {
    struct kymo_calls_counts counts;
    uint64_t calls, resumes;
    kymo_ns busy; /* inside any call */
    bool read;
};

struct kymo_survey_gc {
    uint64_t count[KYMO__GENERATIONS]; /* by generation; the last: not known */
    kymo_ns time[KYMO__GENERATIONS];
    kymo_ns longest;
    uint64_t collected, uncollectable;
};

struct kymo_survey_counter {
    uint64_t changes;
    kymo_ns when; /* of the last */
    double last, least, most;
};

struct kymo_survey {
    struct kymo_callables callables;
    struct kymo_functions functions;
    struct kymo_tree tree;              /* sorted; without nodes when not asked for */
    struct kymo_survey_thread *threads; /* by index */
    size_t thread_count;
    struct kymo_survey_gc gc;
    struct kymo_survey_counter **counters; /* by callable: the counter of that name, or NULL */
    struct kymo_asyncs asyncs;
    kymo_ns self[KYMO__CLASSES]; /* by enum kymo_class; the last: unknown to this version */
    uint64_t called[KYMO__CLASSES];
    uint64_t completes; /* finished events on tracks of their own, and their time */
    kymo_ns complete_time;
    struct kymo_calls_counts counts; /* of all threads */
    uint64_t calls, resumes;
    kymo_ns from, to; /* the part looked at, within the capture */
};

/* Read CAPTURE. Returns 0 with SURVEY to be freed, or a negative code. */
int kymo__survey(struct kymo_capture *capture, const struct kymo_survey_options *options,
                 struct kymo_survey **survey);
void kymo__survey_free(struct kymo_survey *survey);

#endif
