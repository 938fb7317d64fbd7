/* speedscope.c — see speedscope.h.

   The crew writes threads one after another, in pieces, each call where it begins and where it
   ends. Frames are numbered as callables are, whether they were called or not, so that no piece
   depends on what others called. A profile is started by its thread's first call, so threads
   without calls have none. */
#include "speedscope.h"

#include <errno.h>
#include <stdio.h>

#include "alloc.h"
#include "atomic.h"
#include "callables.h"
#include "crew.h"
#include "gather.h"
#include "jsontext.h"
#include "print.h"
#include "speedscope_samples.h"
#include "strtab.h"

enum { STEP = 1024, EVENT_MOST = 64 + 2 * KYMO__JSON_NUMBER };

/* Constant while threads are written, except `unknown`. */
struct speedscope {
    const struct kymo_export_options *options;
    struct kymo_capture *capture;
    struct kymo_outfile *out;
    struct kymo_callables callables;
    uint32_t unknown;  /* 1: a call without a name was written; its frame is the last one */
    kymo_ns from, to;  /* the part being written */
    char **titles;     /* by thread */
    int64_t first;     /* the first thread with calls, or -1 */
    unsigned profiles; /* written so far, except those of the crew */
    struct kymo_speedscope_samples sampled;
};

/* A piece of a thread. */
struct speedscope_thread {
    struct speedscope *s;
    bool begun;   /* its profile is started */
    kymo_ns last; /* time of the last event; the next is never earlier */
};

static kymo_ns time_since(const struct speedscope *s, kymo_ns time)
{
    kymo_ns since;
    return __builtin_sub_overflow(time, s->from, &since) ? INT64_MAX : since;
}

