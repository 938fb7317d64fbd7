/* tally.c — see tally.h. */
#include "tally.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "alloc.h"
#include "stacks.h"
#include "stream.h"

enum { STEP = 65536 };

struct counting {
    struct kymo_tallies *tallies;
    const struct kymo_reader *reader;
    const struct kymo_tally_options *options;
    uint64_t all; /* records */
};

static int ask_progress(void *arg)
{
    const struct counting *c = arg;
    uint64_t done = c->tallies->samples < c->all ? c->tallies->samples : c->all;
    int rc =
        c->options->progress ? c->options->progress(c->options->progress_arg, done, c->all) : 0;
    return rc < 0 ? rc : 0;
}

static int count_sample(void *arg, const struct kymo_event *event)
{
    const struct counting *c = arg;
    struct kymo_tallies *t = c->tallies;
    uint32_t node = kymo__stackdefs_find(&c->reader->stacks, kymo__sample_stack(event->id));
    uint64_t periods = kymo__sample_periods(event->id);
    uint64_t key = (uint64_t)event->thread << 32 | node;
    uint32_t place = kymo__map_find(&t->places, key);
    if (!place) {
        if (t->count >= UINT32_MAX || kymo__map_reserve(&t->places) < 0 ||
            kymo__array_grow(&t->all, &t->capacity, t->count, sizeof(*t->all)) < 0)
            return -ENOMEM;
        t->all[t->count++] = (struct kymo_tally){.thread = event->thread, .node = node};
        place = (uint32_t)t->count;
        kymo__map_set(&t->places, key, place);
    }
    struct kymo_tally *tally = &t->all[place - 1];
    tally->samples++;
    tally->periods += periods;
    t->samples++;
    t->periods += periods;
    t->of_wall += event->detail == KYMO_SAMPLED_WALL;
    int rc = c->options->each ? c->options->each(c->options->each_arg, event) : 0;
    if (rc < 0)
        return rc;
    if (t->samples % STEP || !c->options->progress)
        return 0;
    return ask_progress(arg);
}

/* Call EACH for the samples of STREAM with FROM <= time < TO. */
static int read_samples(struct kymo_stream *stream, kymo_ns from, kymo_ns to,
                        int (*each)(void *arg, const struct kymo_event *event), void *arg)
{
    struct kymo_event event;
    int rc = 0, there = 1;
    while (rc >= 0 && (there = kymo__stream_next(stream, &event)) > 0)
        if (event.kind == KYMO_SAMPLE && event.time >= from && event.time < to)
            rc = each(arg, &event);
    return rc < 0 ? rc : there;
}

int kymo__each_sample(struct kymo_capture *capture, uint32_t thread, kymo_ns from, kymo_ns to,
                      int (*each)(void *arg, const struct kymo_event *event), void *arg)
{
    struct kymo_stream *stream = kymo__alloc(sizeof(*stream));
    if (!stream)
        return -ENOMEM;
    uint64_t first = from == INT64_MIN ? 0 : kymo__timebase_ticks(&capture->base, from);
    uint64_t last = kymo__timebase_ticks(&capture->base, to);
    kymo__stream_init(stream, capture, thread, first - (first > 0), last + (last < UINT64_MAX));
    int rc = read_samples(stream, from, to, each, arg);
    kymo__stream_fini(stream);
    kymo__free(stream);
    return rc;
}

int kymo__each_sample_quick(struct kymo_capture *capture, uint32_t thread, kymo_ns from, kymo_ns to,
                            int (*each)(void *arg, const struct kymo_event *event), void *arg,
                            int (*stop)(void *arg), void *stop_arg)
{
    const struct kymo_wanted_kinds wanted = {.kinds = UINT64_C(1) << KYMO_SAMPLE};
    struct kymo_reader *r = capture->reader;
    const struct kymo_reader_thread *t = &r->threads[thread];
    uint64_t first = from == INT64_MIN ? 0 : kymo__timebase_ticks(&capture->base, from);
    uint64_t last = kymo__timebase_ticks(&capture->base, to);
    first -= first > 0;
    last += last < UINT64_MAX;
    struct kymo_buffer scratch = {0};
    struct kymo_stream *stream = kymo__alloc(sizeof(*stream));
    int rc = stream ? 0 : -ENOMEM;
    for (size_t i = t->run; rc == 0 && i < (size_t)t->run + t->runs; i++) {
        const struct kymo_run *run = &r->runs[i];
        if (run->last_ticks < first || run->first_ticks >= last)
            continue;
        rc = stop ? stop(stop_arg) : 0;
        if (rc < 0)
            break;
        rc = run->is_live ? 1 : kymo__reader_has(r, run, &wanted, &scratch);
        if (rc <= 0)
            continue;
        kymo__stream_init(stream, capture, thread, first, last);
        kymo__stream_seek(stream, i, run->first_ticks);
        kymo__stream_limit(stream, i + 1, run->last_ticks);
        rc = read_samples(stream, from, to, each, arg);
        kymo__stream_fini(stream);
    }
    kymo__free(stream);
    kymo__buffer_fini(&scratch);
    return rc;
}

static int by_place(const void *a, const void *b)
{
    const struct kymo_tally *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

int kymo__tally(struct kymo_tallies *t, struct kymo_capture *capture,
                const struct kymo_tally_options *options)
{
    struct kymo_info info = {.size =
                                 offsetof(struct kymo_info, samples)}; /* those are counted here */
    kymo_capture_info(capture, &info);
    const bool any = kymo__may_have_samples(capture);
    long long period = atoll(kymo__sample_metadata(capture, KYMO__SAMPLE_PERIOD));
    *t = (struct kymo_tallies){.period = period > 0 ? period : 1, .period_known = period > 0};
    struct counting counting = {t, capture->reader, options, info.records};
    int rc = 0;
    for (uint32_t i = 0; any && rc == 0 && i < capture->reader->thread_count; i++)
        if (!options->chosen || options->chosen[i])
            rc = options->quick
                     ? kymo__each_sample_quick(capture, i, options->from, options->to, count_sample,
                                               &counting, ask_progress, &counting)
                     : kymo__each_sample(capture, i, options->from, options->to, count_sample,
                                         &counting);
    if (rc == 0 && t->count)
        qsort(t->all, t->count, sizeof(*t->all), by_place);
    kymo__map_fini(&t->places); /* the order has changed */
    return rc;
}

void kymo__tally_fini(struct kymo_tallies *t)
{
    kymo__free(t->all);
    kymo__map_fini(&t->places);
    *t = (struct kymo_tallies){0};
}

kymo_ns kymo__tally_time(const struct kymo_tallies *t, uint64_t periods)
{
    kymo_ns time;
    return __builtin_mul_overflow(periods, (uint64_t)t->period, &time) ? INT64_MAX : time;
}
