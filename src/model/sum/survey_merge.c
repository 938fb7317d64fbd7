/* survey_merge.c — one survey from the parts of several workers. */
#include <errno.h>

#include "alloc.h"
#include "survey_parts.h"

int kymo__survey_merge(struct kymo_survey *s, struct kymo_survey_worker *w)
{
    struct kymo_survey *part = &w->part;
    int rc = kymo__functions_merge(&s->functions, &part->functions);
    if (rc == 0)
        rc = kymo__asyncs_merge(&s->asyncs, &part->asyncs);
    if (rc == 0 && w->tree)
        rc = kymo__tree_merge(&s->tree, &part->tree);
    for (size_t i = 0; rc == 0 && i < s->callables.count; i++) {
        const struct kymo_survey_counter *more = part->counters[i];
        struct kymo_survey_counter *counter = more ? kymo__survey_counter_of(s, (uint32_t)i) : NULL;
        if (!more)
            continue;
        if (!counter)
            return -ENOMEM;
        uint64_t changes = counter->changes + more->changes;
        kymo__survey_change(counter, more->when, more->last);
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
    s->cut |= part->cut;
    s->completes += part->completes;
    s->complete_time = kymo__ns_add(s->complete_time, part->complete_time);
    return rc;
}

void kymo__survey_free_part(struct kymo_survey *s, size_t callables)
{
    for (size_t i = 0; s->counters && i < callables; i++)
        kymo__free(s->counters[i]);
    kymo__free(s->counters);
    if (s->functions.of)
        kymo__functions_fini(&s->functions);
    kymo__asyncs_fini(&s->asyncs);
    kymo__tree_fini(&s->tree);
}

static void add_counts(struct kymo_calls_counts *sum, const struct kymo_calls_counts *more)
{
    sum->events += more->events;
    sum->slices += more->slices;
    sum->lost_leaves += more->lost_leaves;
    sum->orphan_leaves += more->orphan_leaves;
    sum->lost_args += more->lost_args;
    sum->split_spans += more->split_spans;
    sum->gaps += more->gaps;
    sum->missing += more->missing;
    sum->deepest = more->deepest > sum->deepest ? more->deepest : sum->deepest;
}

void kymo__survey_add_threads(struct kymo_survey *s)
{
    for (size_t i = 0; i < s->thread_count; i++) {
        s->calls += s->threads[i].calls;
        s->resumes += s->threads[i].resumes;
        add_counts(&s->counts, &s->threads[i].counts);
    }
}

/* Join the COUNT pieces of a thread that start at JOB; W takes the calls that cross them. */
static int join_calls(struct kymo_survey_worker *w, struct kymo_survey_job *job, size_t count)
{
    const struct kymo_visitor visitor = {
        .arg = w, .enter = kymo__survey_enter, .leave = kymo__survey_leave};
    uint32_t thread = w->work->options->together ? 0 : job->piece->thread;
    struct kymo_survey_thread *t = &w->work->whole->threads[thread];
    int rc = 0;
    w->now = t;
    w->index = job->piece->thread;
    t->read = true;
    for (size_t i = 0; i < count; i++) {
        const struct kymo_survey_thread *found = &job[i].found;
        t->calls += found->calls;
        t->resumes += found->resumes;
        t->busy = kymo__ns_add(t->busy, found->busy);
        t->waiting = kymo__ns_add(t->waiting, found->waiting);
        add_counts(&t->counts, &job[i].piece->counts);
        for (size_t k = 0; rc == 0 && k < job[i].async_count; k++)
            rc = kymo__survey_async(w, &job[i].asyncs[k]);
    }
    return rc < 0 || count == 1 ? rc : kymo__pieces_join(job->piece, count, &visitor);
}

int kymo__survey_join(struct kymo_survey_worker *w)
{
    struct kymo_survey_work *work = w->work;
    size_t count = 0;
    int rc = work->job_count && !w->part.functions.of ? kymo__survey_prepare(w) : 0;
    for (size_t i = 0; rc == 0 && i < work->job_count; i += count) {
        for (count = 1; i + count < work->job_count &&
                        work->pieces[i + count].thread == work->pieces[i].thread;)
            count++;
        rc = join_calls(w, &work->jobs[i], count);
    }
    return rc;
}
