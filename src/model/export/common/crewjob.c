/* crewjob.c — see crewjob.h. */
#include "crewjob.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "alloc.h"
#include "fields.h"
#include "heapschemas.h"

enum {
    STEP = 1024,    /* events between two checks of the chunk's size */
    LONG = 1 << 18, /* records of a thread that others do not wait for */
};

/* ---- planning ---- */

static kymo_ns plan_from(const struct kymo_crew_plan *p)
{
    return p->options->from > 0 ? p->options->from : INT64_MIN;
}

static int plan_pieces(struct kymo_crew_plan *p, uint64_t records, size_t *capacity)
{
    const int64_t chosen = p->options->thread;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < p->capture->reader->thread_count; i++) {
        struct kymo_thread_info info = {.size = sizeof(info)};
        kymo_capture_thread(p->capture, i, &info);
        if ((info.records || info.lost) && (chosen < 0 || chosen == i))
            rc = kymo__pieces_plan(p->capture, i, plan_from(p), p->options->to, records, &p->pieces,
                                   &p->count, capacity);
    }
    return rc;
}

/* Find the keys of events that formats do not get. */
static int find_memory(struct kymo_crew_plan *p)
{
    const struct kymo_reader *r = p->capture->reader;
    if (!kymo__may_have_heap(p->capture))
        return 0;
    p->memory = kymo__alloc_zeroed(r->key_count + 1);
    for (uint32_t key = 1; p->memory && key < r->key_count; key++) {
        unsigned kind = r->keys[key].schema ? kymo__heap_kind_of(kymo__key_name(r, key)) : 0;
        p->memory[key] = kind && kind != KYMO__HEAP_SNAPSHOT;
    }
    return p->memory ? 0 : -ENOMEM;
}

int kymo__crew_plan(struct kymo_crew_plan *p, uint64_t records)
{
    size_t capacity = 0;
    p->tids = kymo__crew_tids(p->capture->reader);
    int rc = p->tids ? plan_pieces(p, p->format->whole ? UINT64_MAX : records, &capacity) : -ENOMEM;
    p->jobs = kymo__alloc_zeroed((p->count + 1) * sizeof(*p->jobs));
    if (rc < 0 || !p->jobs || find_memory(p) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < p->count; i++)
        p->jobs[i].piece = &p->pieces[i];
    /* A long thread that cannot be cut does not keep all others waiting. */
    for (size_t i = 0; i < p->count; i++)
        p->jobs[i].loose = !p->format->ordered && p->pieces[i].first == KYMO__NO_SUMMARY &&
                           kymo__crew_is_last(p, &p->jobs[i]) && p->pieces[i].records > LONG;
    return 0;
}

bool kymo__crew_is_last(const struct kymo_crew_plan *p, const struct kymo_crew_job *job)
{
    return job + 1 == p->jobs + p->count || job[1].piece->thread != job->piece->thread;
}

void kymo__crew_plan_free(struct kymo_crew_plan *p)
{
    for (size_t i = 0; p->jobs && i < p->count; i++) {
        kymo__crew_close(p, &p->jobs[i]);
        for (struct kymo_crew_chunk *chunk = p->jobs[i].chunks, *next; chunk; chunk = next) {
            next = chunk->next;
            kymo__crew_chunk_free(chunk);
        }
    }
    kymo__free(p->jobs);
    kymo__pieces_free(p->pieces, p->count);
    kymo__free(p->tids);
    kymo__free(p->memory);
}

/* ---- one job ---- */

void kymo__crew_close(const struct kymo_crew_plan *p, struct kymo_crew_job *job)
{
    struct kymo_crew_thread *t = job->thread;
    if (!t)
        return;
    if (t->state && p->format->end)
        p->format->end(t);
    kymo__calls_fini(&t->calls);
    if (job->void_ && t->capture)
        t->capture->reader->damaged_blocks = 0; /* counted by whoever reads it instead */
    kymo__capture_unshare(p->capture, t->capture);
    kymo__buffer_fini(&t->out);
    kymo__free(t->state);
    kymo__free(t);
    job->thread = NULL;
}

/* Describe the thread of JOB in T. */
static void introduce(const struct kymo_crew_plan *p, const struct kymo_crew_job *job,
                      struct kymo_crew_thread *t)
{
    const struct kymo_piece *piece = job->piece;
    struct kymo_process_info process;
    t->info.size = sizeof(t->info);
    kymo_capture_thread(p->capture, piece->thread, &t->info);
    t->arg = p->arg;
    t->tid = p->tids[piece->thread];
    t->pid = kymo__crew_pid(p->capture, t->info.process, &process);
    snprintf(t->unnamed, sizeof(t->unnamed), "thread %" PRId64, t->info.tid);
    t->name = *t->info.name ? t->info.name : t->unnamed;
    t->first = piece->first == KYMO__NO_SUMMARY;
    t->since = t->info.first;
    if (!t->first) {
        size_t hint = 0;
        t->since = kymo__timebase_ns(&p->capture->base,
                                     p->capture->reader->summaries[piece->first].before, &hint);
    }
}

