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
    if (t->samples % STEP || !c->options->progress)
        return 0;
    int rc = c->options->progress(c->options->progress_arg,
                                  t->samples < c->all ? t->samples : c->all, c->all);
    return rc < 0 ? rc : 0;
}

int kymo__each_sample(struct kymo_capture *capture, uint32_t thread, kymo_ns from, kymo_ns to,
                      int (*each)(void *arg, const struct kymo_event *event), void *arg)
{
    struct kymo_stream *stream = kymo__alloc(sizeof(*stream));
    struct kymo_event event;
    if (!stream)
        return -ENOMEM;
    uint64_t first = from == INT64_MIN ? 0 : kymo__timebase_ticks(&capture->base, from);
    uint64_t last = kymo__timebase_ticks(&capture->base, to);
    kymo__stream_init(stream, capture, thread, first - (first > 0), last + (last < UINT64_MAX));
    int rc = 0, there = 1;
    while (rc >= 0 && (there = kymo__stream_next(stream, &event)) > 0)
        if (event.kind == KYMO_SAMPLE && event.time >= from && event.time < to)
            rc = each(arg, &event);
    kymo__stream_fini(stream);
    kymo__free(stream);
    return rc < 0 ? rc : there;
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
            rc = kymo__each_sample(capture, i, options->from, options->to, count_sample, &counting);
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
