/* shown_samples.c — samples as the page shows them: which threads have any and what their functions
   are called, and one sample or every one with its stack. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "alloc.h"
#include "shown.h"
#include "stacks.h"

int kymo__shown_samples(const struct kymo_shown_capture *shown, const struct kymo_samplebook *book,
                        struct kymo_jsonout *json)
{
    const struct kymo_survey *survey = book->samples->survey;
    const struct kymo_tallies *tallies = &book->samples->tallies;
    kymo__jsonout_uint(json, "samples", tallies->samples);
    kymo__jsonout_int(json, "period", tallies->period_known ? tallies->period : 0);
    kymo__jsonout_uint(json, "of_wall", tallies->of_wall);
    kymo__jsonout_array(json, "threads");
    for (size_t i = 0, count = 0; i < survey->thread_count && count < KYMO__SHOWN_THREADS; i++) {
        if (!survey->threads[i].calls || (shown->chosen && !shown->chosen[i]))
            continue;
        kymo__jsonout_array(json, NULL);
        kymo__jsonout_uint(json, NULL, i);
        kymo__jsonout_uint(json, NULL, survey->threads[i].calls);
        kymo__jsonout_end(json);
        count++;
    }
    kymo__jsonout_end(json);
    kymo__shown_names(&survey->callables, json);
    return 0;
}

/* A member NAME with each function: its number, and the line that was running. */
static int put_stack(const struct kymo_samplebook *book, const char *name, uint32_t node,
                     struct kymo_jsonout *json)
{
    const struct kymo_samples *samples = book->samples;
    struct kymo_shown *stack = kymo__alloc((KYMO__SHOWN_MOST + 1) * sizeof(*stack));
    if (!stack)
        return -ENOMEM;
    size_t count = kymo__samples_shown(samples, node, stack);
    kymo__jsonout_array(json, name);
    for (size_t i = 0; i < count; i++) {
        const bool named = stack[i].named < samples->named;
        kymo__jsonout_array(json, NULL);
        kymo__jsonout_uint(json, NULL, samples->callable_of[stack[i].named]);
        kymo__jsonout_uint(json, NULL, named ? samples->names.named[stack[i].named].line : 0);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
    kymo__free(stack);
    return 0;
}

int kymo__shown_sample(const struct kymo_shown_capture *shown, const struct kymo_samplebook *book,
                       const struct kymo_event *sample, struct kymo_jsonout *json)
{
    const struct kymo_tallies *tallies = &book->samples->tallies;
    uint32_t stack = kymo__sample_stack(sample->id), periods = kymo__sample_periods(sample->id);
    uint32_t node = kymo__stackdefs_find(&shown->capture->reader->stacks, stack);
    kymo__jsonout_uint(json, "thread", sample->thread);
    kymo__jsonout_int(json, "time", sample->time - shown->origin);
    kymo__jsonout_uint(json, "name", kymo__samplebook_name(book, sample->id));
    kymo__jsonout_uint(json, "number", stack);
    kymo__jsonout_uint(json, "periods", periods);
    kymo__jsonout_int(json, "weight",
                      tallies->period_known ? kymo__tally_time(tallies, periods) : 0);
    kymo__jsonout_string(json, "clock", kymo_detail_word(KYMO_SAMPLE, sample->detail));
    return put_stack(book, "stack", node < book->nodes ? node : 0, json);
}

/* ---- all of them ---- */

enum { EVERY_MOST = 20000 }; /* about a megabyte */

struct every {
    struct kymo_event all[EVERY_MOST];
    size_t count;
};

static int take_sample(void *arg, const struct kymo_event *event)
{
    struct every *every = arg;
    if (every->count == EVERY_MOST)
        return -EFBIG;
    every->all[every->count++] = *event;
    return 0;
}

static int take_samples(struct every *every, const struct kymo_shown_capture *shown,
                        const struct kymo_samplebook *book)
{
    const struct kymo_survey *survey = book->samples->survey;
    const kymo_ns from = kymo__ns_add(shown->origin, shown->from);
    const kymo_ns to = kymo__ns_add(shown->origin, shown->to);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < survey->thread_count; i++)
        if (survey->threads[i].calls && (!shown->chosen || shown->chosen[i]))
            rc = kymo__each_sample(shown->capture, (uint32_t)i, from, to, take_sample, every);
    return rc;
}

static void put_every(const struct every *every, const struct kymo_shown_capture *shown,
                      const struct kymo_samplebook *book, struct kymo_jsonout *json)
{
    const struct kymo_tallies *tallies = &book->samples->tallies;
    kymo__jsonout_array(json, "all");
    for (size_t i = 0; i < every->count; i++) {
        const struct kymo_event *sample = &every->all[i];
        uint32_t periods = kymo__sample_periods(sample->id);
        kymo__jsonout_array(json, NULL);
        kymo__jsonout_uint(json, NULL, sample->thread);
        kymo__jsonout_int(json, NULL, sample->time - shown->origin);
        kymo__jsonout_uint(json, NULL, kymo__samplebook_name(book, sample->id));
        kymo__jsonout_uint(json, NULL, kymo__sample_stack(sample->id));
        kymo__jsonout_uint(json, NULL, periods);
        kymo__jsonout_int(json, NULL,
                          tallies->period_known ? kymo__tally_time(tallies, periods) : 0);
        kymo__jsonout_string(json, NULL, kymo_detail_word(KYMO_SAMPLE, sample->detail));
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

static int by_stack(const void *a, const void *b)
{
    const struct kymo_event *x = a, *y = b;
    uint32_t of_x = kymo__sample_stack(x->id), of_y = kymo__sample_stack(y->id);
    return (of_x > of_y) - (of_x < of_y);
}

/* The stacks of EVERY, which this sorts. */
static int put_stacks(struct every *every, const struct kymo_shown_capture *shown,
                      const struct kymo_samplebook *book, struct kymo_jsonout *json)
{
    int rc = 0;
    qsort(every->all, every->count, sizeof(every->all[0]), by_stack);
    kymo__jsonout_object(json, "stacks");
    for (size_t i = 0; rc == 0 && i < every->count; i++) {
        char name[16];
        uint32_t stack = kymo__sample_stack(every->all[i].id);
        uint32_t node = kymo__stackdefs_find(&shown->capture->reader->stacks, stack);
        if (i && stack == kymo__sample_stack(every->all[i - 1].id))
            continue;
        snprintf(name, sizeof(name), "%" PRIu32, stack);
        rc = put_stack(book, name, node < book->nodes ? node : 0, json);
    }
    kymo__jsonout_end(json);
    return rc;
}

int kymo__shown_every_sample(const struct kymo_shown_capture *shown,
                             const struct kymo_samplebook *book, struct kymo_jsonout *json)
{
    struct every *every = kymo__alloc(sizeof(*every));
    if (!every)
        return -ENOMEM;
    every->count = 0;
    int rc = take_samples(every, shown, book);
    if (rc == 0) {
        put_every(every, shown, book, json);
        rc = put_stacks(every, shown, book, json);
    }
    kymo__free(every);
    return rc == -EFBIG ? 0 : rc;
}
