/* survey.c — see survey.h. */
#include "survey.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "atomic.h"

enum { STEP = 4096, WORKERS_MOST = 64 };

/* A worker's share of the survey. */
struct worker {
    struct work *work;
    pthread_t thread;
    bool started;
    struct kymo_capture *capture;
    struct kymo_survey part;        /* without callables and threads, which are the whole's */
    struct kymo_survey_thread *now; /* the thread being read */
    uint32_t index;                 /* its */
    bool tree;
    int result;
};

struct work {
    struct kymo_survey *whole;
    const struct kymo_survey_options *options;
    uint32_t *jobs; /* threads to read, the longest first */
    size_t job_count;
    size_t next;   /* job to be taken; shared by the workers, as are the next two */
    uint64_t done; /* events read */
    int stop;      /* negative: give up */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    unsigned running; /* workers; under the lock */
};

static unsigned class_of(const struct kymo_callable *callable)
{
    return callable->class <= KYMO_CLASS_GC ? callable->class : KYMO_CLASS_GC + 1;
}

/* A frame's mark is its node of the tree, and whether it is folded into that. */
#define FOLDED (UINT64_C(1) << 32)

/* Where node CALLABLE below the one that ABOVE marks is, or a negative code. */
static int64_t mark_below(struct worker *w, uint64_t above, uint32_t callable)
{
    bool folded;
    if (kymo__unlikely(above & FOLDED))
        return (int64_t)above;
    int64_t node = kymo__tree_enter(&w->part.tree, (uint32_t)above, callable, &folded);
    return node < 0 || !folded ? node : node | (int64_t)FOLDED;
}

static int enter(void *arg, struct kymo_frame *frame, uint32_t depth)
{
    struct worker *w = arg;
    uint32_t callable = kymo__callable_of(&w->work->whole->callables, frame->key);
    int rc = kymo__functions_enter(&w->part.functions, callable);
    if (rc < 0 || !w->tree)
        return rc;
    int64_t above = depth ? (int64_t)frame[-1].mark : 0;
    if (!depth && w->work->options->by_thread)
        above = mark_below(w, 0, w->index);
    int64_t mark = above < 0 ? above : mark_below(w, (uint64_t)above, callable);
    if (mark < 0)
        return (int)mark;
    frame->mark = (uint64_t)mark;
    return 0;
}

static uint64_t arg_called(const struct worker *w, const struct kymo_slice *slice, const char *name,
                           uint64_t otherwise)
{
    const struct kymo_callables *callables = &w->work->whole->callables;
    for (unsigned i = 0; i < slice->arg_count; i++)
        if (!slice->args[i].text &&
            strcmp(callables->all[kymo__callable_of(callables, slice->args[i].key)].name, name) ==
                0)
            return slice->args[i].value;
    return otherwise;
}

static void count_collection(struct worker *w, const struct kymo_slice *slice)
{
    struct kymo_survey_gc *gc = &w->part.gc;
    uint64_t generation = arg_called(w, slice, "generation", KYMO__GENERATIONS);
    generation = generation < KYMO__GENERATIONS ? generation : KYMO__GENERATIONS - 1;
    kymo_ns length = slice->end - slice->frame->start;
    gc->count[generation]++;
    gc->time[generation] = kymo__ns_add(gc->time[generation], length);
    gc->longest = length > gc->longest ? length : gc->longest;
    gc->collected += arg_called(w, slice, "collected", 0);
    gc->uncollectable += arg_called(w, slice, "uncollectable", 0);
}

static int leave(void *arg, const struct kymo_slice *slice)
{
    struct worker *w = arg;
    const struct kymo_callables *callables = &w->work->whole->callables;
    uint32_t callable = kymo__callable_of(callables, slice->frame->key);
    unsigned class = class_of(&callables->all[callable]);
    if (kymo__unlikely(class == KYMO_CLASS_GC))
        count_collection(w, slice);
    bool resumed = slice->frame->enter == 1 || slice->frame->enter == 2;
    w->part.self[class] = kymo__ns_add(w->part.self[class], slice->self);
    w->part.called[class] += !resumed;
    w->now->calls += !resumed;
    w->now->resumes += resumed;
    if (slice->depth == 0)
        w->now->busy = kymo__ns_add(w->now->busy, slice->end - slice->frame->start);
    if (w->tree)
        kymo__tree_leave(&w->part.tree, (uint32_t)slice->frame->mark,
                         (slice->frame->mark & FOLDED) != 0, slice);
    return kymo__functions_leave(&w->part.functions, callable, slice);
}