/* Add the start of a profile called NAME, up to its events, to B. */
static int begin_profile(struct kymo_buffer *b, const struct speedscope *s, const char *name,
                         bool first)
{
    char end[KYMO__JSON_NUMBER];
    snprintf(end, sizeof(end), "%lld", (long long)time_since(s, s->to > s->from ? s->to : s->from));
    int rc = kymo__json_text(b, first ? "\n" : ",\n") |
             kymo__json_text(b, "{\"type\":\"evented\",\"name\":\"") | kymo__json_escaped(b, name) |
             kymo__json_text(b, "\",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":") |
             kymo__json_text(b, end) | kymo__json_text(b, ",\"events\":[");
    return rc ? -ENOMEM : 0;
}

/* ---- threads ---- */

static int speedscope_begin(struct kymo_crew_thread *thread)
{
    struct speedscope_thread *t = thread->state;
    t->s = thread->arg;
    t->begun = !thread->first; /* see speedscope_goes_on */
    t->last = thread->since > t->s->from ? thread->since : t->s->from;
    if (thread->first)
        t->last = t->s->from;
    return 0;
}

/* The number of the frame of KEY. Callable 0 is the one for unknown keys. */
static uint64_t frame_of(struct speedscope *s, uint32_t key)
{
    uint32_t callable = kymo__callable_of(&s->callables, key);
    if (kymo__likely(callable))
        return callable - 1;
    kymo__store_relaxed(&s->unknown, 1u);
    return s->callables.count - 1;
}

static int add_event(struct kymo_crew_thread *thread, char type, uint32_t key, kymo_ns time)
{
    struct speedscope_thread *t = thread->state;
    struct kymo_buffer *b = &thread->out;
    const bool first = !t->begun;
    if (kymo__unlikely(first)) {
        uint32_t index = thread->info.index;
        int rc = begin_profile(b, t->s, t->s->titles[index], index == t->s->first);
        if (rc < 0)
            return rc;
        t->begun = true;
    }
    if (kymo__unlikely(b->capacity - b->len < EVENT_MOST)) {
        int rc = kymo__buffer_reserve(b, EVENT_MOST);
        if (rc < 0)
            return rc;
    }
    t->last = time > t->last ? time : t->last;
    kymo_ns since = time_since(t->s, t->last);
    char *at = (char *)b->bytes + b->len;
    if (!first)
        *at++ = ',';
    at = KYMO__JSON_PUT(at, "\n{\"type\":\"");
    *at++ = type;
    at = KYMO__JSON_PUT(at, "\",\"frame\":");
    at = kymo__json_uint(at, frame_of(t->s, key));
    at = KYMO__JSON_PUT(at, ",\"at\":");
    at = kymo__json_uint(at, since > 0 ? (uint64_t)since : 0);
    *at++ = '}';
    b->len = (size_t)((const uint8_t *)at - b->bytes);
    return 0;
}

static int speedscope_enter(void *arg, struct kymo_open_call *frame, uint32_t depth)
{
    (void)depth;
    return add_event(arg, 'O', frame->key, frame->start);
}

static int speedscope_leave(void *arg, const struct kymo_slice *slice)
{
    return add_event(arg, 'C', slice->frame->key, slice->end);
}

/* The next piece takes it that there was a call in this one. */
static bool speedscope_goes_on(const struct kymo_crew_thread *thread)
{
    const struct speedscope_thread *t = thread->state;
    return !t->begun;
}

static int speedscope_finish(struct kymo_crew_thread *thread)
{
    const struct speedscope_thread *t = thread->state;
    return t->begun ? kymo__json_text(&thread->out, "\n]}") : 0;
}

static const struct kymo_crew_format format = {
    .state_size = sizeof(struct speedscope_thread),
    .ordered = true,
    .begin = speedscope_begin,
    .enter = speedscope_enter,
    .leave = speedscope_leave,
    .goes_on = speedscope_goes_on,
    .finish = speedscope_finish,
};

static int found_call(void *arg, struct kymo_open_call *frame, uint32_t depth)
{
    (void)frame;
    (void)depth;
    *(bool *)arg = true;
    return 0;
}

/* Has THREAD a call? Returns 1, 0, or a negative code. */
static int has_calls(const struct speedscope *s, uint32_t thread)
{
    bool found = false;
    const struct kymo_export_options *o = s->options;
    const struct kymo_visitor visitor = {.arg = &found, .enter = found_call};
    struct kymo_calls *calls = kymo__alloc(sizeof(*calls));
    if (!calls)
        return -ENOMEM;
    int rc = kymo__calls_init(calls, s->capture, thread, o->from > 0 ? o->from : INT64_MIN, o->to,
                              &visitor);
    for (rc = rc == 0 ? 1 : rc; rc > 0 && !found;)
        rc = kymo__calls_read(calls, STEP);
    kymo__calls_fini(calls);
    kymo__free(calls);
    return rc < 0 ? rc : found;
}

/* Find the titles of threads, and the first thread with calls. */
static int plan_threads(struct speedscope *s)
{
    const size_t count = s->capture->reader->thread_count;
    struct kymo_strtab taken = {0};
    int rc = 0;
    s->titles = kymo__alloc_zeroed((count + 1) * sizeof(*s->titles));
    if (!s->titles)
        return -ENOMEM;
    for (uint32_t i = 0; rc >= 0 && i < count; i++) {
        struct kymo_thread_info info = {.size = sizeof(info)};
        kymo_capture_thread(s->capture, i, &info);
        if (!info.records || (s->options->thread >= 0 && s->options->thread != i))
            continue;
        s->titles[i] = kymo__gather_title(&info, &taken);
        rc = !s->titles[i] ? -ENOMEM : s->first < 0 ? has_calls(s, i) : 0;
        if (rc > 0)
            s->first = i;
    }
    kymo__strtab_fini(&taken);
    return rc < 0 ? rc : 0;
}

static void free_titles(struct speedscope *s)
{
    for (uint32_t i = 0; s->titles && i < s->capture->reader->thread_count; i++)
        kymo__free(s->titles[i]);
    kymo__free(s->titles);
}

static int write_threads(struct speedscope *s)
{
    int rc = plan_threads(s);
    if (rc == 0 && s->first >= 0) {
        s->profiles = 1; /* or more: what follows begins with a comma */
        rc = kymo__crew_write(s->capture, s->options, &format, s, s->out);
    }
    return rc;
}

/* ---- the rest ---- */

/* Write samples as separate profiles after those of calls. */
static int write_samples(struct speedscope *s)
{
    const struct kymo_export_options *o = s->options;
    if (o->of == KYMO_OF_CALLS || !s->sampled.samples)
        return 0;
    s->sampled.before = (uint32_t)s->callables.count - !s->unknown;
    s->sampled.profiles = s->profiles;
    int rc = kymo__speedscope_samples(&s->sampled);
    s->profiles = s->sampled.profiles;
    return rc;
}

static int write_none(struct speedscope *s)
{
    struct kymo_buffer b = {0};
    if (s->profiles)
        return 0; /* readers require one */
    if (s->options->of == KYMO_OF_EITHER && kymo__may_have_heap(s->capture))
        return -ENOTSUP; /* there is nothing but memory */
    int rc = begin_profile(&b, s, "no calls", true) | kymo__json_text(&b, "]}");
    if (rc == 0)
        kymo__outfile_add(s->out, b.bytes, b.len);
    kymo__buffer_fini(&b);
    return rc ? -ENOMEM : 0;
}

static void write_frames(struct speedscope *s)
{
    for (size_t i = 1; i < s->callables.count; i++)
        kymo__speedscope_frame(s->out, &s->callables.all[i], i == 1);
    if (s->unknown)
        kymo__speedscope_frame(s->out, &s->callables.all[0], s->callables.count == 1);
}

int kymo__speedscope_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                           struct kymo_outfile *out)
{
    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(capture, &info);
    struct speedscope s = {
        .options = options,
        .capture = capture,
        .out = out,
        .from = options->from > info.start ? options->from : info.start,
        .to = options->to < info.end ? options->to : info.end,
        .first = -1,
    };
    int rc = options->of == KYMO_OF_MEMORY                     ? -ENOTSUP
             : options->of == KYMO_OF_SAMPLES && !info.samples ? -ENODATA
                                                               : 0;
    if (rc == 0)
        rc = kymo__callables_init(&s.callables, capture);
    if (rc == 0 && info.samples && options->of != KYMO_OF_CALLS)
        rc = kymo__speedscope_sample(&s.sampled, capture, options, out);
    if (rc == 0) {
        kymo__print(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                         "\"exporter\":\"kymograph@" KYMO_VERSION "\",\n\"name\":");
        kymo__print_json(out, kymo__gather_metadata(capture, "process_name"));
        kymo__print(out, ",\n\"activeProfileIndex\":0,\n\"profiles\":[");
        rc = options->of == KYMO_OF_SAMPLES ? 0 : write_threads(&s);
    }
    if (rc == 0)
        rc = write_samples(&s);
    if (rc == 0)
        rc = write_none(&s);
    if (rc == 0) {
        kymo__print(out, "\n],\n\"shared\":{\"frames\":[");
        write_frames(&s);
        kymo__speedscope_sample_frames(&s.sampled);
        kymo__print(out, "\n]}}\n");
    }
    free_titles(&s);
    kymo__speedscope_samples_fini(&s.sampled);
    kymo__callables_fini(&s.callables);
    return rc;
}
