/* chrome.c — see chrome.h. Writes the whole file, including the parts before and after the
   events. */
#include "chrome.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "chrome_ids.h"
#include "chrome_parts.h"
#include "gather.h"

/* Times are relative to a base shared by all processes recorded in the same three months, so that
   their files can be combined. It is recent enough for a double to hold nanoseconds. */
#define BASE_STEP INT64_C(7889238000000000)

/* Is KEY metadata that is not copied as is: one of the format's own keys, or written elsewhere? */
static bool reserved(const char *key)
{
    static const char *const keys[] = {
        "schemaVersion", "deviceProperties",    "displayTimeUnit",   "traceEvents",
        "traceName",     "baseTimeNanoseconds", "systemTraceEvents", "stackFrames",
        "samples",       "distributedInfo",     "process_name",      "kymograph",
        "rank",          "world_size",          "backend",
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static const char *metadata(struct kymo_capture *capture, const char *wanted)
{
    const char *key, *value;
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &key, &value) == 0; i++)
        if (strcmp(key, wanted) == 0)
            return value;
    return NULL;
}

/* Is TEXT a number that other programs will parse as one: not too long, no leading 0? */
static bool is_number(const char *text)
{
    size_t digits = text ? strspn(text, "0123456789") : 0;
    return digits > 0 && digits < 10 && !text[digits] && (*text != '0' || digits == 1);
}

/* Write which of several processes this is. Tools look for the rank with a space before it. */
static int add_distributed(struct kymo_buffer *b, struct kymo_capture *capture)
{
    const char *rank = metadata(capture, "rank"), *size = metadata(capture, "world_size"),
               *backend = metadata(capture, "backend");
    if (!is_number(rank))
        return 0;
    int rc = kymo__json_text(b, "\"distributedInfo\": {");
    if (backend)
        rc |= kymo__json_text(b, "\"backend\": \"") | kymo__json_escaped(b, backend) |
              kymo__json_text(b, "\", ");
    rc |= kymo__json_text(b, "\"rank\": ") | kymo__json_text(b, rank);
    if (is_number(size))
        rc |= kymo__json_text(b, ", \"world_size\": ") | kymo__json_text(b, size);
    return rc | kymo__json_text(b, "},\n");
}

static int add_metadata(struct kymo_buffer *b, struct kymo_capture *capture)
{
    const char *key, *value;
    int rc = 0;
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &key, &value) == 0; i++)
        if (!reserved(key))
            rc |= kymo__json_text(b, "\"") | kymo__json_escaped(b, key) |
                  kymo__json_text(b, "\": \"") | kymo__json_escaped(b, value) |
                  kymo__json_text(b, "\",\n");
    return rc;
}

static int add_process(struct kymo_buffer *b, const struct kymo_chrome *c, int64_t pid,
                       const char *name)
{
    char text[384];
    snprintf(text, sizeof(text),
             "{\"ph\":\"M\",\"name\":\"process_name\",\"ts\":%s,\"pid\":%" PRId64
             ",\"tid\":0,\"args\":{\"name\":\"",
             c->origin, pid);
    int rc = kymo__json_text(b, text) | kymo__json_escaped(b, name ? name : "");
    snprintf(text, sizeof(text),
             "\"}},\n{\"ph\":\"M\",\"name\":\"process_labels\",\"ts\":%s,\"pid\":%" PRId64
             ",\"tid\":0,\"args\":{\"labels\":\"CPU\"}}"
             ",\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"ts\":%s,\"pid\":%" PRId64
             ",\"tid\":0,\"args\":{\"sort_index\":%" PRId64 "}}",
             c->origin, pid, c->origin, pid, pid);
    return rc | kymo__json_text(b, text);
}

/* When what OPTIONS select begins. */
static kymo_ns begin_of(const struct kymo_info *info, const struct kymo_export_options *options)
{
    return options->from > info->start ? options->from : info->start;
}

/* Everything before the events of threads. */
static int write_beginning(struct kymo_chrome *c, struct kymo_capture *capture,
                           const struct kymo_info *info, const struct kymo_export_options *options,
                           struct kymo_outfile *out)
{
    const char *extra = options->extra;
    struct kymo_memcounters memory;
    struct kymo_buffer b = {0};
    char text[160];
    int64_t wall = info->wall_start, base = wall < 0 ? 0 : wall - wall % BASE_STEP;
    c->shift = wall - base - info->start;
    /* Kineto gives the time of the begin; 0 keeps such events out of the way of other readers. */
    *kymo__json_time(c->origin, c->kineto ? kymo__ns_add(begin_of(info, options), c->shift) : 0) =
        '\0';
    int rc = kymo__json_text(&b, "{\n\"schemaVersion\": 1,\n"
                                 "\"kymograph\": {\"version\": \"" KYMO_VERSION "\"},\n"
                                 "\"deviceProperties\": [],\n");
    rc |= add_distributed(&b, capture) | add_metadata(&b, capture) |
          kymo__json_text(&b, extra ? extra : "");
    snprintf(text, sizeof(text),
             "\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": %" PRId64
             ",\n\"traceEvents\": [\n",
             base);
    rc |= kymo__json_text(&b, text);
    for (uint32_t i = 0; i < info->processes; i++) {
        struct kymo_process_info process;
        int64_t pid = kymo__crew_pid(capture, i, &process);
        rc |= kymo__json_text(&b, i ? ",\n" : "") | add_process(&b, c, pid, process.name);
    }
    int counted = kymo__memcounters_init(&memory, capture, options);
    if (counted == 0) {
        struct kymo_process_info process;
        rc |= kymo__chrome_memory(&b, c, &memory, options, kymo__crew_pid(capture, 0, &process));
    }
    kymo__memcounters_fini(&memory);
    if (rc == 0 && counted == 0)
        kymo__outfile_add(out, b.bytes, b.len);
    kymo__buffer_fini(&b);
    return rc ? -ENOMEM : counted;
}

