/* speedscope_samples.c — see speedscope_samples.h. Threads are read twice, because the format has
   all stacks first and then all weights. */
#include "speedscope_samples.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "gather.h"
#include "print.h"
#include "stacks.h"

int kymo__speedscope_sample(struct kymo_speedscope_samples *s, struct kymo_capture *capture,
                            const struct kymo_export_options *options, struct kymo_outfile *out)
{
    *s = (struct kymo_speedscope_samples){.capture = capture, .options = options, .out = out};
    int rc = kymo__samples_chosen(capture, options, 1, &s->samples);
    if (rc < 0)
        return rc;
    size_t callables = s->samples->survey->callables.count;
    s->frames = kymo__alloc_zeroed(callables * sizeof(*s->frames));
    s->used = kymo__alloc(callables * sizeof(*s->used));
    return s->frames && s->used ? 0 : -ENOMEM;
}

static int write_stack(void *arg, const struct kymo_event *event)
{
    struct kymo_speedscope_samples *s = arg;
    uint32_t node =
        kymo__stackdefs_find(&s->capture->reader->stacks, kymo__sample_stack(event->id));
    kymo__print(s->out, s->written++ ? ",\n[" : "\n[");
    for (size_t i = kymo__samples_shown(s->samples, node, s->shown), first = 1; i-- > 0;
         first = 0) {
        uint32_t callable = s->samples->callable_of[s->shown[i].named];
        if (!s->frames[callable]) {
            s->used[s->frame_count] = callable;
            s->frames[callable] = ++s->frame_count;
        }
        kymo__print(s->out, first ? "" : ",");
        kymo__print_uint(s->out, s->before + s->frames[callable] - 1);
    }
    kymo__print(s->out, "]");
    return s->out->error;
}

static int write_weight(void *arg, const struct kymo_event *event)
{
    struct kymo_speedscope_samples *s = arg;
    kymo__print(s->out, s->written++ ? "," : "");
    kymo__print_int(s->out,
                    kymo__tally_time(&s->samples->tallies, kymo__sample_periods(event->id)));
    return s->out->error;
}

static int write_thread(struct kymo_speedscope_samples *s, uint32_t thread, const char *name)
{
    kymo_ns from = s->options->from > 0 ? s->options->from : INT64_MIN, to = s->options->to;
    struct kymo_outfile *out = s->out;
    kymo__print(out, s->profiles++ ? ",\n" : "\n");
    kymo__print(out, "{\"type\":\"sampled\",\"name\":");
    kymo__print_json(out, name);
    kymo__print(out, ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":");
    kymo__print_int(out, s->samples->survey->threads[thread].busy);
    kymo__print(out, ",\"samples\":[");
    s->written = 0;
    int rc = kymo__each_sample(s->capture, thread, from, to, write_stack, s);
    kymo__print(out, "\n],\"weights\":[");
    s->written = 0;
    if (rc == 0)
        rc = kymo__each_sample(s->capture, thread, from, to, write_weight, s);
    kymo__print(out, "]}");
    return rc;
}

int kymo__speedscope_samples(struct kymo_speedscope_samples *s)
{
    const struct kymo_survey *survey = s->samples->survey;
    struct kymo_strtab taken = {0};
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < survey->thread_count; i++) {
        struct kymo_thread_info info = {.size = sizeof(info)};
        struct kymo_buffer name = {0};
        if (!survey->threads[i].counts.slices)
            continue;
        kymo_capture_thread(s->capture, i, &info);
        char *title = kymo__gather_title(&info, &taken);
        rc = title ? kymo__buffer_add(&name, title, strlen(title)) : -ENOMEM;
        if (rc == 0)
            rc = kymo__buffer_add(&name, " (samples)", sizeof(" (samples)"));
        if (rc == 0)
            rc = write_thread(s, i, (const char *)name.bytes);
        kymo__buffer_fini(&name);
        kymo__free(title);
    }
    kymo__strtab_fini(&taken);
    return rc;
}

void kymo__speedscope_frame(struct kymo_outfile *out, const struct kymo_callable *callable,
                            bool first)
{
    kymo__print(out, first ? "\n{\"name\":" : ",\n{\"name\":");
    kymo__print_json(out, *callable->name ? callable->name : "(unnamed)");
    if (*callable->file) {
        kymo__print(out, ",\"file\":");
        kymo__print_json(out, callable->file);
    }
    if (callable->line) {
        kymo__print(out, ",\"line\":");
        kymo__print_uint(out, callable->line);
    }
    kymo__print(out, "}");
}

void kymo__speedscope_sample_frames(struct kymo_speedscope_samples *s)
{
    for (uint32_t i = 0; i < s->frame_count; i++)
        kymo__speedscope_frame(s->out, &s->samples->survey->callables.all[s->used[i]],
                               s->before + i == 0);
}

void kymo__speedscope_samples_fini(struct kymo_speedscope_samples *s)
{
    kymo__samples_free(s->samples);
    kymo__free(s->frames);
    kymo__free(s->used);
}
