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

/* Details of enters and leaves. */
enum { RESUME = 1, OPEN = 3, YIELD = 1 };

int kymo__calls_init(struct kymo_calls *c, struct kymo_capture *capture, uint32_t thread,
                     kymo_ns from, kymo_ns to, const struct kymo_visitor *visitor)
{
    const struct kymo_reader_thread *t = &capture->reader->threads[thread];
    size_t hint = 0;
    memset(c, 0, sizeof(*c));
    c->visitor = visitor;
    c->from = from;
    c->to = to;
    c->end = capture->end;
    if (t->end_ticks) {
        kymo_ns ended = kymo__timebase_ns(&capture->base, t->end_ticks, &hint);
        c->end = ended < c->end ? ended : c->end;
    }
    c->end = to < c->end ? to : c->end;
    c->now = INT64_MIN;
    c->inside = from == INT64_MIN;
    c->keys = capture->reader->key_count;
    /* Everything before the window is needed to know what is open when it begins. */
    c->soon = c->inside ? 0 : kymo__timebase_ticks(&capture->base, from);
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
    kymo__free(c->carried);
    kymo__free(c->carried_args);
}

static uint32_t *active(struct kymo_calls *c, uint32_t key)
{
    return &c->active[key < c->keys ? key : c->keys];
}

/* Tell of the call at the top of the stack. */
static int begin(struct kymo_calls *c, uint32_t at)
{
    struct kymo_frame *frame = &c->frames[at];
    return c->visitor->enter ? c->visitor->enter(c->visitor->arg, frame, at) : 0;
}

static int push(struct kymo_calls *c, uint32_t key, unsigned detail, uint64_t id)
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
        .key = key,
        .enter = (uint8_t)detail,
        .flags = detail == OPEN ? KYMO__OPEN_AT_START : 0,
        .args = (uint32_t)c->arg_len,
        .start = c->now,
        .id = id,
        .number = ++c->entered,
    };
    (*active(c, key))++;
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
    if (!(frame->flags & KYMO__ENDED_INSIDE))
        (*active(c, frame->key))--;
    c->doubtful = c->doubtful < c->depth ? c->doubtful : c->depth;
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
        .args = c->args ? c->args + frame->args : NULL,
        .arg_count = frame->arg_count,
    };
    c->arg_len = frame->args;
    if (!c->inside)
        return 0;
    c->counts.slices++;
    return c->visitor->leave ? c->visitor->leave(c->visitor->arg, &slice) : 0;
}

/* End the spans at the top that ended inside a call which is now over. */
static int settle(struct kymo_calls *c)
{
    int rc = 0;
    while (rc >= 0 && c->depth && c->frames[c->depth - 1].flags & KYMO__ENDED_INSIDE) {
        pop(c);
        c->leave = 0;
        rc = tell(c, 0);
    }
    return rc;
}

/* Hand over what was waiting for its arguments. */
static int release(struct kymo_calls *c)
{
    int receiver = c->receiver;
    c->receiver = NOBODY;
    if (receiver == ENDED) {
        int rc = tell(c, 0);
        return rc < 0 ? rc : settle(c);
    }
    if (receiver == HELD) {
        c->arg_len -= c->held_args;
        if (c->inside && c->visitor->other)
            return c->visitor->other(c->visitor->arg, &c->held,
                                     c->args ? c->args + c->arg_len : NULL, c->held_args);
    }
    return 0;
}

static bool is_span(const struct kymo_calls *c, uint32_t key)
{
    const struct kymo_reader *r = c->stream.capture->reader;
    return key < c->keys && r->keys[key].name && r->keys[key].class == KYMO_CLASS_NAME;
}

/* The frame that a leave of KEY is for, which is not the topmost; or c->depth. */
static uint32_t find(struct kymo_calls *c, uint32_t key)
{
    uint32_t at = *active(c, key) ? c->depth : 0;
    while (at && (c->frames[at - 1].key != key || c->frames[at - 1].flags & KYMO__ENDED_INSIDE))
        at--;
    return at ? at - 1 : c->depth;
}

/* Can the span at AT have ended inside the calls above it? Not when one of those may have
   ended unseen, and not when there is another span that would have had to end before. */
static bool ends_inside(const struct kymo_calls *c, uint32_t at)
{
    if (!is_span(c, c->frames[at].key) || at + 1 < c->doubtful)
        return false;
    for (uint32_t i = at + 1; i < c->depth; i++)
        if (is_span(c, c->frames[i].key) && c->frames[i].enter != RESUME &&
            !(c->frames[i].flags & KYMO__ENDED_INSIDE))
            return false;
    return true;
}

/* Add COUNT arguments to TO: those in FROM from FIRST on. */
static int copy_args(struct kymo_call_arg **to, size_t *len, size_t *capacity,
                     const struct kymo_call_arg *from, size_t first, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int rc = kymo__array_grow(to, capacity, *len, sizeof(**to));
        if (rc < 0)
            return rc;
        (*to)[(*len)++] = from[first + i];
    }
    return 0;
}