/* What Kineto writes last: the window as a span of its own, its begin and its end. Viewers show
   these as separate processes and then do not expand the real one. */
static int add_window(struct kymo_buffer *b, const struct kymo_chrome *c, kymo_ns start,
                      kymo_ns end)
{
    char time[KYMO__JSON_NUMBER], *at = kymo__json_time(time, end > start ? end - start : 0);
    char text[512];
    snprintf(
        text, sizeof(text),
        ",\n{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\",\"pid\":\"Spans\","
        "\"tid\":\"PyTorch Profiler\",\"ts\":%s,\"dur\":%.*s,\"args\":{\"Op count\":0}}"
        ",\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"ts\":%s,\"pid\":\"Spans\","
        "\"tid\":0,\"args\":{\"sort_index\":536870912}}"
        ",\n{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Iteration Start: PyTorch Profiler\","
        "\"pid\":\"Traces\",\"tid\":\"Trace PyTorch Profiler\",\"ts\":%s}",
        c->origin, (int)(at - time), time, c->origin, c->origin);
    int rc = kymo__json_text(b, text);
    at = kymo__json_time(time, kymo__ns_add(end, c->shift));
    return rc |
           kymo__json_text(b, ",\n{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window End\","
                              "\"pid\":\"\",\"tid\":\"\",\"ts\":") |
           kymo__buffer_add(b, time, (size_t)(at - time)) | kymo__json_text(b, "}");
}

static int write_end(const struct kymo_chrome *c, kymo_ns start, kymo_ns end,
                     struct kymo_outfile *out)
{
    struct kymo_buffer b = {0};
    int rc = c->kineto ? add_window(&b, c, start, end) : 0;
    rc |= kymo__json_text(&b, "\n]");
    if (out->path)
        rc |= kymo__json_text(&b, ",\n\"traceName\": \"") | kymo__json_escaped(&b, out->path) |
              kymo__json_text(&b, "\"");
    rc |= kymo__json_text(&b, "\n}\n");
    if (rc == 0)
        kymo__outfile_add(out, b.bytes, b.len);
    kymo__buffer_fini(&b);
    return rc ? -ENOMEM : 0;
}

static int begin_thread(struct kymo_crew_thread *thread)
{
    struct kymo_chrome_thread *t = thread->state;
    t->c = thread->arg;
    t->place_len = (size_t)snprintf(t->place, sizeof(t->place),
                                    "\"pid\":%" PRId64 ",\"tid\":%" PRIu64 ",\"ts\":", thread->pid,
                                    thread->tid);
    return thread->first ? kymo__chrome_track(thread, thread->tid, thread->name, "",
                                              (uint64_t)thread->info.index * 100)
                         : 0;
}

/* Lanes stay taken until their events end, and operators keep their payloads. */
static bool goes_on(const struct kymo_crew_thread *thread)
{
    const struct kymo_chrome_thread *t = thread->state;
    return t->lanes.count != 0 || kymo__op_track_goes_on(&t->ops);
}

static void end_thread(struct kymo_crew_thread *thread)
{
    struct kymo_chrome_thread *t = thread->state;
    kymo__op_track_fini(&t->ops);
    kymo__free(t->sampled);
    kymo__free(t->fresh);
}

int kymo__chrome_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                       struct kymo_outfile *out)
{
    struct kymo_crew_format format = {
        .state_size = sizeof(struct kymo_chrome_thread),
        .begin = begin_thread,
        .enter = kymo__chrome_enter,
        .again = kymo__chrome_enter,
        .leave = kymo__chrome_leave,
        .other = kymo__chrome_other,
        .goes_on = goes_on,
        .end = end_thread,
    };
    struct kymo_info info = {.size = sizeof(info)};
    struct kymo_chrome c = {.kineto = options->extra != NULL,
                            .prefixes = options->prefixes,
                            .overloads = options->overloads != 0,
                            .first_lines = options->first_lines != 0,
                            .threads = capture->reader->thread_count};
    kymo_capture_info(capture, &info);
    int rc = kymo__callables_init(&c.callables, capture);
    if (rc == 0)
        rc = kymo__op_export_init(&c.ops, capture, options);
    c.linked = c.kineto || c.ops.keys.any;
    if (rc == 0)
        rc = kymo__chrome_heads(&c);
    if (rc == 0 && c.kineto)
        rc = kymo__chrome_ids_new(&c, capture, options, &c.ids);
    if (rc == 0 && info.samples)
        rc = kymo__samples_chosen(capture, options, KYMO__GATHER_NODES, &c.samples);
    if (rc == 0)
        rc = write_beginning(&c, capture, &info, options, out);
    format.whole = c.samples != NULL; /* a V8 profile names a path only once */
    if (rc == 0)
        rc = kymo__crew_write(capture, options, &format, &c, out);
    if (rc == 0)
        rc = write_end(&c, begin_of(&info, options),
                       options->to < info.end ? options->to : info.end, out);
    kymo__chrome_ids_free(c.ids);
    kymo__chrome_heads_free(&c);
    kymo__op_export_fini(&c.ops);
    kymo__samples_free(c.samples);
    kymo__callables_fini(&c.callables);
    return rc;
}
