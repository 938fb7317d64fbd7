/* columns.c — a capture as tables; kymo/read.h lists them.

   The work is cut into jobs: a piece of a long thread (pieces.h), or several short threads. A step
   reads as many jobs as there are cores, each into its own batch, and the batches are handed out in
   order, with ids that continue (batch.h). The jobs do not depend on the number of cores, so the
   rows and their order do not either. No thread of ours outlives a step. */
#include "columns.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "atomic.h"
#include "batch.h"
#include "pieces.h"
#include "thread.h"

enum {
    MEMBERS_MOST = 8,
    STEP = 4096, /* events between two checks of the rows */
    JOB_RECORDS = 1 << 18,
    ROWS_MOST = 3 << 17,     /* of a table; longer jobs are handed out in several batches */
    SMALL_CAPTURE = 1 << 18, /* records that one core reads alone */
};

static struct {
    unsigned members;
    uint64_t records;
} limits; /* for tests */

void kymo__columns_limit(unsigned members, uint64_t records)
{
    limits.members = members < MEMBERS_MOST ? members : MEMBERS_MOST;
    limits.records = records;
}

/* Consecutive pieces: one, or those of several whole threads. */
struct job {
    const struct kymo_piece *first, *end;
};

/* Reads a job. Belongs to one member during a step. */
struct reading {
    const struct job *job;        /* NULL: free */
    const struct kymo_piece *at;  /* being read, or next */
    struct kymo_capture *capture; /* shared with the others */
    bool open;                    /* `calls` reads piece `at` */
    bool done;                    /* the job has been read */
    bool follows; /* when done: the next job goes on from here; otherwise those of this thread are
                     void, because this one has read all that belongs to it */
    int error;
    struct kymo_visitor visitor;
    struct kymo_calls calls;
    struct kymo_batch batch;
};

struct kymo_columns {
    struct kymo_capture *capture;
    struct kymo_callables callables;
    struct kymo_window window;
    struct kymo_piece *pieces;
    size_t piece_count;
    struct job *jobs;
    size_t job_count, next;   /* next: not started */
    struct reading *readings; /* in the order of their jobs, from `front` on */
    unsigned members, front, count;
    size_t turn; /* in a step: the next reading without a member; atomic */
    bool begun;  /* a batch has been handed out */
    struct kymo_batch *shown;
    struct kymo_batch_before before;
    struct kymo_batch_open *open; /* what before.open shows */
};

/* ---- planning ---- */

static kymo_ns window_from(const struct kymo_columns *c)
{
    return c->window.from > 0 ? c->window.from : INT64_MIN;
}

static bool is_whole(const struct kymo_piece *piece)
{
    return piece->first == KYMO__NO_SUMMARY && piece->last == KYMO__NO_SUMMARY;
}

static int plan_jobs(struct kymo_columns *c, uint64_t each)
{
    uint64_t records = 0;
    c->jobs = kymo__alloc_zeroed((c->piece_count + 1) * sizeof(*c->jobs));
    if (!c->jobs)
        return -ENOMEM;
    for (size_t i = 0; i < c->piece_count; i++) {
        const struct kymo_piece *piece = &c->pieces[i];
        bool joins = i && is_whole(piece) && is_whole(piece - 1) && records + piece->records < each;
        if (!joins) {
            c->jobs[c->job_count++].first = piece;
            records = 0;
        }
        c->jobs[c->job_count - 1].end = piece + 1;
        records += piece->records;
    }
    return 0;
}

static int plan_columns(struct kymo_columns *c)
{
    size_t threads = c->capture->reader->thread_count, capacity = 0;
    uint64_t each = limits.records ? limits.records : JOB_RECORDS, records = 0;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < threads; i++)
        if (c->window.thread < 0 || c->window.thread == i)
            rc = kymo__pieces_plan(c->capture, i, window_from(c), c->window.to, each, &c->pieces,
                                   &c->piece_count, &capacity);
    for (size_t i = 0; i < c->piece_count; i++)
        records += c->pieces[i].records;
    if (rc == 0)
        rc = plan_jobs(c, each);
    long cores = records < SMALL_CAPTURE ? 1 : sysconf(_SC_NPROCESSORS_ONLN);
    cores = limits.members ? (long)limits.members : cores < MEMBERS_MOST ? cores : MEMBERS_MOST;
    c->members = cores < 1 ? 1 : (unsigned)cores;
    return rc;
}