static struct kymo_survey_counter *counter_of(struct kymo_survey *s, uint32_t callable)
{
    if (!s->counters[callable])
        s->counters[callable] = kymo__alloc_zeroed(sizeof(**s->counters));
    return s->counters[callable];
}

static void count_change(struct kymo_survey_counter *counter, kymo_ns when, double value)
{
    if (!counter->changes || when >= counter->when) {
        counter->when = when;
        counter->last = value;
    }
    counter->least = !counter->changes || value < counter->least ? value : counter->least;
    counter->most = !counter->changes || value > counter->most ? value : counter->most;
    counter->changes++;
}

static int other(void *arg, const struct kymo_event *event, const struct kymo_call_arg *args,
                 unsigned arg_count)
{
    struct worker *w = arg;
    (void)args, (void)arg_count;
    if (event->kind == KYMO_COMPLETE) {
        w->part.completes++;
        kymo_ns length = event->id < INT64_MAX ? (kymo_ns)event->id : INT64_MAX;
        w->part.complete_time = kymo__ns_add(w->part.complete_time, length);
    }
    if (event->kind != KYMO_COUNTER && event->kind != KYMO_OFF && event->kind != KYMO_ASYNC_BEGIN &&
        event->kind != KYMO_ASYNC_END)
        return 0;
    uint32_t callable = kymo__callable_of(&w->work->whole->callables, event->key);
    if (event->kind == KYMO_ASYNC_BEGIN)
        return kymo__asyncs_begin(&w->part.asyncs, callable, event->id, event->time);
    if (event->kind == KYMO_ASYNC_END)
        return kymo__asyncs_end(&w->part.asyncs, callable, event->id, event->time);
    if (event->kind == KYMO_OFF)
        return kymo__functions_off(&w->part.functions, callable, event->time);
    struct kymo_survey_counter *counter = counter_of(&w->part, callable);
    if (!counter)
        return -ENOMEM;
    count_change(counter, event->time, event->value);
    return 0;
}

static int read_thread(struct worker *w, uint32_t index)
{
    const struct kymo_survey_options *o = w->work->options;
    const struct kymo_visitor visitor = {.arg = w, .enter = enter, .leave = leave, .other = other};
    struct kymo_calls *calls = kymo__alloc(sizeof(*calls));
    if (!calls)
        return -ENOMEM;
    w->now = &w->work->whole->threads[index];
    w->index = index;
    int rc = kymo__calls_init(calls, w->capture, index, o->from, o->to, &visitor);
    if (rc == 0)
        rc = 1;
    while (rc > 0) {
        rc = kymo__calls_read(calls, STEP);
        kymo__add_relaxed(&w->work->done, (uint64_t)STEP);
        int stop = kymo__load_relaxed(&w->work->stop);
        rc = stop < 0 ? stop : rc;
    }
    w->now->counts = calls->counts;
    w->now->read = true;
    kymo__calls_fini(calls);
    kymo__free(calls);
    return rc;
}

static int prepare(struct worker *w)
{
    struct kymo_survey *whole = w->work->whole;
    w->part.counters = kymo__alloc_zeroed(whole->callables.count * sizeof(void *));
    int rc =
        w->part.counters ? kymo__functions_init(&w->part.functions, &whole->callables) : -ENOMEM;
    if (rc == 0)
        rc = kymo__asyncs_init(&w->part.asyncs, whole->callables.count);
    if (rc == 0 && w->tree)
        rc = kymo__tree_init(&w->part.tree, w->work->options->nodes);
    return rc;
}

static void *work_on(void *arg)
{
    struct worker *w = arg;
    struct work *work = w->work;
    int rc = prepare(w);
    size_t job;
    while (rc == 0 && (job = kymo__add_relaxed(&work->next, (size_t)1)) < work->job_count)
        rc = read_thread(w, work->jobs[job]);
    w->result = rc;
    if (rc < 0)
        kymo__store_relaxed(&work->stop, rc);
    pthread_mutex_lock(&work->lock);
    work->running--;
    pthread_cond_signal(&work->ended);
    pthread_mutex_unlock(&work->lock);
    return NULL;
}

