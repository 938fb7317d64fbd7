/* crewjob.h — the work of a crew (crew.h), cut into jobs: a piece of a thread each, in the order
   of the file.

   A job keeps the chunks that are ready but not written yet. Nothing here locks. */
#ifndef KYMO_CREWJOB_H
#define KYMO_CREWJOB_H

#include "crew.h"
#include "gzip.h"
#include "pieces.h"

/* Bytes on their way to the file. */
struct kymo_crew_chunk {
    struct kymo_crew_chunk *next;
    uint64_t number; /* within its job */
    struct kymo_buffer bytes;
    struct kymo_gzip_part part; /* if `deflated`: instead of `bytes` */
    bool deflated;
};

enum kymo_crew_state { KYMO__JOB_NEW, KYMO__JOB_IDLE, KYMO__JOB_HELD, KYMO__JOB_READ };

struct kymo_crew_job {
    const struct kymo_piece *piece;
    struct kymo_crew_thread *thread; /* while it is read */
    enum kymo_crew_state state;
    bool loose;                     /* its chunks may come between those of other jobs */
    bool void_;                     /* an earlier job reads this piece too */
    bool goes_on;                   /* it does that, once nobody reads those */
    uint64_t given, written;        /* chunks */
    struct kymo_crew_chunk *chunks; /* ready, by number */
    size_t ready_bytes;             /* of those */
};

struct kymo_crew_plan {
    struct kymo_capture *capture;
    const struct kymo_export_options *options;
    const struct kymo_crew_format *format;
    void *arg;
    uint64_t *tids;
    bool *memory; /* by key: memory events; NULL if there are none */
    struct kymo_piece *pieces;
    struct kymo_crew_job *jobs;
    size_t count;
};

/* Plan the jobs for the members before JOBS in PLAN; pieces have about RECORDS records. Returns 0
   or -ENOMEM; free it in either case. */
int kymo__crew_plan(struct kymo_crew_plan *plan, uint64_t records);
void kymo__crew_plan_free(struct kymo_crew_plan *plan);

/* Start to read JOB. Returns 0 or a negative code. */
int kymo__crew_open(const struct kymo_crew_plan *plan, struct kymo_crew_job *job);
void kymo__crew_close(const struct kymo_crew_plan *plan, struct kymo_crew_job *job);

/* Read until the chunk is full. Returns one of these or a negative code. */
enum {
    KYMO__JOB_DONE,
    KYMO__JOB_MORE,
    KYMO__JOB_GOES_ON, /* the next piece does not fit: read on, instead of it and all after it */
    KYMO__JOB_LAST,    /* the pieces after it are outside of the window */
};
int kymo__crew_fill(const struct kymo_crew_plan *plan, struct kymo_crew_job *job, uint64_t *events);

/* Is JOB the last one of its thread? */
bool kymo__crew_is_last(const struct kymo_crew_plan *plan, const struct kymo_crew_job *job);

/* Add CHUNK to those that are ready. */
void kymo__crew_ready(struct kymo_crew_job *job, struct kymo_crew_chunk *chunk);

/* The next chunk to write, or NULL while it is not ready. */
struct kymo_crew_chunk *kymo__crew_next(struct kymo_crew_job *job);
void kymo__crew_chunk_free(struct kymo_crew_chunk *chunk);

/* Ids by thread. The system may reuse a thread id; in a file each thread needs its own. The caller
   frees them; NULL if memory is short. */
uint64_t *kymo__crew_tids(const struct kymo_reader *reader);

#endif
