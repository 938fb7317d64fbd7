/* survey_take.c — what a worker of the survey does with the calls and events it reads. */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "atomic.h"
#include "survey_parts.h"

/* A frame's mark is its tree node, and whether it is folded into that. */
#define FOLDED (UINT64_C(1) << 32)

/* Return the mark of CALLABLE below ABOVE's node, or a negative code. */
static int64_t mark_below(struct kymo_survey_worker *w, uint64_t above, uint32_t callable)
{
    bool folded;
    if (kymo__unlikely(above & FOLDED))
        return (int64_t)above;
    int64_t node = kymo__tree_enter(&w->part.tree, (uint32_t)above, callable, &folded);
    return node < 0 || !folded ? node : node | (int64_t)FOLDED;
}

int kymo__survey_enter(void *arg, struct kymo_open_call *frame, uint32_t depth)
{
    struct kymo_survey_worker *w = arg;
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

static uint64_t arg_called(const struct kymo_survey_worker *w, const struct kymo_slice *slice,
                           const char *name, uint64_t otherwise)
{
    const struct kymo_callables *callables = &w->work->whole->callables;
    for (unsigned i = 0; i < slice->arg_count; i++)
        if (slice->args[i].type == KYMO_FIELD_UINT &&
            strcmp(callables->all[kymo__callable_of(callables, slice->args[i].key)].name, name) ==
                0)
            return slice->args[i].value;
    return otherwise;
}

static void count_collection(struct kymo_survey_worker *w, const struct kymo_slice *slice)
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

int kymo__survey_leave(void *arg, const struct kymo_slice *slice)
{
    struct kymo_survey_worker *w = arg;
    const struct kymo_callables *callables = &w->work->whole->callables;
    uint32_t callable = kymo__callable_of(callables, slice->frame->key);
    unsigned class = kymo__class_known(callables->all[callable].class);
    if (kymo__unlikely(class == KYMO_CLASS_GC))
        count_collection(w, slice);
    bool resumed = slice->frame->enter == 1 || slice->frame->enter == 2;
    w->part.self[class] = kymo__ns_add(w->part.self[class], slice->self);
    w->part.called[class] += !resumed;
    w->now->calls += !resumed;
    w->now->resumes += resumed;
    if (kymo__unlikely(w->work->waits[callable]))
        w->now->waiting = kymo__ns_add(w->now->waiting, slice->self);
    if (slice->depth == 0)
        w->now->busy = kymo__ns_add(w->now->busy, slice->end - slice->frame->start);
    if (w->tree)
        kymo__tree_leave(&w->part.tree, (uint32_t)slice->frame->mark,
                         (slice->frame->mark & FOLDED) != 0, slice);
    return kymo__functions_leave(&w->part.functions, callable, slice);
}

struct kymo_survey_counter *kymo__survey_counter_of(struct kymo_survey *s, uint32_t callable)
{
    if (!s->counters[callable])
        s->counters[callable] = kymo__alloc_zeroed(sizeof(**s->counters));
    return s->counters[callable];
}

void kymo__survey_change(struct kymo_survey_counter *counter, kymo_ns when, double value)
{
    if (!counter->changes || when >= counter->when) {
        counter->when = when;
        counter->last = value;
    }
    counter->least = !counter->changes || value < counter->least ? value : counter->least;
    counter->most = !counter->changes || value > counter->most ? value : counter->most;
    counter->changes++;
}

int kymo__survey_async(struct kymo_survey_worker *w, const struct kymo_kept_async *async)
{
    return async->end
               ? kymo__asyncs_end(&w->part.asyncs, async->callable, async->id, async->time)
               : kymo__asyncs_begin(&w->part.asyncs, async->callable, async->id, async->time);
}

static int keep_async(struct kymo_survey_job *job, const struct kymo_kept_async *async)
{
    int rc = kymo__array_grow(&job->asyncs, &job->async_capacity, job->async_count,
                              sizeof(*job->asyncs));
    if (rc == 0)
        job->asyncs[job->async_count++] = *async;
    return rc;
}

/* EVENT may be "loop blocked", with the callback that did it and how long it took. */
static int take_instant(struct kymo_survey_worker *w, const struct kymo_event *event,
                        const struct kymo_call_arg *args, unsigned arg_count)
{
    const struct kymo_callables *callables = &w->work->whole->callables;
    const struct kymo_callable *what = &callables->all[kymo__callable_of(callables, event->key)];
    if (what->class != KYMO_CLASS_WAIT || arg_count < 2)
        return 0;
    return kymo__asyncs_blocked(&w->part.asyncs, kymo__callable_text(callables, args[0].value),
                                event->time, args[1].value);
}

static int other(void *arg, const struct kymo_event *event, const struct kymo_call_arg *args,
                 unsigned arg_count)
{
    struct kymo_survey_worker *w = arg;
    if (event->kind == KYMO_INSTANT)
        return take_instant(w, event, args, arg_count);
    if (event->kind == KYMO_COMPLETE) {
        w->part.completes++;
        kymo_ns length = event->id < INT64_MAX ? (kymo_ns)event->id : INT64_MAX;
        w->part.complete_time = kymo__ns_add(w->part.complete_time, length);
    }
    if (event->kind != KYMO_COUNTER && event->kind != KYMO_OFF && event->kind != KYMO_ASYNC_BEGIN &&
        event->kind != KYMO_ASYNC_END)
        return 0;
    uint32_t callable = kymo__callable_of(&w->work->whole->callables, event->key);
    if (event->kind == KYMO_ASYNC_BEGIN || event->kind == KYMO_ASYNC_END) {
        const struct kymo_kept_async async = {event->time, event->id, callable,
                                              event->kind == KYMO_ASYNC_END};
        return w->job->whole ? kymo__survey_async(w, &async) : keep_async(w->job, &async);
    }
    if (event->kind == KYMO_OFF)
        return kymo__functions_off(&w->part.functions, callable, event->time);
    struct kymo_survey_counter *counter = kymo__survey_counter_of(&w->part, callable);
    if (!counter)
        return -ENOMEM;
    kymo__survey_change(counter, event->time, event->value);
    return 0;
}

static void forget_call(void *arg, const struct kymo_open_call *frame)
{
    struct kymo_survey_worker *w = arg;
    kymo__functions_forget(&w->part.functions,
                           kymo__callable_of(&w->work->whole->callables, frame->key));
}

static int step_events(void *arg, uint64_t events)
{
    struct kymo_survey_worker *w = arg;
    kymo__add_relaxed(&w->work->done, events);
    return kymo__load_relaxed(&w->work->stop);
}

static kymo_ns share_of(struct kymo_survey_work *work, const struct kymo_survey_job *job)
{
    pthread_mutex_lock(&work->lock);
    kymo_ns until = kymo__pace_share(&work->pace, job->piece->records);
    pthread_mutex_unlock(&work->lock);
    return until;
}

int kymo__survey_read(struct kymo_survey_worker *w, struct kymo_survey_job *job)
{
    const struct kymo_survey_options *o = w->work->options;
    const struct kymo_piece_visitor visitor = {
        .calls = {.arg = w,
                  .enter = kymo__survey_enter,
                  .leave = kymo__survey_leave,
                  .other = other},
        .forget = forget_call,
        .step = step_events,
        .until = share_of(w->work, job),
    };
    w->job = job;
    w->now = &job->found;
    w->index = job->piece->thread;
    int rc = kymo__piece_read(job->piece, w->capture, o->from, o->to, &visitor);
    w->part.cut |= job->piece->cut;
    return rc;
}

int kymo__survey_prepare(struct kymo_survey_worker *w)
{
    struct kymo_survey *whole = w->work->whole;
    w->part.counters = kymo__alloc_zeroed(whole->callables.count * sizeof(void *));
    int rc =
        w->part.counters ? kymo__functions_init(&w->part.functions, &whole->callables) : -ENOMEM;
    if (rc == 0)
        rc = kymo__asyncs_init(&w->part.asyncs, &whole->callables);
    if (rc == 0 && w->tree)
        rc = kymo__tree_init(&w->part.tree, w->work->options->nodes);
    return rc;
}
