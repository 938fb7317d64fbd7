/* slices.c — see slices.h. */
#include "slices.h"

#include <errno.h>

#include "alloc.h"

enum { STEP = 256, PATIENCE = 4096 };

struct kymo_slices {
    struct kymo_capture *capture;
    kymo_ns from, to;
    uint32_t next, last; /* threads still to read */
    uint32_t thread;     /* the one being read */
    bool reading, more;  /* a thread is being read; it has more */
    uint64_t before;     /* calls of the thread that began before the range */
    uint64_t awaited;    /* open calls that began in the range */
    struct kymo_visitor visitor;
    struct kymo_calls calls;
    struct kymo_slice_row *rows; /* ended, not handed out yet: from `at` on */
    size_t count, capacity, at;
    struct kymo_call_arg *args; /* their arguments, in the same order */
    size_t arg_count, arg_capacity, arg_at;
    struct kymo_buffer bytes; /* long values; the argument's `value` is the position here */
};

static uint64_t id_of(const struct kymo_slices *s, uint64_t number)
{
    return (uint64_t)s->thread << 40 | number;
}

/* A frame's mark: it began in the range. */
static int slices_enter(void *arg, struct kymo_open_call *frame, uint32_t depth)
{
    struct kymo_slices *s = arg;
    (void)depth;
    frame->mark = frame->number > s->before && frame->start < s->to;
    s->awaited += frame->mark;
    return 0;
}

/* All calls so far began before the range. */
static int open_calls(void *arg, const struct kymo_calls *calls)
{
    struct kymo_slices *s = arg;
    s->before = calls->nest.entered;
    return 0;
}

static int add_arg(struct kymo_slices *s, struct kymo_call_arg arg)
{
    int rc = kymo__array_grow(&s->args, &s->arg_capacity, s->arg_count, sizeof(*s->args));
    if (rc == 0 && kymo__arg_is_long(&arg)) {
        arg.value = s->bytes.len;
        rc = kymo__buffer_reserve(&s->bytes, arg.length + 1); /* never NULL */
        if (rc == 0)
            rc = kymo__buffer_add(&s->bytes, arg.bytes, arg.length);
    }
    if (rc == 0)
        s->args[s->arg_count++] = arg;
    return rc;
}

static int slices_leave(void *arg, const struct kymo_slice *slice)
{
    struct kymo_slices *s = arg;
    const struct kymo_open_call *frame = slice->frame;
    if (!frame->mark)
        return 0;
    s->awaited--;
    int rc = kymo__array_grow(&s->rows, &s->capacity, s->count, sizeof(*s->rows));
    for (unsigned i = 0; rc == 0 && i < slice->arg_count; i++)
        rc = add_arg(s, slice->args[i]);
    if (rc < 0)
        return rc;
    s->rows[s->count++] = (struct kymo_slice_row){
        .id = id_of(s, frame->number),
        .parent = slice->depth ? id_of(s, frame[-1].number) : 0,
        .thread = s->thread,
        .key = frame->key,
        .start = frame->start,
        .end = slice->end,
        .self = slice->self,
        .task = frame->id,
        .depth = slice->depth,
        .enter = frame->enter,
        .leave = slice->leave,
        .flags = slice->flags,
        .arg_count = slice->arg_count,
    };
    return 0;
}

int kymo__slices_new(struct kymo_capture *capture, int64_t thread, kymo_ns from, kymo_ns to,
                     struct kymo_slices **slices)
{
    size_t threads = capture->reader->thread_count;
    if (thread < -1 || thread >= (int64_t)threads)
        return -EINVAL;
    struct kymo_slices *s = kymo__alloc_zeroed(sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->capture = capture;
    s->from = from;
    s->to = to;
    s->next = thread < 0 ? 0 : (uint32_t)thread;
    s->last = thread < 0 ? (uint32_t)threads : (uint32_t)thread + 1;
    s->visitor = (struct kymo_visitor){
        .arg = s, .whole = true, .open = open_calls, .enter = slices_enter, .leave = slices_leave};
    *slices = s;
    return 0;
}

/* Does the thread have anything in the range? */
static bool touches(const struct kymo_slices *s, uint32_t thread)
{
    struct kymo_thread_info info = {.size = sizeof(info)};
    kymo_capture_thread(s->capture, thread, &info);
    return info.records && info.first < s->to && info.last >= s->from;
}

static void close_thread(struct kymo_slices *s)
{
    if (s->reading)
        kymo__calls_fini(&s->calls);
    s->reading = false;
    s->awaited = s->before = 0;
}

/* Start the next thread. Returns 1, 0 if there is none, or a negative code. */
static int open_thread(struct kymo_slices *s)
{
    while (s->next < s->last && !touches(s, s->next))
        s->next++;
    if (s->next >= s->last)
        return 0;
    s->thread = s->next++;
    s->reading = s->more = true;
    int rc = kymo__calls_init(&s->calls, s->capture, s->thread, s->from, INT64_MAX, &s->visitor);
    return rc < 0 ? rc : 1;
}

int kymo__slices_next(struct kymo_slices *s, struct kymo_slice_row *row)
{
    for (int patience = PATIENCE; s->at == s->count; patience--) {
        s->at = s->count = s->arg_at = s->arg_count = s->bytes.len = 0;
        if (patience == 0)
            return 2;
        /* Stop after the range, once all calls that began in it have ended. */
        if (s->reading && (!s->more || (s->calls.nest.now >= s->to && !s->awaited)))
            close_thread(s);
        int rc = s->reading ? 1 : open_thread(s);
        if (rc <= 0)
            return rc;
        rc = kymo__calls_read(&s->calls, STEP);
        if (rc < 0)
            return rc;
        s->more = rc > 0;
    }
    *row = s->rows[s->at++];
    row->args = row->arg_count ? s->args + s->arg_at : NULL;
    for (unsigned i = 0; i < row->arg_count; i++)
        if (kymo__arg_is_long(&s->args[s->arg_at + i]))
            s->args[s->arg_at + i].bytes = s->bytes.bytes + s->args[s->arg_at + i].value;
    s->arg_at += row->arg_count;
    return 1;
}

void kymo__slices_free(struct kymo_slices *s)
{
    if (!s)
        return;
    close_thread(s);
    kymo__free(s->rows);
    kymo__free(s->args);
    kymo__buffer_fini(&s->bytes);
    kymo__free(s);
}
