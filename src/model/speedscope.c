/* speedscope.c — see speedscope.h.

   Threads are read and written one after another, each call where it begins and where it ends.
   The table of frames comes last: only then is known which callables were called. A profile
   begins with the first call of its thread, so that threads without calls have none. */
#include "speedscope.h"

#include <errno.h>

#include "alloc.h"
#include "callables.h"
#include "calls.h"
#include "gather.h"
#include "print.h"
#include "speedscope_samples.h"
#include "strtab.h"

enum { STEP = 16384 };

struct speedscope {
    const struct kymo_export_options *options;
    struct kymo_capture *capture;
    struct kymo_outfile *out;
    struct kymo_callables callables;
    uint32_t *frames; /* by callable: number of its frame + 1, or 0 */
    uint32_t *used;   /* by frame: its callable */
    uint32_t frame_count;
    kymo_ns from, to; /* the part that is written */
    unsigned profiles;
    struct kymo_speedscope_samples sampled;
    /* The thread being written. */
    char *name;
    bool begun;   /* its profile */
    kymo_ns last; /* time of the last event: the next is never before it */
};

static void print_time(struct speedscope *s, kymo_ns time)
{
    kymo_ns since;
    if (__builtin_sub_overflow(time, s->from, &since))
        since = INT64_MAX;
    kymo__print_int(s->out, since);
}

static void begin_profile(struct speedscope *s, const char *name)
{
    kymo__print(s->out, s->profiles++ ? ",\n" : "\n");
    kymo__print(s->out, "{\"type\":\"evented\",\"name\":");
    kymo__print_json(s->out, name);
    kymo__print(s->out, ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":");
    print_time(s, s->to > s->from ? s->to : s->from);
    kymo__print(s->out, ",\"events\":[");
}

static void print_event(struct speedscope *s, char type, uint32_t key, kymo_ns time)
{
    uint32_t callable = kymo__callable_of(&s->callables, key);
    if (!s->frames[callable]) {
        s->used[s->frame_count] = callable;
        s->frames[callable] = ++s->frame_count;
    }
    if (!s->begun)
        begin_profile(s, s->name);
    s->last = time > s->last ? time : s->last;
    char head[] = ",\n{\"type\":\"?\",\"frame\":";
    head[11] = type;
    const char *from = s->begun ? head : head + 1; /* no comma before the first */
    s->begun = true;
    kymo__print(s->out, from);
    kymo__print_uint(s->out, s->frames[callable] - 1);
    kymo__print(s->out, ",\"at\":");
    print_time(s, s->last);
    kymo__print(s->out, "}");
}

static int enter(void *arg, struct kymo_frame *frame, uint32_t depth)
{
    (void)depth;
    print_event(arg, 'O', frame->key, frame->start);
    return 0;
}

static int leave(void *arg, const struct kymo_slice *slice)
{
    print_event(arg, 'C', slice->frame->key, slice->end);
    return 0;
}

static int read_thread(struct speedscope *s, uint32_t thread, uint64_t *events, uint64_t all)
{
    const struct kymo_export_options *o = s->options;
    const struct kymo_visitor visitor = {.arg = s, .enter = enter, .leave = leave};
    struct kymo_calls *calls = kymo__alloc(sizeof(*calls));
    if (!calls)
        return -ENOMEM;
    int rc = kymo__calls_init(calls, s->capture, thread, o->from > 0 ? o->from : INT64_MIN, o->to,
                              &visitor);
    for (rc = rc == 0 ? 1 : rc; rc > 0;) {
        rc = kymo__calls_read(calls, STEP);
        rc = s->out->error ? s->out->error : rc;
        *events += STEP;
        if (rc > 0 && o->progress) {
            int told = o->progress(o->progress_arg, *events < all ? *events : all, all);
            rc = told < 0 ? told : rc;
        }
    }
    kymo__calls_fini(calls);
    kymo__free(calls);
    return rc;
}

static int write_threads(struct speedscope *s, uint64_t all)
{
    struct kymo_strtab taken = {0};
    uint64_t events = 0;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < s->capture->reader->thread_count; i++) {
        struct kymo_thread_info info = {.size = sizeof(info)};
        kymo_capture_thread(s->capture, i, &info);
        if (!info.records || (s->options->thread >= 0 && s->options->thread != i))
            continue;
        s->name = kymo__gather_title(&info, &taken);
        s->begun = false;
        s->last = s->from;
        rc = s->name ? read_thread(s, i, &events, all) : -ENOMEM;
        kymo__free(s->name);
        if (s->begun)
            kymo__print(s->out, "\n]}");
    }
    kymo__strtab_fini(&taken);
    return rc;
}

/* Samples as profiles of their own, behind those of calls. */
static int write_samples(struct speedscope *s)
{
    const struct kymo_export_options *o = s->options;
    if (o->of == KYMO_OF_CALLS || !s->sampled.samples)
        return 0;
    s->sampled.before = s->frame_count;
    s->sampled.profiles = s->profiles;
    int rc = kymo__speedscope_samples(&s->sampled);
    s->profiles = s->sampled.profiles;
    return rc;
}

static void write_none(struct speedscope *s)
{
    if (s->profiles)
        return; /* readers want one */
    begin_profile(s, "no calls");
    kymo__print(s->out, "]}");
}

static void write_frames(struct speedscope *s)
{
    for (uint32_t i = 0; i < s->frame_count; i++)
        kymo__speedscope_frame(s->out, &s->callables.all[s->used[i]], i == 0);
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
    };
    int rc = options->of == KYMO_OF_SAMPLES && !info.samples ? -ENODATA : 0;
    if (rc == 0)
        rc = kymo__callables_init(&s.callables, capture);
    if (rc == 0 && info.samples && options->of != KYMO_OF_CALLS)
        rc = kymo__speedscope_sample(&s.sampled, capture, options, out);
    if (rc == 0) {
        s.frames = kymo__alloc_zeroed(s.callables.count * sizeof(*s.frames));
        s.used = kymo__alloc(s.callables.count * sizeof(*s.used));
        rc = s.frames && s.used ? 0 : -ENOMEM;
    }
    if (rc == 0) {
        kymo__print(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                         "\"exporter\":\"kymograph@" KYMO_VERSION "\",\n\"name\":");
        kymo__print_json(out, kymo__gather_metadata(capture, "process_name"));
        kymo__print(out, ",\n\"activeProfileIndex\":0,\n\"profiles\":[");
        rc = options->of == KYMO_OF_SAMPLES ? 0 : write_threads(&s, info.records);
    }
    if (rc == 0)
        rc = write_samples(&s);
    if (rc == 0) {
        write_none(&s);
        kymo__print(out, "\n],\n\"shared\":{\"frames\":[");
        write_frames(&s);
        kymo__speedscope_sample_frames(&s.sampled);
        kymo__print(out, "\n]}}\n");
    }
    kymo__free(s.frames);
    kymo__free(s.used);
    kymo__speedscope_samples_fini(&s.sampled);
    kymo__callables_fini(&s.callables);
    return rc;
}
