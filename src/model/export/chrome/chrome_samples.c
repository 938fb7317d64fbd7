/* chrome_samples.c — samples as V8 profiles, the one form that both Chromium's tools and Perfetto
   read.

   A thread with samples has one `Profile` event with the start time, and a `ProfileChunk` event per
   sample. Each chunk has the paths seen for the first time (a function below another path), then
   the sample's path and the microseconds since the previous sample. Path N + 1 is node N of the
   sample tree. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "alloc.h"
#include "chrome_parts.h"
#include "stacks.h"

static const char head[] = "\"cat\":\"disabled-by-default-v8.cpu_profiler\"";

/* Write the start of an event called NAME, up to its data. */
static int open_event(struct kymo_crew_thread *thread, const char *name, kymo_ns when)
{
    const struct kymo_chrome_thread *t = thread->state;
    char text[320], time[KYMO__JSON_NUMBER];
    char *end = kymo__json_time(time, kymo__ns_add(when, t->c->shift));
    snprintf(text, sizeof(text),
             ",\n{\"ph\":\"P\",%s,\"name\":\"%s\",\"id\":\"0x%" PRIx32
             "\",%s%.*s,\"args\":{\"data\":{",
             head, name, thread->info.index + 1, t->place, (int)(end - time), time);
    return kymo__json_text(&thread->out, text);
}

static int write_profile(struct kymo_crew_thread *thread, const struct kymo_event *event)
{
    struct kymo_chrome_thread *t = thread->state;
    char text[64];
    t->sampled = kymo__alloc_zeroed(t->c->samples->survey->tree.count + 1);
    if (!t->sampled)
        return -ENOMEM;
    snprintf(text, sizeof(text), "\"startTime\":%" PRId64 "}}}", t->sampled_at);
    return open_event(thread, "Profile", event->time) | kymo__json_text(&thread->out, text);
}

static int add_path(struct kymo_crew_thread *thread, uint32_t at)
{
    const struct kymo_chrome_thread *t = thread->state;
    const struct kymo_survey *s = t->c->samples->survey;
    const struct kymo_node *node = &s->tree.nodes[at];
    const struct kymo_callable *callable = &s->callables.all[node->callable];
    struct kymo_buffer *b = &thread->out;
    char text[160];
    snprintf(text, sizeof(text), "{\"id\":%" PRIu32 ",", at + 1);
    int rc = kymo__json_text(b, text);
    if (node->parent) {
        snprintf(text, sizeof(text), "\"parent\":%" PRIu32 ",", node->parent + 1);
        rc |= kymo__json_text(b, text);
    }
    rc |= kymo__json_text(b, "\"callFrame\":{\"codeType\":\"other\",\"functionName\":\"") |
          kymo__json_escaped(b, callable->name) | kymo__json_text(b, "\",\"url\":\"") |
          kymo__json_escaped(b, callable->file);
    /* V8 counts lines from 0. */
    snprintf(text, sizeof(text), "\",\"scriptId\":0,\"lineNumber\":%" PRId64 "}}",
             (int64_t)callable->line - 1);
    return rc | kymo__json_text(b, text);
}

/* Write the paths up to AT that are not known yet, callers first. */
static int add_paths(struct kymo_crew_thread *thread, uint32_t at)
{
    struct kymo_chrome_thread *t = thread->state;
    size_t count = 0;
    int rc = 0;
    for (; at && !t->sampled[at]; at = t->c->samples->survey->tree.nodes[at].parent) {
        rc = kymo__array_grow(&t->fresh, &t->fresh_capacity, count, sizeof(*t->fresh));
        if (rc < 0)
            return rc;
        t->fresh[count++] = at;
        t->sampled[at] = true;
    }
    for (size_t i = count; rc == 0 && i-- > 0;)
        rc =
            kymo__json_text(&thread->out, i + 1 < count ? "," : "") | add_path(thread, t->fresh[i]);
    return rc;
}

int kymo__chrome_sample(struct kymo_crew_thread *thread, const struct kymo_event *event)
{
    struct kymo_chrome_thread *t = thread->state;
    const struct kymo_samples *s = t->c->samples;
    if (!s)
        return 0;
    uint32_t node =
        kymo__stackdefs_find(&s->names.capture->reader->stacks, kymo__sample_stack(event->id));
    uint32_t path = s->path_of[node];
    int64_t now = kymo__ns_add(event->time, t->c->shift) / 1000;
    int rc = 0;
    if (!t->sampled) {
        t->sampled_at = now;
        rc = write_profile(thread, event);
    }
    if (rc)
        return -ENOMEM;
    now = now > t->sampled_at ? now : t->sampled_at;
    char text[96];
    rc = open_event(thread, "ProfileChunk", event->time) |
         kymo__json_text(&thread->out, "\"cpuProfile\":{\"nodes\":[") | add_paths(thread, path);
    snprintf(text, sizeof(text), "],\"samples\":[%" PRIu32 "]},\"timeDeltas\":[%" PRId64 "]}}}",
             path + 1, now - t->sampled_at);
    t->sampled_at = now;
    return rc | kymo__json_text(&thread->out, text) ? -ENOMEM : 0;
}
