/* calls.c — see calls.h.

   Each event is handed over when the next one is read, because arguments that belong to it may
   follow. */
#include "calls.h"

#include <errno.h>

#include "atomic.h"
#include "calls_leap.h"

/* Hand over the event that was waiting for its arguments. */
static int release_held(struct kymo_calls *c)
{
    struct kymo_nest *n = &c->nest;
    if (n->receiver == KYMO__ENDED)
        return kymo__nest_release(n);
    if (n->receiver == KYMO__HELD) {
        n->receiver = KYMO__NOBODY;
        n->arg_len -= n->held_args;
        if (n->telling && c->visitor->other) {
            unsigned count = n->held_args;
            const struct kymo_call_arg *args = NULL;
            if (kymo__unlikely(count) && !(args = n->show(n->show_arg, n->arg_len, &count)))
                return -ENOMEM;
            return c->visitor->other(c->visitor->arg, &c->held, args, count);
        }
    }
    n->receiver = KYMO__NOBODY;
    return 0;
}

/* Start the window with the calls open now. */
static int open_window(struct kymo_calls *c)
{
    struct kymo_nest *n = &c->nest;
    n->telling = true;
    if (!c->visitor->whole)
        kymo__nest_forget_ended(n);
    n->counts.deepest = n->depth; /* what came before does not count */
    if (c->visitor->open) {
        int rc = c->visitor->open(c->visitor->arg, c);
        if (rc < 0)
            return rc;
    }
    for (uint32_t i = 0; i < n->depth; i++) {
        struct kymo_open_call *frame = &n->frames[i];
        frame->start = c->from;
        frame->inside = 0;
        frame->flags |= KYMO__OPEN_AT_START;
        int rc = n->enter ? n->enter(n->arg, frame, i) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int finish_reading(struct kymo_calls *c)
{
    struct kymo_nest *n = &c->nest;
    int rc = release_held(c);
    if (c->part)
        return rc;
    if (!n->telling && c->end <= c->from)
        n->depth = 0; /* the window is past the end */
    if (rc == 0 && !n->telling)
        rc = open_window(c);
    n->now = c->end > n->now ? c->end : n->now;
    n->now = n->now < c->from ? c->from : n->now;
    return rc < 0 ? rc : kymo__nest_end(n);
}

/* Tracing was paused and continues; EVENT says since when no calls were seen. */
static int resync(struct kymo_calls *c, const struct kymo_event *event)
{
    struct kymo_nest *n = &c->nest;
    size_t hint = 0;
    kymo_ns paused = kymo__timebase_ns(&c->stream.capture->base, event->id, &hint);
    paused = paused < event->time ? paused : event->time;
    n->now = paused > n->now ? paused : n->now;
    /* Part of the window may be before the pause. */
    int rc = !n->telling && n->now >= c->from ? open_window(c) : 0;
    return rc < 0 ? rc : kymo__nest_pause(n);
}

static int show_event(struct kymo_calls *c, const struct kymo_event *event)
{
    return c->nest.telling && c->visitor->event ? c->visitor->event(c->visitor->arg, event) : 0;
}

/* A sample is taken asynchronously, perhaps between an event and its arguments; those must still be
   attached to their event. */
static int take_sample(struct kymo_calls *c, const struct kymo_event *event)
{
    if (!c->nest.telling && event->time >= c->from) {
        enum kymo_receiver receiver = c->nest.receiver;
        int rc = release_held(c);
        c->nest.receiver = receiver == KYMO__OPENED ? receiver : KYMO__NOBODY;
        rc = rc < 0 ? rc : open_window(c);
        if (rc < 0)
            return rc;
    }
    if (!c->nest.telling)
        return 0;
    int rc = show_event(c, event);
    c->nest.counts.events++; /* keep `now`: an ended call may still have to be reported */
    if (rc == 0 && c->visitor->other)
        rc = c->visitor->other(c->visitor->arg, event, NULL, 0);
    return rc;
}

static bool is_skipped(const struct kymo_visitor *visitor, const struct kymo_event *event)
{
    return visitor->skipped && event->kind == KYMO_INSTANT && event->key < visitor->keys &&
           visitor->skipped[event->key];
}

static int calls_take(struct kymo_calls *c, const struct kymo_event *event)
{
    struct kymo_nest *n = &c->nest;
    if (event->kind == KYMO_ARG || event->kind == KYMO_ARG_TEXT) {
        int rc = show_event(c, event);
        return rc < 0 ? rc
                      : kymo__nest_argument(n, event->key, event->kind == KYMO_ARG_TEXT, event->id);
    }
    if (event->kind == KYMO_PAYLOAD) {
        int rc = show_event(c, event);
        return rc < 0 ? rc
                      : kymo__nest_payload(n, event->key, event->payload, event->payload_bytes);
    }
    if (event->kind == KYMO_SAMPLE)
        return take_sample(c, event);
    int rc = release_held(c);
    if (rc == 0 && event->kind == KYMO_RESYNC)
        rc = resync(c, event);
    if (rc < 0)
        return rc;
    /* Time never runs backwards on a thread, whatever a damaged file says. */
    n->now = event->time > n->now ? event->time : n->now;
    if (kymo__unlikely(!n->telling && n->now >= c->from)) {
        rc = open_window(c);
        if (rc < 0)
            return rc;
    }
    rc = show_event(c, event);
    if (rc < 0)
        return rc;
    n->counts.events += n->telling;
    if (kymo__unlikely(n->waiting) && event->kind != KYMO_RESYNC &&
        !(event->kind == KYMO_ENTER && event->detail == KYMO__ENTER_OPEN)) {
        rc = kymo__nest_go_on(n);
        if (rc < 0)
            return rc;
    }
    if (event->kind == KYMO_ENTER)
        return kymo__nest_push(n, event->key, event->detail, event->id);
    if (event->kind == KYMO_LEAVE)
        return kymo__nest_leave(n, event->key, event->detail);
    if (event->kind == KYMO_GAP) {
        kymo__nest_gap(n);
        bool lost = n->telling && event->detail != KYMO_GAP_FLIGHT;
        n->counts.gaps += lost;
        n->counts.missing += lost ? event->id : 0;
        n->counts.events -= n->telling;
    }
    c->held = *event;
    n->held_args = 0;
    n->receiver = is_skipped(c->visitor, event) ? KYMO__NOBODY : KYMO__HELD;
    return 0;
}

/* Before the window only the stack of open calls matters, not times and not calls that have ended:
   the same as `stride` for up to MOST of RECORDS, with less to do for each. Returns how many. */
static int pass_before(struct kymo_calls *c, const struct kymo_record *records, size_t most,
                       uint64_t limit)
{
    struct kymo_nest *n = &c->nest;
    size_t i = 0;
    int rc = 0;
    for (; i < most && records[i].ticks < limit; i++) {
        uint64_t word = records[i].word;
        uint32_t key = kymo__word_key(word);
        bool leaves = kymo__word_kind(word) == KYMO_LEAVE;
        if (!leaves && word != kymo_word(KYMO_ENTER, 0, key))
            break;
        if (n->receiver == KYMO__HELD) {
            rc = release_held(c);
        } else if (n->receiver == KYMO__ENDED) {
            n->arg_len = n->frames[n->depth].args;
            if (n->depth && n->frames[n->depth - 1].flags & KYMO__ENDED_INSIDE)
                rc = kymo__nest_settle(n);
        }
        n->receiver = KYMO__NOBODY;
        if (rc < 0 || (leaves && !kymo__nest_is_top(n, key)))
            break;
        if (leaves)
            kymo__nest_leave_top(n, 0);
        else
            rc = kymo__nest_open(n, key, 0, 0);
        if (rc < 0)
            break;
    }
    kymo__stream_skip(&c->stream, i);
    return rc < 0 ? rc : (int)i;
}

/* Fast path: most records are matching enters and leaves. Process up to MOST of those available
   without building an event for each. Returns how many, or a negative code. */
static int stride(struct kymo_calls *c, unsigned most)
{
    struct kymo_nest *n = &c->nest;
    const struct kymo_record *records;
    uint64_t limit = n->telling ? UINT64_MAX : c->soon;
    size_t count = kymo__stream_at_hand(&c->stream, &limit, &records), i = 0;
    if (n->waiting || (n->telling && c->visitor->event))
        return 0;
    count = count < most ? count : most;
    int rc = 0;
    if (!n->telling && !c->visitor->open) { /* which is shown when they began */
        if (n->now == INT64_MIN)
            return 0; /* calls must begin at some time */
        int passed = pass_before(c, records, count, limit);
        rc = passed == (int)count ? kymo__calls_leap(c, limit, most - (unsigned)count) : 0;
        return passed < 0 ? passed : rc < 0 ? rc : passed + rc;
    }
    for (; i < count && records[i].ticks < limit; i++) {
        uint64_t word = records[i].word;
        uint32_t key = kymo__word_key(word);
        bool leaves = kymo__word_kind(word) == KYMO_LEAVE;
        if (!leaves && word != kymo_word(KYMO_ENTER, 0, key))
            break;
        rc = n->receiver >= KYMO__ENDED ? release_held(c) : 0;
        n->receiver = KYMO__NOBODY;
        if (rc < 0 || (leaves && !kymo__nest_is_top(n, key)))
            break;
        kymo_ns time =
            kymo__timebase_ns(&c->stream.capture->base, records[i].ticks, &c->stream.hint);
        if (time >= c->to)
            break;
        n->now = time > n->now ? time : n->now;
        n->counts.events += n->telling;
        if (leaves)
            kymo__nest_leave_top(n, kymo__word_detail(word) & ~KYMO_HAS_ID);
        else
            rc = kymo__nest_push(n, key, 0, 0);
        if (rc < 0)
            break;
    }
    kymo__stream_skip(&c->stream, i);
    return rc < 0 ? rc : (int)i;
}

void kymo__calls_cut(struct kymo_calls *c)
{
    c->cut = true;
    c->part = false;
    c->end = c->nest.telling ? c->nest.now : c->from;
}

int kymo__calls_read(struct kymo_calls *c, unsigned most)
{
    if (c->cut)
        return finish_reading(c);
    for (; most; most--) {
        struct kymo_event event;
        int passed = stride(c, most - 1);
        if (passed < 0)
            return passed;
        most -= (unsigned)passed;
        int rc = kymo__stream_next(&c->stream, &event);
        if (rc > 0 && kymo__unlikely(c->stream.track)) {
            /* They come in any order of time. */
            if (event.time < c->from || event.time >= c->to)
                continue;
        } else if (rc > 0 && event.time >= c->to) {
            rc = 0;
            c->part = false;
        }
        if (rc == 0)
            return finish_reading(c);
        if (rc > 0)
            rc = calls_take(c, &event);
        if (rc < 0)
            return rc;
    }
    return 1;
}
