/* crew.c — see crew.h.

   A member takes the first job that nobody reads, reads until a chunk is full, puts the job back
   for others, packs the chunk, and adds it to those that are ready. If nobody is writing, it then
   writes what is ready and due. No member ever waits while it holds something, except for the
   file; a job whose ready chunks take too much memory is left alone until some are written. */
#include "crew.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "alloc.h"
#include "crewjob.h"
#include "thread.h"

enum {
    MEMBERS_MOST = 16,       /* more cores than this only wait for each other */
    SMALL_CAPTURE = 100000,  /* events that one core writes before others would have started */
    PIECE_RECORDS = 1 << 15, /* the same for any number of cores, as is the file */
    READY_MOST = 4 << 20,    /* bytes of a job that wait for others */
};

struct crew {
    struct kymo_crew_plan plan;
    struct kymo_outfile *out;
    uint64_t all; /* total events */
    unsigned members;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Under the lock. */
    size_t front, turn, next; /* jobs: the first unfinished one, the first of those that is not
                                 loose, and the first that is new */
    unsigned open;            /* jobs that are begun and not finished */
    unsigned held;
    bool writing;                           /* somebody is */
    uint64_t done;                          /* events read */
    struct kymo_buffer spare[MEMBERS_MOST]; /* memory for chunks: fresh pages are slow */
    unsigned spares;
    int error;
};

static struct {
    unsigned members;
    uint64_t records;
} limits;

void kymo__crew_limit(unsigned members, uint64_t records)
{
    limits.members = members;
    limits.records = records;
}

static struct kymo_buffer take_spare(struct crew *c)
{
    struct kymo_buffer none = {0};
    pthread_mutex_lock(&c->lock);
    struct kymo_buffer buffer = c->spares ? c->spare[--c->spares] : none;
    pthread_mutex_unlock(&c->lock);
    buffer.len = 0;
    return buffer;
}

/* Keep the memory of BUFFER for later chunks, and take it from its owner. */
static void give_spare(struct crew *c, struct kymo_buffer *buffer)
{
    const struct kymo_buffer none = {0};
    pthread_mutex_lock(&c->lock);
    if (buffer->bytes && c->spares < MEMBERS_MOST) {
        c->spare[c->spares++] = *buffer;
        *buffer = none;
    }
    pthread_mutex_unlock(&c->lock);
    kymo__buffer_fini(buffer);
}

/* ---- jobs; all with the lock held ---- */

/* May someone else still use what JOB reads? */
static bool is_contested(const struct crew *c, const struct kymo_crew_job *job)
{
    for (; job->goes_on && !kymo__crew_is_last(&c->plan, job); job++)
        if (job[1].state == KYMO__JOB_HELD)
            return true;
    return false;
}

static struct kymo_crew_job *begin_job(struct crew *c)
{
    while (c->next < c->plan.count && c->open <= c->members) {
        struct kymo_crew_job *job = &c->plan.jobs[c->next++];
        if (job->void_)
            continue;
        int rc = kymo__crew_open(&c->plan, job);
        if (rc < 0) {
            c->error = rc;
            return NULL;
        }
        c->open++;
        return job;
    }
    return NULL;
}

/* Take a job to read. Waits while there is none, since one may come back; returns NULL when
   nothing is left to do. */
static struct kymo_crew_job *crew_take(struct crew *c)
{
    for (;;) {
        struct kymo_crew_job *job = NULL;
        for (size_t i = c->front; i < c->next && !job && !c->error; i++) {
            struct kymo_crew_job *one = &c->plan.jobs[i];
            if (one->state == KYMO__JOB_IDLE && one->ready_bytes < READY_MOST &&
                !is_contested(c, one))
                job = one;
        }
        if (!job && !c->error)
            job = begin_job(c);
        if (job) {
            job->state = KYMO__JOB_HELD;
            c->held++;
            return job;
        }
        if (c->error || (!c->held && !c->writing && c->front == c->plan.count)) {
            pthread_cond_broadcast(&c->changed);
            return NULL;
        }
        pthread_cond_wait(&c->changed, &c->lock);
    }
}

static void drop_chunks(struct kymo_crew_job *job)
{
    for (struct kymo_crew_chunk *chunk = job->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        kymo__crew_chunk_free(chunk);
    }
    job->chunks = NULL;
    job->ready_bytes = 0;
}

