/* othermarks.c — see othermarks.h. */
#include "othermarks.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "fields.h"
#include "jsontext.h"
#include "summaries.h"

enum { STEP = 16384, ARGS_MOST = 4096 }; /* bytes of the arguments of one mark */

struct marking {
    struct kymo_marks *marks;
    struct kymo_capture *capture;
    const struct kymo_callables *callables;
    size_t most;
    uint32_t thread;
    const struct kymo_calls *calls; /* being read */
    const struct kymo_visitor *visitor;
    struct kymo_wanted_kinds wanted;
    struct kymo_buffer encoded; /* scratch */
    int (*stop)(void *arg);
    void *stop_arg;
};

/* Append the arguments as a JSON object. */
static int add_args(struct marking *m, const struct kymo_call_arg *args, unsigned count)
{
    struct kymo_buffer *out = &m->marks->texts;
    const struct kymo_reader *r = m->capture->reader;
    size_t before = out->len;
    int rc = kymo__json_text(out, "{");
    for (unsigned i = 0; rc == 0 && i < count && out->len - before < ARGS_MOST; i++) {
        rc = kymo__json_text(out, i ? ",\"" : "\"");
        rc = rc < 0 ? rc : kymo__json_escaped(out, kymo__key_name(r, args[i].key));
        rc = rc < 0 ? rc : kymo__json_text(out, "\":");
        rc = rc < 0 ? rc : kymo__arg_json(out, r, &args[i]);
    }
    return rc < 0 ? rc : kymo__buffer_add(out, "}", 2);
}

/* A bit for each kind that is shown. */
#define SHOWN                                                                                      \
    (1u << KYMO_INSTANT | 1u << KYMO_COUNTER | 1u << KYMO_FLOW_OUT | 1u << KYMO_FLOW_IN |          \
     1u << KYMO_ASYNC_BEGIN | 1u << KYMO_ASYNC_END | 1u << KYMO_COMPLETE)

static bool is_shown(unsigned kind)
{
    return kind < 32 && SHOWN >> kind & 1;
}

static int take_mark(void *arg, const struct kymo_event *event, const struct kymo_call_arg *args,
                     unsigned arg_count)
{
    struct marking *m = arg;
    struct kymo_marks *marks = m->marks;
    if (!is_shown(event->kind))
        return 0;
    if (marks->count >= m->most) {
        marks->more = true;
        return -ENOSPC;
    }
    struct kymo_mark mark = {
        .kind = event->kind,
        .thread = m->thread,
        .name = kymo__callable_of(m->callables, event->key),
        .depth = m->calls->nest.depth,
        .time = event->time,
        .id = event->id,
        .value = event->value,
        .args = SIZE_MAX,
    };
    int rc = kymo__array_grow(&marks->all, &marks->capacity, marks->count, sizeof(*marks->all));
    if (rc == 0 && arg_count) {
        mark.args = marks->texts.len;
        rc = add_args(m, args, arg_count);
    }
    if (rc == 0)
        marks->all[marks->count++] = mark;
    return rc;
}

/* Instants of the memory tracer are its records, millions of them. */
static bool *find_memory(const struct kymo_callables *callables)
{
    static const char prefix[] = "memory.";
    bool *found = kymo__alloc_zeroed(callables->keys + 1);
    for (size_t i = 0; found && i < callables->keys; i++)
        found[i] =
            strncmp(callables->all[callables->of_key[i]].name, prefix, sizeof(prefix) - 1) == 0;
    return found;
}

/* ---- the parts of a thread ----

   A thread is divided where its summaries begin, and only parts with marks are read. Part 0 begins with
   the thread, the others with a summary. */

struct parts {
    size_t count, first; /* how many; the summary at which part 1 begins */
    size_t run, run_end; /* of the thread */
};

static struct parts parts_of(const struct kymo_reader *r, uint32_t thread)
{
    const struct kymo_reader_thread *t = &r->threads[thread];
    const struct kymo_thread_more *more = kymo__thread_more(r, thread);
    struct parts p = {.first = more->summary, .run = t->run, .run_end = (size_t)t->run + t->runs};
    size_t end = more->summary + more->summaries;
    while (p.first < end && !r->summaries[p.first].before)
        p.first++; /* at the beginning of the thread */
    p.count = t->runs ? 1 + end - p.first : 0;
    return p;
}