/* Put the span at the top aside, behind COUNT others. */
static int carry(struct kymo_calls *c, size_t count)
{
    const struct kymo_frame *frame = &c->frames[c->depth - 1];
    int rc = kymo__array_grow(&c->carried, &c->carried_capacity, count, sizeof(*c->carried));
    if (rc < 0)
        return rc;
    c->carried[count] = (struct kymo_carried){frame->key, frame->arg_count, frame->id};
    c->carried_arg_len = count ? c->carried_arg_len : 0;
    return copy_args(&c->carried_args, &c->carried_arg_len, &c->carried_arg_capacity, c->args,
                     frame->args, frame->arg_count);
}

/* End the frames from DEPTH on, in a way that HOW says, except spans that may GO_ON: they
   are put aside, and counted in the result. */
static int64_t unwind(struct kymo_calls *c, uint32_t depth, unsigned how, bool go_on)
{
    size_t carried = 0;
    while (c->depth > depth) {
        const struct kymo_frame *frame = &c->frames[c->depth - 1];
        unsigned flags = frame->flags & KYMO__ENDED_INSIDE ? 0 : how;
        c->leave = 0;
        if (flags && go_on && c->depth - 1 >= c->doubtful && is_span(c, frame->key)) {
            int rc = carry(c, carried++);
            if (rc < 0)
                return rc;
            c->leave = YIELD;
            flags = 0;
        }
        c->counts.lost_leaves += flags == KYMO__END_LOST && c->inside;
        pop(c);
        int rc = tell(c, flags);
        if (rc < 0)
            return rc;
    }
    return (int64_t)carried;
}

/* Begin COUNT spans that were put aside again, with the arguments they had. */
static int go_on(struct kymo_calls *c, size_t count)
{
    int rc = 0;
    size_t args = c->carried_arg_len;
    c->counts.split_spans += c->inside ? count : 0;
    while (rc >= 0 && count-- > 0) {
        const struct kymo_carried *span = &c->carried[count];
        args -= span->arg_count;
        rc = push(c, span->key, RESUME, span->id);
        if (rc < 0)
            break;
        c->frames[c->depth - 1].arg_count = span->arg_count;
        rc = copy_args(&c->args, &c->arg_len, &c->arg_capacity, c->carried_args, args,
                       span->arg_count);
    }
    c->receiver = NOBODY;
    return rc;
}

/* A leave that is not for the topmost frame. */
static int leave_below(struct kymo_calls *c, const struct kymo_event *event)
{
    uint32_t at = find(c, event->key);
    if (at == c->depth) {
        c->counts.orphan_leaves += c->inside;
        return 0;
    }
    if (ends_inside(c, at)) {
        (*active(c, event->key))--;
        c->frames[at].flags |= KYMO__ENDED_INSIDE;
        return 0;
    }
    int64_t carried = unwind(c, at + 1, KYMO__END_LOST, !is_span(c, event->key));
    if (carried < 0)
        return (int)carried;
    pop(c);
    c->leave = (uint8_t)event->detail;
    int rc = tell(c, 0);
    rc = rc < 0 ? rc : settle(c);
    return rc < 0 ? rc : go_on(c, (size_t)carried);
}

static bool is_top(const struct kymo_calls *c, uint32_t key)
{
    return kymo__likely(c->depth && c->frames[c->depth - 1].key == key);
}

static void leave_top(struct kymo_calls *c, unsigned detail)
{
    pop(c);
    c->leave = (uint8_t)detail;
    c->receiver = ENDED;
}

static int leave(struct kymo_calls *c, const struct kymo_event *event)
{
    if (!is_top(c, event->key))
        return leave_below(c, event);
    leave_top(c, event->detail);
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
    c->args[c->arg_len++] =
        (struct kymo_call_arg){event->key, event->kind == KYMO_ARG_TEXT, event->id};
    (*count)++;
    return 0;
}

/* Take out the spans that have ended inside a call which has not. Nobody was told of any
   frame yet. */
static void forget_ended(struct kymo_calls *c)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < c->depth; i++)
        if (!(c->frames[i].flags & KYMO__ENDED_INSIDE))
            c->frames[left++] = c->frames[i];
    c->depth = left;
    c->doubtful = c->doubtful < left ? c->doubtful : left;
}

/* The window begins with what is open now. */
static int open_window(struct kymo_calls *c)
{
    c->inside = true;
    if (!c->visitor->whole)
        forget_ended(c);
    c->counts.deepest = c->depth; /* what was before does not count */
    if (c->visitor->open) {
        int rc = c->visitor->open(c->visitor->arg, c);
        if (rc < 0)
            return rc;
    }
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
        bool ended = c->frames[c->depth - 1].flags & KYMO__ENDED_INSIDE;
        pop(c);
        rc = tell(c, ended ? 0 : KYMO__OPEN_AT_END);
    }
    return rc;
}