/* Wait for the workers and tell the caller ten times a second how far they are. */
static void watch(struct work *work, uint64_t all)
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

static int merge(struct kymo_survey *s, struct worker *w)
{
    struct kymo_survey *part = &w->part;
    int rc = kymo__functions_merge(&s->functions, &part->functions);
    if (rc == 0)
        rc = kymo__asyncs_merge(&s->asyncs, &part->asyncs);
    if (rc == 0 && w->tree)
        rc = kymo__tree_merge(&s->tree, &part->tree);
    for (size_t i = 0; rc == 0 && i < s->callables.count; i++) {
        const struct kymo_survey_counter *more = part->counters[i];
        struct kymo_survey_counter *counter = more ? counter_of(s, (uint32_t)i) : NULL;
        if (!more)
            continue;
        if (!counter)
            return -ENOMEM;
        uint64_t changes = counter->changes + more->changes;
        count_change(counter, more->when, more->last);
        counter->least = more->least < counter->least ? more->least : counter->least;
        counter->most = more->most > counter->most ? more->most : counter->most;
        counter->changes = changes;
    }
    for (int i = 0; i < KYMO__CLASSES; i++) {
        s->self[i] = kymo__ns_add(s->self[i], part->self[i]);
        s->called[i] += part->called[i];
    }
    for (int i = 0; i < KYMO__GENERATIONS; i++) {
        s->gc.count[i] += part->gc.count[i];
        s->gc.time[i] = kymo__ns_add(s->gc.time[i], part->gc.time[i]);
    }
    s->gc.longest = part->gc.longest > s->gc.longest ? part->gc.longest : s->gc.longest;
    s->gc.collected += part->gc.collected;
    s->gc.uncollectable += part->gc.uncollectable;
    s->completes += part->completes;
    s->complete_time = kymo__ns_add(s->complete_time, part->complete_time);
    return rc;
}

static void free_part(struct kymo_survey *s, size_t callables)
{
    for (size_t i = 0; s->counters && i < callables; i++)
        kymo__free(s->counters[i]);
    kymo__free(s->counters);
    if (s->functions.of)
        kymo__functions_fini(&s->functions);
    kymo__asyncs_fini(&s->asyncs);
    kymo__tree_fini(&s->tree);
}

static void add_counts(struct kymo_survey *s)
{
    for (size_t i = 0; i < s->thread_count; i++) {
        const struct kymo_survey_thread *t = &s->threads[i];
        s->calls += t->calls;
        s->resumes += t->resumes;
        s->counts.events += t->counts.events;
        s->counts.slices += t->counts.slices;
        s->counts.lost_leaves += t->counts.lost_leaves;
        s->counts.orphan_leaves += t->counts.orphan_leaves;
        s->counts.split_spans += t->counts.split_spans;
        s->counts.gaps += t->counts.gaps;
        s->counts.missing += t->counts.missing;
        if (t->counts.deepest > s->counts.deepest)
            s->counts.deepest = t->counts.deepest;
    }
}

static unsigned worker_count(const struct work *work)
{
    unsigned wanted = work->options->workers;
    if (!wanted) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        wanted = cores > 0 ? (unsigned)cores : 1;
    }
    wanted = wanted < work->job_count ? wanted : (unsigned)work->job_count;
    return wanted < WORKERS_MOST ? wanted : WORKERS_MOST;
}

/* Start the workers. Signals are for the threads of the program. Without any thread to be
   had, this one does the work. */
