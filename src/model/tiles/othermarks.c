/* othermarks.c — see othermarks.h. */
#include "othermarks.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "fields.h"
#include "jsontext.h"

enum { STEP = 16384, ARGS_MOST = 4096 }; /* bytes of the arguments of one mark */

struct marking {
    struct kymo_marks *marks;
    const struct kymo_capture *capture;
    const struct kymo_callables *callables;
    size_t most;
    uint32_t thread;
    const struct kymo_calls *calls; /* being read */
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

static bool is_shown(unsigned kind)
{
    return kind == KYMO_INSTANT || kind == KYMO_COUNTER || kind == KYMO_FLOW_OUT ||
           kind == KYMO_FLOW_IN || kind == KYMO_ASYNC_BEGIN || kind == KYMO_ASYNC_END ||
           kind == KYMO_COMPLETE;
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

int kymo__marks_read(struct kymo_marks *marks, struct kymo_capture *capture,
                     const struct kymo_callables *callables, size_t most, int (*stop)(void *arg),
                     void *arg)
{
    struct marking m = {.marks = marks, .capture = capture, .callables = callables, .most = most};
    bool *skipped = find_memory(callables);
    const struct kymo_visitor visitor = {
        .arg = &m, .other = take_mark, .skipped = skipped, .keys = callables->keys};
    int rc = skipped ? 0 : -ENOMEM;
    *marks = (struct kymo_marks){0};
    for (; rc == 0 && m.thread < capture->reader->thread_count; m.thread++) {
        struct kymo_calls calls;
        m.calls = &calls;
        rc = kymo__calls_init(&calls, capture, m.thread, INT64_MIN, INT64_MAX, &visitor);
        while (rc >= 0 && (rc = kymo__calls_read(&calls, STEP)) > 0)
            if (stop && stop(arg) < 0)
                rc = -ECANCELED;
        kymo__calls_fini(&calls);
    }
    kymo__free(skipped);
    return rc == -ENOSPC ? 0 : rc;
}

void kymo__marks_fini(struct kymo_marks *marks)
{
    kymo__free(marks->all);
    kymo__buffer_fini(&marks->texts);
}
