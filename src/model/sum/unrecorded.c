/* unrecorded.c — see unrecorded.h. */
#include "unrecorded.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "stacks.h"

enum { STEP = 65536 };

struct comparing {
    struct kymo_unrecorded *u;
    const struct kymo_survey *survey;
    const struct kymo_samples *samples;
    const struct kymo_calls *calls;
};

/* The innermost Python function of NODE, or NULL. */
static const struct kymo_named_frame *python_function(const struct kymo_samples *samples,
                                                      uint32_t node)
{
    const struct kymo_reader_stacks *stacks = &samples->names.capture->reader->stacks;
    for (; node; node = stacks->nodes[node].parent)
        if (kymo__samples_managed(samples, node))
            return &samples->names.named[samples->names.first[stacks->nodes[node].frame]];
    return NULL;
}

static int compare_event(void *arg, const struct kymo_event *event,
                         const struct kymo_call_arg *args, unsigned arg_count)
{
    const struct comparing *c = arg;
    (void)args, (void)arg_count;
    if (event->kind != KYMO_SAMPLE || c->calls->nest.depth == 0)
        return 0;
    const struct kymo_callables *callables = &c->survey->callables;
    const struct kymo_open_call *frames = c->calls->nest.frames;
    uint32_t innermost = kymo__callable_of(callables, frames[c->calls->nest.depth - 1].key);
    const struct kymo_callable *function = NULL;
    for (uint32_t i = c->calls->nest.depth; i-- > 0 && !function;) {
        const struct kymo_callable *callable =
            &callables->all[kymo__callable_of(callables, frames[i].key)];
        function = callable->class == KYMO_CLASS_FUNCTION ? callable : NULL;
    }
    uint32_t node = kymo__stackdefs_find(&c->samples->names.capture->reader->stacks,
                                         kymo__sample_stack(event->id));
    const struct kymo_named_frame *python = python_function(c->samples, node);
    if (!python)
        return 0;
    bool same = function && function->line == python->first_line &&
                strcmp(function->file, python->file) == 0;
    uint64_t periods = kymo__sample_periods(event->id);
    c->u->sampled[innermost] += periods;
    c->u->elsewhere[innermost] += same ? 0 : periods;
    c->u->all += periods;
    c->u->all_elsewhere += same ? 0 : periods;
    return 0;
}

static int compare_thread(struct comparing *c, struct kymo_capture *capture, uint32_t thread,
                          const struct kymo_tally_options *o)
{
    const struct kymo_visitor visitor = {.arg = c, .other = compare_event};
    struct kymo_calls *calls = kymo__alloc(sizeof(*calls));
    if (!calls)
        return -ENOMEM;
    c->calls = calls;
    int rc = kymo__calls_init(calls, capture, thread, o->from, o->to, &visitor);
    rc = rc == 0 ? 1 : rc;
    while (rc > 0)
        rc = kymo__calls_read(calls, STEP);
    kymo__calls_fini(calls);
    kymo__free(calls);
    return rc;
}

int kymo__unrecorded_init(struct kymo_unrecorded *u, struct kymo_capture *capture,
                          const struct kymo_survey *survey, const struct kymo_samples *samples,
                          const struct kymo_tally_options *options)
{
    size_t size = survey->callables.count * sizeof(*u->sampled);
    *u = (struct kymo_unrecorded){.sampled = kymo__alloc_zeroed(size),
                                  .elsewhere = kymo__alloc_zeroed(size)};
    struct comparing c = {u, survey, samples, NULL};
    int rc = u->sampled && u->elsewhere ? 0 : -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < survey->thread_count; i++)
        if (!options->chosen || options->chosen[i])
            rc = compare_thread(&c, capture, i, options);
    return rc;
}

void kymo__unrecorded_fini(struct kymo_unrecorded *u)
{
    kymo__free(u->sampled);
    kymo__free(u->elsewhere);
    *u = (struct kymo_unrecorded){0};
}