/* JOB covers the rest of its thread: the jobs after it are void. */
static void take_rest(struct crew *c, struct kymo_crew_job *job)
{
    for (; !kymo__crew_is_last(&c->plan, job); job++) {
        struct kymo_crew_job *next = job + 1;
        next->void_ = true;
        drop_chunks(next);
        if (next->state == KYMO__JOB_IDLE) {
            kymo__crew_close(&c->plan, next);
            next->state = KYMO__JOB_READ;
        }
    }
}

/* Put JOB back after reading with result RC. */
static void put_back(struct crew *c, struct kymo_crew_job *job, int rc)
{
    c->held--;
    if (rc < 0 && !job->void_)
        c->error = c->error ? c->error : rc;
    if (!job->void_ && (rc == KYMO__JOB_GOES_ON || rc == KYMO__JOB_LAST))
        take_rest(c, job);
    job->goes_on |= rc == KYMO__JOB_GOES_ON;
    if (!job->void_ && (rc == KYMO__JOB_MORE || rc == KYMO__JOB_GOES_ON)) {
        job->state = KYMO__JOB_IDLE;
        return;
    }
    kymo__crew_close(&c->plan, job);
    job->state = KYMO__JOB_READ;
}

static bool is_finished(const struct kymo_crew_job *job)
{
    return job->void_ ? job->state == KYMO__JOB_NEW || job->state == KYMO__JOB_READ
                      : job->state == KYMO__JOB_READ && job->written == job->given;
}

/* Step over the jobs that are finished. */
static void advance_file(struct crew *c)
{
    const struct kymo_crew_job *jobs = c->plan.jobs;
    while (c->turn < c->plan.count && (jobs[c->turn].loose || is_finished(&jobs[c->turn])))
        c->turn++;
    while (c->front < c->plan.count && is_finished(&jobs[c->front]))
        c->front++;
    c->next = c->next > c->front ? c->next : c->front;
    c->open = 0;
    for (size_t i = c->front; i < c->next; i++)
        c->open += jobs[i].state != KYMO__JOB_NEW && !is_finished(&jobs[i]);
}

/* ---- members ---- */

static struct kymo_crew_chunk *find_due(struct crew *c)
{
    advance_file(c);
    struct kymo_crew_chunk *chunk =
        c->turn < c->next ? kymo__crew_next(&c->plan.jobs[c->turn]) : NULL;
    for (size_t i = c->front; !chunk && i < c->next; i++)
        if (c->plan.jobs[i].loose)
            chunk = kymo__crew_next(&c->plan.jobs[i]);
    return chunk;
}

/* Write what is ready and due, unless somebody else does. */
static void write_due(struct crew *c)
{
    if (c->writing)
        return;
    c->writing = true;
    for (struct kymo_crew_chunk *chunk; !c->error && (chunk = find_due(c));) {
        pthread_mutex_unlock(&c->lock);
        if (chunk->deflated)
            kymo__outfile_add_part(c->out, &chunk->part);
        else
            kymo__outfile_add(c->out, chunk->bytes.bytes, chunk->bytes.len);
        give_spare(c, &chunk->bytes);
        kymo__crew_chunk_free(chunk);
        pthread_mutex_lock(&c->lock);
        c->error = c->error ? c->error : c->out->error;
        pthread_cond_broadcast(&c->changed);
    }
    c->writing = false;
}

/* Pack CHUNK in place. */
static int pack_part(struct crew *c, struct kymo_deflater *deflater, struct kymo_crew_chunk *chunk)
{
    if (!chunk->bytes.len || !(deflater || c->plan.format->pack))
        return 0;
    if (deflater) {
        int rc = kymo__gzip_part(deflater, chunk->bytes.bytes, chunk->bytes.len, &chunk->part);
        chunk->deflated = rc == 0;
        give_spare(c, &chunk->bytes);
        return rc;
    }
    struct kymo_buffer packed = take_spare(c);
    int rc = c->plan.format->pack(&chunk->bytes, &packed);
    if (rc == 0) {
        struct kymo_buffer raw = chunk->bytes;
        chunk->bytes = packed;
        packed = raw;
    }
    give_spare(c, &packed);
    return rc < 0 ? rc : 0;
}