/* Read T from the start of its piece. */
static int begin_job(const struct kymo_crew_plan *p, const struct kymo_piece *piece,
                     struct kymo_crew_thread *t)
{
    const struct kymo_crew_format *f = p->format;
    t->visitor = (struct kymo_visitor){.arg = t,
                                       .enter = t->first ? f->enter : f->again,
                                       .leave = f->leave,
                                       .other = f->other,
                                       .skipped = p->memory,
                                       .keys = p->capture->reader->key_count};
    int rc = kymo__calls_part(&t->calls, t->capture, piece->thread, plan_from(p), p->options->to,
                              piece->first, piece->last, &t->visitor);
    t->calls.nest.enter = f->enter;
    /* The job before finds this too, and reads on. */
    return rc == -ENOENT ? 0 : rc;
}

int kymo__crew_open(const struct kymo_crew_plan *p, struct kymo_crew_job *job)
{
    struct kymo_crew_thread *t = kymo__alloc_zeroed(sizeof(*t));
    if (!t)
        return -ENOMEM;
    job->thread = t;
    introduce(p, job, t);
    t->state = kymo__alloc_zeroed(p->format->state_size + 1);
    int rc = t->state ? kymo__buffer_reserve(&t->out, KYMO__CREW_CHUNK) : -ENOMEM;
    if (rc == 0)
        rc = kymo__capture_share(p->capture, &t->capture);
    if (rc == 0 && p->format->begin)
        rc = p->format->begin(t);
    if (rc == 0)
        rc = begin_job(p, job->piece, t);
    if (rc < 0)
        kymo__crew_close(p, job);
    return rc;
}

/* JOB's piece has been read. Does the next one start with what is open now? */
static int end_of_piece(const struct kymo_crew_plan *p, const struct kymo_crew_job *job)
{
    const struct kymo_crew_thread *t = job->thread;
    if (job->goes_on || kymo__crew_is_last(p, job))
        return KYMO__JOB_DONE;
    if (!t->calls.part)
        return KYMO__JOB_LAST;
    if (p->format->goes_on && p->format->goes_on(t))
        return KYMO__JOB_GOES_ON;
    int rc = kymo__piece_follows(&t->calls, job->piece->last);
    return rc < 0 ? rc : rc ? KYMO__JOB_DONE : KYMO__JOB_GOES_ON;
}

int kymo__crew_fill(const struct kymo_crew_plan *p, struct kymo_crew_job *job, uint64_t *events)
{
    struct kymo_crew_thread *t = job->thread;
    int rc = 1;
    if (job->goes_on && t->calls.part)
        kymo__calls_go_on(&t->calls);
    while (rc > 0 && t->out.len < KYMO__CREW_CHUNK) {
        rc = kymo__calls_read(&t->calls, STEP);
        *events += STEP;
    }
    if (rc)
        return rc < 0 ? rc : KYMO__JOB_MORE;
    int end = end_of_piece(p, job);
    bool last = end == KYMO__JOB_LAST ||
                (end == KYMO__JOB_DONE && (job->goes_on || kymo__crew_is_last(p, job)));
    rc = last && p->format->finish ? p->format->finish(t) : 0;
    return rc < 0 ? rc : end;
}

/* ---- chunks ---- */

void kymo__crew_chunk_free(struct kymo_crew_chunk *chunk)
{
    if (!chunk)
        return;
    kymo__buffer_fini(&chunk->bytes);
    kymo__buffer_fini(&chunk->part.deflated);
    kymo__free(chunk);
}

static size_t chunk_bytes(const struct kymo_crew_chunk *chunk)
{
    return chunk->deflated ? chunk->part.deflated.len : chunk->bytes.len;
}

void kymo__crew_ready(struct kymo_crew_job *job, struct kymo_crew_chunk *chunk)
{
    struct kymo_crew_chunk **at = &job->chunks;
    while (*at && (*at)->number < chunk->number)
        at = &(*at)->next;
    chunk->next = *at;
    *at = chunk;
    job->ready_bytes += chunk_bytes(chunk);
}

struct kymo_crew_chunk *kymo__crew_next(struct kymo_crew_job *job)
{
    struct kymo_crew_chunk *chunk = job->chunks;
    if (!chunk || chunk->number != job->written)
        return NULL;
    job->chunks = chunk->next;
    job->ready_bytes -= chunk_bytes(chunk);
    job->written++;
    return chunk;
}
