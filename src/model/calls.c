/* calls.c — see calls.h.

   A call that has ended, and any other event, is handed over when the event after it is
   read: until then numbers that belong to it may follow. The arguments of open calls lie
   on a stack of their own in the same order as the calls. */
#include "calls.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "atomic.h"

enum { ARGS_MOST = 64 }; /* of one event; more are left out */

/* Who gets arguments that follow. */
enum { NOBODY, OPENED, ENDED, HELD };

int kymo__calls_init(struct kymo_calls *c, struct kymo_capture *capture, uint32_t thread,
                     kymo_ns from, kymo_ns to, const struct kymo_visitor *visitor)
{
    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(capture, &info);
    const struct kymo_reader_thread *t = &capture->reader->threads[thread];
    size_t hint = 0;
    memset(c, 0, sizeof(*c));
    c->visitor = visitor;
    c->from = from;
    c->to = to;
    c->end = info.end;
    if (t->end_ticks) {
        kymo_ns ended = kymo__timebase_ns(&capture->base, t->end_ticks, &hint);
        c->end = ended < c->end ? ended : c->end;
    }
    c->end = to < c->end ? to : c->end;
    c->now = INT64_MIN;
    c->inside = from == INT64_MIN;
    c->keys = capture->reader->key_count;
    /* Everything before the window is needed to know what is open when it begins. */
    uint64_t last = kymo__timebase_ticks(&capture->base, to);
    kymo__stream_init(&c->stream, capture, thread, 0, last + (last < UINT64_MAX));
    c->active = kymo__alloc_zeroed((c->keys + 1) * sizeof(*c->active));
    return c->active ? 0 : -ENOMEM;
}

void kymo__calls_fini(struct kymo_calls *c)
{
    kymo__stream_fini(&c->stream);
    kymo__free(c->frames);
    kymo__free(c->active);
    kymo__free(c->args);
}

static uint32_t *active(struct kymo_calls *c, uint32_t key)
{
    return &c->active[key < c->keys ? key : c->keys];
}

/* Tell of the call at the top of the stack. */
static int begin(struct kymo_calls *c, uint32_t at)
{
    struct kymo_frame *frame = &c->frames[at];
    frame->number = c->numbers++;
    return c->visitor->enter ? c->visitor->enter(c->visitor->arg, frame, at) : 0;
}

static int push(struct kymo_calls *c, const struct kymo_event *event)
{
    /* One slot more than is in use: see pop. */
    if (kymo__unlikely(c->depth + 1 >= c->capacity)) {
        if (c->depth >= UINT32_MAX - 2)
            return -ENOMEM;
        int rc = kymo__array_grow(&c->frames, &c->capacity, c->capacity, sizeof(*c->frames));
        if (rc < 0)
            return rc;
    }
    c->frames[c->depth] = (struct kymo_frame){
        .key = event->key,
        .enter = (uint8_t)event->detail,
        .flags = event->detail == 3 ? KYMO__OPEN_AT_START : 0,
        .args = (uint32_t)c->arg_len,
        .start = c->now,
        .id = event->id,
    };
    (*active(c, event->key))++;
    c->receiver = OPENED;
    c->depth++;
    c->counts.deepest = c->depth > c->counts.deepest ? c->depth : c->counts.deepest;
    return c->inside ? begin(c, c->depth - 1) : 0;
}

/* Take the call at the top off. It stays readable above the top, its arguments on top of
   theirs, until it is told of. */
static void pop(struct kymo_calls *c)
{
    struct kymo_frame *frame = &c->frames[--c->depth];
    (*active(c, frame->key))--;
    if (c->depth)
        frame[-1].inside += c->now - frame->start;
}

/* Tell of the call taken off last, which ended now. */
static int tell(struct kymo_calls *c, unsigned flags)
{
    const struct kymo_frame *frame = &c->frames[c->depth];
    const struct kymo_slice slice = {
        .frame = frame,
        .end = c->now,
        .self = c->now - frame->start - frame->inside,
        .depth = c->depth,
        .leave = c->leave,
        .flags = (uint8_t)(frame->flags | flags),
        .args = c->args + frame->args,
        .arg_count = frame->arg_count,
    };
    c->arg_len = frame->args;
    if (!c->inside)
        return 0;
    c->counts.slices++;
    return c->visitor->leave ? c->visitor->leave(c->visitor->arg, &slice) : 0;
}

