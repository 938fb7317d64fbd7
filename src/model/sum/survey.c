/* survey.c — see survey.h. Plans the pieces, runs the workers, and puts it all together. */
#include "survey.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "atomic.h"
#include "origin.h"
#include "survey_parts.h"
#include "thread.h"

enum {
    WORKERS_MOST = 64,
    PIECES_EACH = 20,
    PIECE_LEAST = 1 << 18, /* records */
    BATCH_PIECES = 8192,   /* about: a capture may have a million threads */
};

static void *work_on(void *arg)
{
    struct kymo_survey_worker *w = arg;
    struct kymo_survey_work *work = w->work;
    int rc = w->part.functions.of ? 0 : kymo__survey_prepare(w);
    size_t job;
    while (rc == 0 && (job = kymo__add_relaxed(&work->next, (size_t)1)) < work->job_count)
        rc = kymo__survey_read(w, work->order[job]);
    w->result = rc;
    if (rc < 0)
        kymo__store_relaxed(&work->stop, rc);
    pthread_mutex_lock(&work->lock);
    work->running--;
    pthread_cond_signal(&work->ended);
    pthread_mutex_unlock(&work->lock);
    return NULL;
}

/* Wait for the workers and report progress to the caller ten times a second. */
static void watch_workers(struct kymo_survey_work *work, uint64_t all)
{
    const struct kymo_survey_options *o = work->options;
    pthread_mutex_lock(&work->lock);
    while (work->running) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&work->ended, &work->lock, &until) != ETIMEDOUT || !o->progress)
            continue;
        pthread_mutex_unlock(&work->lock);
        uint64_t done = kymo__load_relaxed(&work->done);
        int rc = o->progress(o->progress_arg, done < all ? done : all, all);
        if (rc < 0)
            kymo__store_relaxed(&work->stop, rc);
        pthread_mutex_lock(&work->lock);
    }
    pthread_mutex_unlock(&work->lock);
}

static unsigned worker_count(const struct kymo_survey_options *options)
{
    unsigned wanted = options->workers;
    if (!wanted) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        wanted = cores > 0 ? (unsigned)cores : 1;
    }
    return wanted < WORKERS_MOST ? wanted : WORKERS_MOST;
}

/* Start the workers. If no thread can be started, this one does the work. */
static void survey_start(struct kymo_survey_work *work, struct kymo_survey_worker *workers,
                         unsigned count)
{
    unsigned started = 0;
    work->running = count;
    for (unsigned i = 0; i < count; i++) {
        workers[i].started =
            kymo__thread_start(&workers[i].thread, "kymo survey", 0, work_on, &workers[i]) == 0;
        started += workers[i].started;
    }
    bool alone = count && !started;
    pthread_mutex_lock(&work->lock);
    work->running -= count - started - alone;
    pthread_mutex_unlock(&work->lock);
    if (alone)
        work_on(&workers[0]);
}

