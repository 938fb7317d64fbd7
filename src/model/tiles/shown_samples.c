/* shown_samples.c — samples as the page shows them: which threads have any and what their functions
   are called, and one sample with its stack. */
#include <errno.h>

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

/* Each function: its number, and the line that was running. */
static int put_stack(const struct kymo_samplebook *book, uint32_t node, struct kymo_jsonout *json)
{
    const struct kymo_samples *samples = book->samples;
    struct kymo_shown *stack = kymo__alloc((KYMO__SHOWN_MOST + 1) * sizeof(*stack));
    if (!stack)
        return -ENOMEM;
    size_t count = kymo__samples_shown(samples, node, stack);
    kymo__jsonout_array(json, "stack");
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
    kymo__jsonout_uint(json, "name", kymo__samplebook_name(book, sample));
    kymo__jsonout_uint(json, "number", stack);
    kymo__jsonout_uint(json, "periods", periods);
    kymo__jsonout_int(json, "weight",
                      tallies->period_known ? kymo__tally_time(tallies, periods) : 0);
    kymo__jsonout_string(json, "clock", kymo_detail_word(KYMO_SAMPLE, sample->detail));
    return put_stack(book, node < book->nodes ? node : 0, json);
}