/* Tracing was paused and goes on: EVENT says since when nothing was seen of calls. */
static int resync(struct kymo_calls *c, const struct kymo_event *event)
{
    size_t hint = 0;
    kymo_ns paused = kymo__timebase_ns(&c->stream.capture->base, event->id, &hint);
    paused = paused < event->time ? paused : event->time;
    c->now = paused > c->now ? paused : c->now;
    /* A part of the window may be before the pause. */
    int rc = !c->inside && c->now >= c->from ? open_window(c) : 0;
    if (rc < 0)
        return rc;
    int64_t carried = unwind(c, 0, KYMO__OPEN_AT_END, true);
    if (carried < 0)
        return (int)carried;
    c->waiting = (size_t)carried;
    return 0;
}

static int show(struct kymo_calls *c, const struct kymo_event *event)
{
    return c->inside && c->visitor->event ? c->visitor->event(c->visitor->arg, event) : 0;
}

/* A sample comes from outside of what the thread does, perhaps between an event and the
   numbers that belong to it: those still find their event. */
static int take_sample(struct kymo_calls *c, const struct kymo_event *event)
{
    int rc = show(c, event);
    c->counts.events++; /* now stays: a call that has ended may wait to be told of */
    if (rc == 0 && c->visitor->other)
        rc = c->visitor->other(c->visitor->arg, event, NULL, 0);
    return rc;
}

static int take(struct kymo_calls *c, const struct kymo_event *event)
{
    if (event->kind == KYMO_ARG || event->kind == KYMO_ARG_TEXT) {
        int rc = show(c, event);
        return rc < 0 ? rc : add_arg(c, event);
    }
    if (event->kind == KYMO_SAMPLE && c->inside)
        return take_sample(c, event);
    int rc = c->receiver >= ENDED ? release(c) : 0;
    c->receiver = NOBODY;
    if (rc == 0 && event->kind == KYMO_RESYNC)
        rc = resync(c, event);
    if (rc < 0)
        return rc;
    /* Time never runs backwards on a thread, whatever a damaged file says. */
    c->now = event->time > c->now ? event->time : c->now;
    if (kymo__unlikely(!c->inside && c->now >= c->from)) {
        rc = open_window(c);
        if (rc < 0)
            return rc;
    }
    rc = show(c, event);
    if (rc < 0)
        return rc;
    c->counts.events += c->inside;
    if (kymo__unlikely(c->waiting) && event->kind != KYMO_RESYNC &&
        !(event->kind == KYMO_ENTER && event->detail == OPEN)) {
        size_t waiting = c->waiting;
        c->waiting = 0;
        rc = go_on(c, waiting);
        if (rc < 0)
            return rc;
    }
    if (event->kind == KYMO_ENTER)
        return push(c, event->key, event->detail, event->id);
    if (event->kind == KYMO_LEAVE)
        return leave(c, event);
    if (event->kind == KYMO_GAP) {
        c->doubtful = c->depth;
        bool lost = c->inside && event->detail != KYMO_GAP_FLIGHT;
        c->counts.gaps += lost;
        c->counts.missing += lost ? event->id : 0;
        c->counts.events -= c->inside;
    }
    c->held = *event;
    c->held_args = 0;
    c->receiver = HELD;
    return 0;
}

/* Most records are enters and leaves that match: go along those at hand, at most MOST, without
   making an event of each. Returns how many that were, or a negative code. */
static int stride(struct kymo_calls *c, unsigned most)
{
    const struct kymo_record *records;
    uint64_t limit = c->inside ? UINT64_MAX : c->soon;
    size_t count = kymo__stream_at_hand(&c->stream, &limit, &records), n = 0;
    if (c->waiting || (c->inside && c->visitor->event))
        return 0;
    count = count < most ? count : most;
    int rc = 0;
    for (; n < count && records[n].ticks < limit; n++) {
        uint64_t word = records[n].word;
        uint32_t key = kymo__word_key(word);
        bool leaves = kymo__word_kind(word) == KYMO_LEAVE;
        if (!leaves && word != kymo_word(KYMO_ENTER, 0, key))
            break;
        rc = c->receiver >= ENDED ? release(c) : 0;
        c->receiver = NOBODY;
        if (rc < 0 || (leaves && !is_top(c, key)))
            break;
        kymo_ns time =
            kymo__timebase_ns(&c->stream.capture->base, records[n].ticks, &c->stream.hint);
        if (time >= c->to)
            break;
        c->now = time > c->now ? time : c->now;
        c->counts.events += c->inside;
        if (leaves)
            leave_top(c, kymo__word_detail(word) & ~KYMO_HAS_ID);
        else
            rc = push(c, key, 0, 0);
        if (rc < 0)
            break;
    }
    kymo__stream_skip(&c->stream, n);
    return rc < 0 ? rc : (int)n;
}

int kymo__calls_read(struct kymo_calls *c, unsigned most)
{
    for (; most; most--) {
        struct kymo_event event;
        int passed = stride(c, most - 1);
        if (passed < 0)
            return passed;
        most -= (unsigned)passed;
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