/* Hand over what was waiting for its arguments. */
static int release(struct kymo_calls *c)
{
    int receiver = c->receiver;
    c->receiver = NOBODY;
    if (receiver == ENDED)
        return tell(c, 0);
    if (receiver == HELD) {
        c->arg_len -= c->held_args;
        if (c->inside && c->visitor->other)
            return c->visitor->other(c->visitor->arg, &c->held, c->args + c->arg_len, c->held_args);
    }
    return 0;
}

static int leave(struct kymo_calls *c, const struct kymo_event *event)
{
    if (kymo__unlikely(!c->depth || c->frames[c->depth - 1].key != event->key)) {
        bool known = *active(c, event->key) != 0;
        uint32_t at = known ? c->depth : 0;
        while (at && c->frames[at - 1].key != event->key)
            at--;
        if (!at) {
            c->counts.orphan_leaves += c->inside;
            return 0;
        }
        c->leave = 0;
        while (c->depth > at) {
            pop(c);
            c->counts.lost_leaves += c->inside;
            int rc = tell(c, KYMO__END_LOST);
            if (rc < 0)
                return rc;
        }
    }
    pop(c);
    c->leave = (uint8_t)event->detail;
    c->receiver = ENDED;
    return 0;
}

static int add_arg(struct kymo_calls *c, const struct kymo_event *event)
{
    if (c->receiver == NOBODY)
        return 0;
    /* Whoever it is, its arguments are the topmost. */
    uint16_t *count = c->receiver == OPENED  ? &c->frames[c->depth - 1].arg_count
                      : c->receiver == ENDED ? &c->frames[c->depth].arg_count
                                             : &c->held_args;
    if (*count >= ARGS_MOST || c->arg_len >= UINT32_MAX)
        return 0;
    int rc = kymo__array_grow(&c->args, &c->arg_capacity, c->arg_len, sizeof(*c->args));
    if (rc < 0)
        return rc;
    c->args[c->arg_len++] = (struct kymo_call_arg){event->key, event->id};
    (*count)++;
    return 0;
}

/* The window begins with what is open now. */
static int open_window(struct kymo_calls *c)
{
    c->inside = true;
    for (uint32_t i = 0; i < c->depth; i++) {
        struct kymo_frame *frame = &c->frames[i];
        frame->start = c->from;
        frame->inside = 0;
        frame->flags |= KYMO__OPEN_AT_START;
        int rc = begin(c, i);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int finish(struct kymo_calls *c)
{
    int rc = release(c);
    if (!c->inside && c->end <= c->from)
        c->depth = 0; /* the window lies behind the end */
    if (rc == 0 && !c->inside)
        rc = open_window(c);
    c->now = c->end > c->now ? c->end : c->now;
    c->now = c->now < c->from ? c->from : c->now;
    c->leave = 0;
    while (rc >= 0 && c->depth) {
        pop(c);
        rc = tell(c, KYMO__OPEN_AT_END);
    }
    return rc;
}

static int take(struct kymo_calls *c, const struct kymo_event *event)
{
    if (event->kind == KYMO_ARG)
        return add_arg(c, event);
    int rc = c->receiver >= ENDED ? release(c) : 0;
    c->receiver = NOBODY;
    if (rc < 0)
        return rc;
    /* Time never runs backwards on a thread, whatever a damaged file says. */
    c->now = event->time > c->now ? event->time : c->now;
    if (kymo__unlikely(!c->inside && c->now >= c->from)) {
        rc = open_window(c);
        if (rc < 0)
            return rc;
    }
    c->counts.events += c->inside;
    if (event->kind == KYMO_ENTER)
        return push(c, event);
    if (event->kind == KYMO_LEAVE)
        return leave(c, event);
    if (event->kind == KYMO_GAP && c->inside) {
        c->counts.gaps++;
        c->counts.missing += event->id;
        c->counts.events--;
    }
    c->held = *event;
    c->held_args = 0;
    c->receiver = HELD;
    return 0;
}

int kymo__calls_read(struct kymo_calls *c, unsigned most)
{
    for (; most; most--) {
        struct kymo_event event;
        int rc = kymo__stream_next(&c->stream, &event);
        if (rc > 0 && event.time >= c->to)
            rc = 0;
        if (rc == 0)
            return finish(c);
        if (rc > 0)
            rc = take(c, &event);
        if (rc < 0)
            return rc;
    }
    return 1;
}