int kymo_columns_new(struct kymo_capture *capture, const struct kymo_window *window,
                     struct kymo_columns **columns)
{
    struct kymo_columns *c = kymo__alloc_zeroed(sizeof(*c));
    if (!c)
        return -ENOMEM;
    c->window = (struct kymo_window){sizeof(*window), 0, INT64_MAX, -1};
    if (window)
        memcpy(&c->window, window,
               window->size < sizeof(c->window) ? window->size : sizeof(c->window));
    int rc = -EINVAL;
    if (c->window.thread < -1 || c->window.thread >= (int64_t)capture->reader->thread_count)
        goto fail;
    c->capture = capture;
    rc = kymo__callables_init(&c->callables, capture);
    if (rc == 0)
        rc = plan_columns(c);
    if (rc < 0)
        goto fail;
    c->readings = kymo__alloc_zeroed(c->members * sizeof(*c->readings));
    rc = -ENOMEM;
    if (!c->readings)
        goto fail;
    for (unsigned i = 0; i < c->members; i++)
        kymo__batch_init(&c->readings[i].batch, &c->callables);
    c->shown = &c->readings[0].batch;
    *columns = c;
    return 0;
fail:
    kymo_columns_free(c);
    return rc;
}

/* ---- one job ---- */

static void reading_close(struct kymo_columns *c, struct reading *r)
{
    if (r->open)
        kymo__calls_fini(&r->calls);
    r->open = false;
    kymo__capture_unshare(c->capture, r->capture);
    r->capture = NULL;
    r->job = NULL;
}

static int reading_open(struct kymo_columns *c, struct reading *r, const struct job *job)
{
    kymo__batch_empty(&r->batch);
    r->batch.calls = r->batch.marks = 0;
    r->done = r->follows = false;
    r->error = 0;
    r->at = job->first;
    r->visitor = (struct kymo_visitor){
        .arg = &r->batch, .leave = kymo__batch_leave, .other = kymo__batch_other};
    int rc = kymo__capture_share(c->capture, &r->capture);
    if (rc == 0) {
        r->batch.reader = r->capture->reader;
        r->job = job;
    }
    return rc;
}

/* Start piece `at`. */
static int begin_piece(const struct kymo_columns *c, struct reading *r)
{
    const struct kymo_piece *piece = r->at;
    r->batch.thread = piece->thread;
    r->open = true;
    r->visitor.enter = piece->first == KYMO__NO_SUMMARY ? kymo__batch_enter : kymo__batch_again;
    int rc = kymo__calls_part(&r->calls, r->capture, piece->thread, window_from(c), c->window.to,
                              piece->first, piece->last, &r->visitor);
    r->calls.nest.enter = kymo__batch_enter;
    return rc;
}

/* Piece `at` has been read. Calls open at the end of a job stay in `calls`. */
static int end_piece(struct reading *r)
{
    const struct kymo_piece *piece = r->at++;
    r->done = r->at == r->job->end;
    if (r->done && r->calls.part) {
        int follows = kymo__piece_follows(&r->calls, piece->last);
        if (follows == 0) { /* a damaged file: this job reads the rest of the thread */
            kymo__calls_go_on(&r->calls);
            r->at = piece;
            r->done = false;
        }
        r->follows = follows > 0;
        return follows < 0 ? follows : 0;
    }
    if (!r->done) {
        kymo__calls_fini(&r->calls);
        r->open = false;
    }
    return 0;
}

static bool is_full(const struct kymo_batch *b)
{
    return kymo__batch_rows(b, KYMO__BATCH_SLICES) >= ROWS_MOST ||
           kymo__batch_rows(b, KYMO__BATCH_MARKS) >= ROWS_MOST ||
           kymo__batch_rows(b, KYMO__BATCH_ARGS) >= ROWS_MOST;
}

/* Read until the batch is full or the job done. */
static void reading_fill(const struct kymo_columns *c, struct reading *r)
{
    while (r->error == 0 && !r->done && !is_full(&r->batch)) {
        int rc = r->open ? 0 : begin_piece(c, r);
        if (rc == 0)
            rc = kymo__calls_read(&r->calls, STEP);
        if (rc == 0)
            rc = end_piece(r);
        r->error = rc < 0 ? rc : 0;
    }
}

/* ---- steps ---- */

static void *work_on(void *arg)
{
    struct kymo_columns *c = arg;
    size_t i;
    while ((i = kymo__add_relaxed(&c->turn, (size_t)1)) < c->count)
        reading_fill(c, &c->readings[i]);
    return NULL;
}

