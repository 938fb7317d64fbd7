/* survey_parts.h — shared by the files of the survey: what its workers do, and with what.

   survey.c plans and runs the workers, survey_take.c is what each of them does with the calls it
   reads, and survey_merge.c makes one survey of their parts. */
#ifndef KYMO_SURVEY_PARTS_H
#define KYMO_SURVEY_PARTS_H

#include <pthread.h>

#include "pace.h"
#include "pieces.h"
#include "survey.h"

/* A piece of a thread to read. */
struct kymo_survey_job {
    struct kymo_piece *piece;
    bool whole; /* it is the whole thread */
    struct kymo_survey_thread found;
    /* Ends of async spans must meet their begins in order of time, so a piece keeps them until all
       pieces have been read. */
    struct kymo_kept_async {
        kymo_ns time;
        uint64_t id;
        uint32_t callable;
        bool end;
    } * asyncs;
    size_t async_count, async_capacity;
};

/* One worker's share of the survey. */
struct kymo_survey_worker {
    struct kymo_survey_work *work;
    pthread_t thread;
    bool started;
    struct kymo_capture *capture;
    struct kymo_survey part;        /* without callables and threads, which are shared */
    struct kymo_survey_thread *now; /* the thread being read */
    struct kymo_survey_job *job;    /* the piece being read */
    uint32_t index;                 /* its index */
    bool tree;
    int result;
};

struct kymo_survey_work {
    struct kymo_survey *whole;
    const struct kymo_survey_options *options;
    bool *waits;     /* by callable */
    uint32_t thread; /* the next to plan: many threads are read in several batches */
    uint64_t each;   /* records of a piece, about */
    /* The batch: */
    struct kymo_piece *pieces; /* by thread, then in order of time */
    size_t piece_count, piece_capacity;
    struct kymo_survey_job *jobs;   /* one per piece, in the same order */
    struct kymo_survey_job **order; /* longest first */
    size_t job_count;
    size_t next;   /* next job to take; shared by the workers, like the next two */
    uint64_t done; /* events read */
    int stop;      /* negative: stop */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    unsigned running;      /* running workers; under the lock */
    struct kymo_pace pace; /* under the lock */
};

/* Set up the part of worker W. Returns 0 or -ENOMEM; free the part in either case. */
int kymo__survey_prepare(struct kymo_survey_worker *w);
void kymo__survey_free_part(struct kymo_survey *part, size_t callables);

/* Read the piece of JOB. Returns 0 or a negative code. */
int kymo__survey_read(struct kymo_survey_worker *w, struct kymo_survey_job *job);

/* The visitor's callbacks; W, a worker, takes a call. */
int kymo__survey_enter(void *w, struct kymo_open_call *frame, uint32_t depth);
int kymo__survey_leave(void *w, const struct kymo_slice *slice);

/* Take the begin or end of an async span, in order of time. */
int kymo__survey_async(struct kymo_survey_worker *w, const struct kymo_kept_async *async);

/* The counter called CALLABLE in S, created if needed; NULL if memory is short. Then: its VALUE at
   WHEN. */
struct kymo_survey_counter *kymo__survey_counter_of(struct kymo_survey *s, uint32_t callable);
void kymo__survey_change(struct kymo_survey_counter *counter, kymo_ns when, double value);

/* When all pieces have been read: let W take the calls that cross them. -EAGAIN if they do not
   fit. */
int kymo__survey_join(struct kymo_survey_worker *w);

/* Add the part of W to S; at the end, the sums over all threads. */
int kymo__survey_merge(struct kymo_survey *s, struct kymo_survey_worker *w);
void kymo__survey_add_threads(struct kymo_survey *s);

#endif