static int longer(const void *a, const void *b)
{
    const struct kymo_survey_job *x = *(struct kymo_survey_job *const *)a,
                                 *y = *(struct kymo_survey_job *const *)b;
    if (x->piece->records != y->piece->records)
        return x->piece->records > y->piece->records ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Plan the next batch: split some of the selected threads into pieces. Without pieces, none are
   left. */
static int plan_batch(struct kymo_survey_work *work, struct kymo_capture *capture)
{
    const struct kymo_survey_options *o = work->options;
    int rc = 0;
    for (; rc == 0 && work->thread < capture->reader->thread_count &&
           work->piece_count < BATCH_PIECES;
         work->thread++)
        if (!o->chosen || o->chosen[work->thread])
            rc = kymo__pieces_plan(capture, work->thread, o->from, o->to, work->each, &work->pieces,
                                   &work->piece_count, &work->piece_capacity);
    work->next = 0;
    work->job_count = work->piece_count;
    work->jobs = kymo__alloc_zeroed((work->job_count + 1) * sizeof(*work->jobs));
    work->order = kymo__alloc_zeroed((work->job_count + 1) * sizeof(*work->order));
    if (rc < 0 || !work->jobs || !work->order)
        return -ENOMEM;
    for (size_t i = 0; i < work->job_count; i++) {
        const struct kymo_piece *piece = work->jobs[i].piece = &work->pieces[i];
        work->jobs[i].whole = piece->first == KYMO__NO_SUMMARY && piece->last == KYMO__NO_SUMMARY;
        work->order[i] = &work->jobs[i];
    }
    if (work->job_count)
        qsort(work->order, work->job_count, sizeof(*work->order), longer);
    return 0;
}

static void free_batch(struct kymo_survey_work *work)
{
    for (size_t i = 0; work->jobs && i < work->job_count; i++)
        kymo__free(work->jobs[i].asyncs);
    kymo__free(work->jobs);
    kymo__free(work->order);
    kymo__pieces_free(work->pieces, work->piece_count);
    work->jobs = NULL;
    work->order = NULL;
    work->pieces = NULL;
    work->piece_count = work->piece_capacity = work->job_count = 0;
}

/* Read the batch. */
static int run_batch(struct kymo_survey_work *work, struct kymo_survey_worker *workers,
                     unsigned count, uint64_t events)
{
    int rc = 0;
    survey_start(work, workers, count);
    watch_workers(work, events);
    for (unsigned i = 0; i < count; i++) {
        if (workers[i].started)
            pthread_join(workers[i].thread, NULL);
        rc = workers[i].result < 0 ? workers[i].result : rc;
    }
    return rc < 0 ? rc : kymo__survey_join(&workers[0]);
}

static int survey_run(struct kymo_survey_work *work, struct kymo_capture *capture, uint64_t events)
{
    int rc = plan_batch(work, capture);
    unsigned count = worker_count(work->options);
    count = count < work->job_count ? count : (unsigned)work->job_count;
    struct kymo_survey_worker *workers = kymo__alloc_zeroed((count + 1) * sizeof(*workers));
    if (!workers)
        return -ENOMEM;
    for (unsigned i = 0; i < count; i++) {
        workers[i].work = work;
        workers[i].tree = work->options->nodes > 0;
        if (rc == 0)
            rc = kymo__capture_share(capture, &workers[i].capture);
    }
    while (rc == 0 && work->job_count) {
        rc = run_batch(work, workers, count, events);
        free_batch(work);
        if (rc == 0)
            rc = plan_batch(work, capture);
    }
    for (unsigned i = 0; i < count; i++) {
        bool worked = workers[i].part.functions.of != NULL;
        if (rc == 0 && worked)
            rc = kymo__survey_merge(work->whole, &workers[i]);
        kymo__survey_free_part(&workers[i].part, work->whole->callables.count);
        kymo__capture_unshare(capture, workers[i].capture);
    }
    kymo__free(workers);
    return rc;
}

/* Decide how long the pieces are that threads are split into; without CUT, and if
   there is a time limit, they are taken whole. Returns
   the number of events to read. */
static uint64_t plan_pieces(struct kymo_survey_work *work, const struct kymo_capture *capture,
                            bool cut)
{
    const struct kymo_survey_options *o = work->options;
    work->pace = kymo__pace_of(capture, o->chosen, o->until);
    const uint64_t events = work->pace.records;
    unsigned workers = worker_count(o);
    uint64_t least = o->piece_records ? o->piece_records : PIECE_LEAST;
    work->each = UINT64_MAX;
    if (cut && workers > 1 && !o->until)
        work->each = events / ((uint64_t)workers * PIECES_EACH);
    work->each = work->each > least ? work->each : least;
    return events;
}

static void fini(struct kymo_survey_work *work)
{
    free_batch(work);
    kymo__free(work->waits);
    pthread_cond_destroy(&work->ended);
    pthread_mutex_destroy(&work->lock);
}

static int find_waits(struct kymo_survey_work *work)
{
    const struct kymo_callables *callables = &work->whole->callables;
    work->waits = kymo__alloc((callables->count + 1) * sizeof(*work->waits));
    if (!work->waits)
        return -ENOMEM;
    for (size_t i = 0; i < callables->count; i++)
        work->waits[i] = kymo__waits(&callables->all[i]);
    return 0;
}

/* With CUT, threads are read in pieces where possible. */
static int survey_in(struct kymo_capture *capture, const struct kymo_survey_options *options,
                     bool cut, struct kymo_survey **survey)
{
    struct kymo_survey *s = kymo__alloc_zeroed(sizeof(*s));
    if (!s)
        return -ENOMEM;
    /* Without the number of samples, for which everything would be read. */
    struct kymo_info info = {.size = offsetof(struct kymo_info, samples)};
    kymo_capture_info(capture, &info);
    s->from = options->from > info.start ? options->from : info.start;
    s->to = options->to < info.end ? options->to : info.end;
    s->thread_count = options->together ? 1 : capture->reader->thread_count;
    struct kymo_survey_work work = {.whole = s, .options = options};
    pthread_mutex_init(&work.lock, NULL);
    pthread_cond_init(&work.ended, NULL);
    int rc = kymo__callables_init(&s->callables, capture);
    if (rc == 0)
        rc = find_waits(&work);
    if (rc == 0)
        rc = kymo__functions_init(&s->functions, &s->callables);
    if (rc == 0)
        rc = kymo__asyncs_init(&s->asyncs, &s->callables);
    if (rc == 0 && options->nodes)
        rc = kymo__tree_init(&s->tree, options->nodes);
    if (rc == 0) {
        s->threads = kymo__alloc_zeroed((s->thread_count + 1) * sizeof(*s->threads));
        s->counters = kymo__alloc_zeroed(s->callables.count * sizeof(void *));
        rc = s->threads && s->counters
                 ? survey_run(&work, capture, plan_pieces(&work, capture, cut))
                 : -ENOMEM;
    }
    if (rc == 0)
        rc = kymo__asyncs_settle(&s->asyncs, s->to);
    fini(&work);
    if (rc < 0) {
        kymo__survey_free(s);
        return rc;
    }
    kymo__survey_add_threads(s);
    if (options->nodes && options->by_thread)
        for (uint32_t at = s->tree.nodes[0].child; at; at = s->tree.nodes[at].sibling)
            s->tree.nodes[at].total = s->threads[s->tree.nodes[at].callable].busy;
    kymo__tree_sort(&s->tree);
    *survey = s;
    return 0;
}

int kymo__survey(struct kymo_capture *capture, const struct kymo_survey_options *options,
                 struct kymo_survey **survey)
{
    int rc = survey_in(capture, options, true, survey);
    /* In a damaged file the pieces may not match. */
    return rc == -EAGAIN ? survey_in(capture, options, false, survey) : rc;
}

void kymo__survey_free(struct kymo_survey *s)
{
    if (!s)
        return;
    kymo__survey_free_part(s, s->callables.count);
    kymo__free(s->threads);
    kymo__callables_fini(&s->callables);
    kymo__free(s);
}