/* Continue reading JOB and put it back. Returns its chunk, or NULL if memory is short. */
static struct kymo_crew_chunk *read_on(struct crew *c, struct kymo_crew_job *job)
{
    struct kymo_crew_chunk *chunk = kymo__alloc_zeroed(sizeof(*chunk));
    struct kymo_buffer fresh = take_spare(c);
    uint64_t events = 0;
    int rc = chunk ? kymo__buffer_reserve(&fresh, KYMO__CREW_CHUNK) : -ENOMEM;
    if (rc == 0)
        rc = kymo__crew_fill(&c->plan, job, &events);
    pthread_mutex_lock(&c->lock);
    if (chunk) {
        chunk->bytes = job->thread->out;
        chunk->number = job->given++;
        job->thread->out = fresh;
    } else {
        kymo__buffer_fini(&fresh);
    }
    c->done += events;
    put_back(c, job, rc);
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return chunk;
}

static int tell_progress(struct crew *c)
{
    const struct kymo_export_options *o = c->plan.options;
    pthread_mutex_lock(&c->lock);
    uint64_t done = c->done < c->all ? c->done : c->all;
    pthread_mutex_unlock(&c->lock);
    return o->progress ? o->progress(o->progress_arg, done, c->all) : 0;
}

static void work_on_parts(struct crew *c, bool caller)
{
    /* If there is none, the file compresses when written. */
    struct kymo_deflater *deflater = c->out->packing ? kymo__deflater_new() : NULL;
    pthread_mutex_lock(&c->lock);
    for (struct kymo_crew_job *job; (job = crew_take(c));) {
        pthread_mutex_unlock(&c->lock);
        struct kymo_crew_chunk *chunk = read_on(c, job);
        int rc = chunk ? pack_part(c, deflater, chunk) : -ENOMEM;
        int told = caller ? tell_progress(c) : 0;
        pthread_mutex_lock(&c->lock);
        rc = rc < 0 ? rc : told;
        c->error = c->error ? c->error : rc < 0 ? rc : 0;
        if (chunk && job->void_)
            kymo__crew_chunk_free(chunk);
        else if (chunk)
            kymo__crew_ready(job, chunk);
        write_due(c);
        pthread_cond_broadcast(&c->changed);
    }
    pthread_mutex_unlock(&c->lock);
    kymo__deflater_free(deflater);
}

static void *work_on(void *crew)
{
    work_on_parts(crew, false);
    return NULL;
}

/* ---- whole ---- */

static unsigned count_members(const struct crew *c)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    long wanted = cores < 1 || c->all < SMALL_CAPTURE ? 1 : cores;
    if (limits.members)
        return limits.members;
    bool packs = c->plan.format->pack || c->out->packing;
    if (!packs && (size_t)wanted > c->plan.count)
        wanted = (long)c->plan.count; /* taking turns at one job costs more than it gains */
    wanted = wanted < 1 ? 1 : wanted;
    return wanted < MEMBERS_MOST ? (unsigned)wanted : MEMBERS_MOST;
}

/* Work on the calling thread and as many others as can be started. */
static void work_together(struct crew *c)
{
    pthread_t others[MEMBERS_MOST];
    unsigned started = 0;
    while (started + 1 < c->members &&
           kymo__thread_start(&others[started], "kymo export", 0, work_on, c) == 0)
        started++;
    work_on_parts(c, true);
    while (started)
        pthread_join(others[--started], NULL);
}

int kymo__crew_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                     const struct kymo_crew_format *format, void *arg, struct kymo_outfile *out)
{
    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(capture, &info);
    struct crew c = {
        .plan = {.capture = capture, .options = options, .format = format, .arg = arg},
        .out = out,
        .all = info.records,
    };
    int rc = kymo__crew_plan(&c.plan, limits.records ? limits.records : PIECE_RECORDS);
    if (rc == 0) {
        c.members = count_members(&c);
        pthread_mutex_init(&c.lock, NULL);
        pthread_cond_init(&c.changed, NULL);
        work_together(&c);
        while (c.spares)
            kymo__buffer_fini(&c.spare[--c.spares]);
        pthread_cond_destroy(&c.changed);
        pthread_mutex_destroy(&c.lock);
        rc = c.error;
    }
    kymo__crew_plan_free(&c.plan);
    return rc;
}