/* Read the next jobs, on the calling thread and as many others as can be started. */
static int columns_step(struct kymo_columns *c)
{
    pthread_t others[MEMBERS_MOST];
    unsigned started = 0;
    c->front = c->count = 0;
    while (c->count < c->members && c->next < c->job_count) {
        int rc = reading_open(c, &c->readings[c->count], &c->jobs[c->next]);
        if (rc < 0)
            return rc;
        c->count++;
        c->next++;
    }
    c->turn = 0;
    while (started + 1 < c->count &&
           kymo__thread_start(&others[started], "kymo columns", 0, work_on, c) == 0)
        started++;
    work_on(c);
    while (started)
        pthread_join(others[--started], NULL);
    return 0;
}

/* Give the rows of R their final ids. */
static int hand_over(struct kymo_columns *c, struct reading *r)
{
    kymo__batch_settle(&r->batch, &c->before);
    c->shown = &r->batch;
    if (!r->done)
        return 0;
    uint32_t depth = r->follows ? r->calls.nest.depth : 0;
    struct kymo_batch_open *open = kymo__alloc((depth + 1) * sizeof(*open));
    if (!open)
        return r->error = -ENOMEM;
    for (uint32_t i = 0; i < depth; i++)
        open[i] = kymo__batch_open_call(&r->calls.nest.frames[i], &c->before);
    kymo__free(c->open);
    c->before.open = c->open = open;
    c->before.calls += r->batch.calls;
    c->before.marks += r->batch.marks;
    return 0;
}

/* R's job is done and handed over. Skip the jobs that it has read too. */
static void move_on(struct kymo_columns *c, struct reading *r)
{
    const struct kymo_piece *last = r->job->end - 1;
    bool follows = r->follows;
    reading_close(c, r);
    c->front++;
    while (!follows && c->front < c->count &&
           c->readings[c->front].job->first->thread == last->thread) {
        c->readings[c->front].capture->reader->damaged_blocks = 0; /* counted by R */
        reading_close(c, &c->readings[c->front++]);
    }
    while (!follows && c->next < c->job_count && c->jobs[c->next].first->thread == last->thread)
        c->next++;
}

/* Hand out the next batch. Returns 1, 0 at the end, or a negative code. */
static int next_batch(struct kymo_columns *c)
{
    struct reading *r = c->front < c->count ? &c->readings[c->front] : NULL;
    int rc = 0;
    if (r && r->done) {
        move_on(c, r);
    } else if (r) { /* a long job goes on */
        kymo__batch_empty(&r->batch);
        reading_fill(c, r);
    }
    if (c->front == c->count) {
        if (c->next == c->job_count)
            return 0;
        rc = columns_step(c);
    }
    r = &c->readings[c->front];
    if (rc == 0)
        rc = r->error ? r->error : hand_over(c, r);
    return rc < 0 ? rc : 1;
}

int kymo_columns_next(struct kymo_columns *c)
{
    int rc;
    do {
        kymo__batch_empty(c->shown);
        rc = next_batch(c);
    } while (rc > 0 && !kymo__batch_rows(c->shown, KYMO__BATCH_SLICES) &&
             !kymo__batch_rows(c->shown, KYMO__BATCH_MARKS));
    if (rc < 0)
        return rc;
    bool first = !c->begun;
    c->begun = true;
    return first || rc;
}

const struct kymo_table *kymo_columns_table(const struct kymo_columns *c, unsigned index)
{
    return index <= KYMO__BATCH_TEXTS ? &c->shown->tables[index].shown : NULL;
}

int kymo_columns_function(const struct kymo_columns *c, uint32_t index, const char **name,
                          const char **file, uint32_t *line, uint32_t *class_)
{
    if (index >= c->callables.count)
        return -ENOENT;
    const struct kymo_callable *callable = &c->callables.all[index];
    if (name)
        *name = callable->name;
    if (file)
        *file = callable->file;
    if (line)
        *line = callable->line;
    if (class_)
        *class_ = callable->class;
    return 0;
}

void kymo_columns_free(struct kymo_columns *c)
{
    if (!c)
        return;
    for (unsigned i = 0; c->readings && i < c->members; i++) {
        reading_close(c, &c->readings[i]);
        kymo__batch_fini(&c->readings[i].batch);
    }
    kymo__free(c->readings);
    kymo__free(c->jobs);
    kymo__pieces_free(c->pieces, c->piece_count);
    kymo__free(c->open);
    kymo__callables_fini(&c->callables);
    kymo__free(c);
}