static void start(struct work *work, struct worker *workers, unsigned count)
{
    sigset_t all, before;
    unsigned started = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    work->running = count;
    for (unsigned i = 0; i < count; i++) {
        workers[i].started = pthread_create(&workers[i].thread, NULL, work_on, &workers[i]) == 0;
        started += workers[i].started;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    bool alone = count && !started;
    pthread_mutex_lock(&work->lock);
    work->running -= count - started - alone;
    pthread_mutex_unlock(&work->lock);
    if (alone)
        work_on(&workers[0]);
}

static int run(struct work *work, struct kymo_capture *capture, uint64_t events)
{
    unsigned count = worker_count(work);
    struct worker *workers = kymo__alloc_zeroed((count + 1) * sizeof(*workers));
    if (!workers)
        return -ENOMEM;
    int rc = 0;
    for (unsigned i = 0; i < count; i++) {
        workers[i].work = work;
        workers[i].tree = work->options->nodes > 0;
        if (rc == 0)
            rc = kymo__capture_share(capture, &workers[i].capture);
    }
    if (rc == 0) {
        start(work, workers, count);
        watch(work, events);
        for (unsigned i = 0; i < count; i++) {
            if (workers[i].started)
                pthread_join(workers[i].thread, NULL);
            rc = workers[i].result < 0 ? workers[i].result : rc;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        bool worked = workers[i].part.functions.of != NULL;
        if (rc == 0 && worked)
            rc = merge(work->whole, &workers[i]);
        free_part(&workers[i].part, work->whole->callables.count);
        kymo__capture_unshare(capture, workers[i].capture);
    }
    kymo__free(workers);
    return rc;
}

struct job {
    uint32_t thread;
    uint64_t records;
};

static int longer(const void *a, const void *b)
{
    const struct job *x = a, *y = b;
    return x->records > y->records ? -1 : x->records < y->records;
}

static int plan(struct work *work, struct kymo_capture *capture, uint64_t *events)
{
    size_t threads = work->whole->thread_count;
    struct job *jobs = kymo__alloc((threads + 1) * sizeof(*jobs));
    work->jobs = kymo__alloc((threads + 1) * sizeof(*work->jobs));
    if (!jobs || !work->jobs) {
        kymo__free(jobs);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < threads; i++) {
        if (work->options->chosen && !work->options->chosen[i])
            continue;
        struct kymo_thread_info info = {.size = sizeof(info)};
        kymo_capture_thread(capture, i, &info);
        *events += info.records;
        jobs[work->job_count++] = (struct job){i, info.records};
    }
    if (work->job_count)
        qsort(jobs, work->job_count, sizeof(*jobs), longer);
    for (size_t i = 0; i < work->job_count; i++)
        work->jobs[i] = jobs[i].thread;
    kymo__free(jobs);
    return 0;
}

int kymo__survey(struct kymo_capture *capture, const struct kymo_survey_options *options,
                 struct kymo_survey **survey)
{
    struct kymo_survey *s = kymo__alloc_zeroed(sizeof(*s));
    if (!s)
        return -ENOMEM;
    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(capture, &info);
    s->from = options->from > info.start ? options->from : info.start;
    s->to = options->to < info.end ? options->to : info.end;
    s->thread_count = capture->reader->thread_count;
    struct work work = {.whole = s, .options = options};
    pthread_mutex_init(&work.lock, NULL);
    pthread_cond_init(&work.ended, NULL);
    uint64_t events = 0;
    int rc = kymo__callables_init(&s->callables, capture);
    if (rc == 0)
        rc = kymo__functions_init(&s->functions, &s->callables);
    if (rc == 0)
        rc = kymo__asyncs_init(&s->asyncs, s->callables.count);
    if (rc == 0 && options->nodes)
        rc = kymo__tree_init(&s->tree, options->nodes);
    if (rc == 0) {
        s->threads = kymo__alloc_zeroed((s->thread_count + 1) * sizeof(*s->threads));
        s->counters = kymo__alloc_zeroed(s->callables.count * sizeof(void *));
        rc = s->threads && s->counters ? plan(&work, capture, &events) : -ENOMEM;
    }
    if (rc == 0)
        rc = run(&work, capture, events);
    if (rc == 0)
        rc = kymo__asyncs_settle(&s->asyncs, s->to);
    kymo__free(work.jobs);
    pthread_cond_destroy(&work.ended);
    pthread_mutex_destroy(&work.lock);
    if (rc < 0) {
        kymo__survey_free(s);
        return rc;
    }
    add_counts(s);
    if (options->nodes && options->by_thread)
        for (uint32_t at = s->tree.nodes[0].child; at; at = s->tree.nodes[at].sibling)
            s->tree.nodes[at].total = s->threads[s->tree.nodes[at].callable].busy;
    kymo__tree_sort(&s->tree);
    *survey = s;
    return 0;
}

void kymo__survey_free(struct kymo_survey *s)
{
    if (!s)
        return;
    free_part(s, s->callables.count);
    kymo__free(s->threads);
    kymo__callables_fini(&s->callables);
    kymo__free(s);
}