/* The run at which part PART begins, or the end of the thread. */
static size_t first_run(const struct kymo_reader *r, const struct parts *p, size_t part)
{
    return part == 0         ? p->run
           : part < p->count ? r->summaries[p->first + part - 1].run
                             : p->run_end;
}

static size_t summary_at(const struct parts *p, size_t part)
{
    return part == 0 || part >= p->count ? KYMO__NO_SUMMARY : p->first + part - 1;
}

/* Can reading begin and end where PART begins? Returns 1, 0 or a negative code. */
static int may_cut(struct marking *m, const struct parts *p, size_t part)
{
    struct kymo_reader *r = m->capture->reader;
    if (summary_at(p, part) == KYMO__NO_SUMMARY)
        return 1;
    struct kymo_nest *nest = kymo__alloc_zeroed(sizeof(*nest));
    if (!nest)
        return -ENOMEM;
    int rc = kymo__summary_state(r, &r->summaries[summary_at(p, part)], m->thread, nest);
    kymo__nest_fini(nest);
    kymo__free(nest);
    return rc;
}

/* Are there marks in PART? Returns 1, 0 or a negative code. */
static int has_marks(struct marking *m, const struct parts *p, size_t part)
{
    struct kymo_reader *r = m->capture->reader;
    if (m->stop && m->stop(m->stop_arg) < 0)
        return -ECANCELED;
    for (size_t i = first_run(r, p, part); i < first_run(r, p, part + 1); i++) {
        if (r->runs[i].is_live || r->runs[i].type == KYMO__BLOCK_TRACK)
            return 1;
        int rc = kymo__reader_has(r, &r->runs[i], &m->wanted, &m->encoded);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Read from the beginning of part FIRST to that of part LAST. */
static int read_parts(struct marking *m, const struct parts *p, size_t first, size_t last)
{
    struct kymo_calls calls;
    m->calls = &calls;
    int rc = kymo__calls_part(&calls, m->capture, m->thread, INT64_MIN, INT64_MAX,
                              summary_at(p, first), summary_at(p, last), m->visitor);
    while (rc >= 0 && (rc = kymo__calls_read(&calls, STEP)) > 0)
        if (m->stop && m->stop(m->stop_arg) < 0)
            rc = -ECANCELED;
    m->marks->events += calls.nest.counts.events;
    kymo__calls_fini(&calls);
    m->calls = NULL;
    return rc;
}

static int read_thread(struct marking *m)
{
    const struct parts p = parts_of(m->capture->reader, m->thread);
    size_t done = 0, first = 0, last;
    int rc = 0;
    while (first < p.count && (rc = has_marks(m, &p, first)) >= 0) {
        if (rc == 0) {
            first++;
            continue;
        }
        /* Not every summary can be used. There are no marks in the parts added before. */
        for (last = first + 1; first > done && (rc = may_cut(m, &p, first)) == 0;)
            first--;
        while (rc >= 0 && last < p.count) {
            rc = has_marks(m, &p, last);
            rc = rc < 0 ? rc : rc > 0 ? 0 : may_cut(m, &p, last);
            if (rc > 0)
                break;
            last++;
        }
        rc = rc < 0 ? rc : read_parts(m, &p, first, last);
        if (rc < 0)
            break;
        first = done = last;
    }
    return rc < 0 ? rc : 0;
}

int kymo__marks_read(struct kymo_marks *marks, struct kymo_capture *capture,
                     const struct kymo_callables *callables, size_t most, int (*stop)(void *arg),
                     void *arg)
{
    bool *skipped = find_memory(callables);
    struct marking m = {
        .marks = marks,
        .capture = capture,
        .callables = callables,
        .most = most,
        .wanted = {SHOWN | 1u << KYMO__NOTE, skipped, callables->keys},
        .stop = stop,
        .stop_arg = arg,
    };
    const struct kymo_visitor visitor = {
        .arg = &m, .other = take_mark, .skipped = skipped, .keys = callables->keys};
    int rc = skipped ? 0 : -ENOMEM;
    m.visitor = &visitor;
    *marks = (struct kymo_marks){0};
    for (; rc == 0 && m.thread < capture->reader->thread_count; m.thread++)
        rc = read_thread(&m);
    kymo__buffer_fini(&m.encoded);
    kymo__free(skipped);
    return rc == -ENOSPC ? 0 : rc;
}

void kymo__marks_fini(struct kymo_marks *marks)
{
    kymo__free(marks->all);
    kymo__buffer_fini(&marks->texts);
}
