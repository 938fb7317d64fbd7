/* nest.h — the stack of open calls of one thread, and how each event changes it.

   The writer and the reader of a capture both use it, so that they agree: the writer keeps one per
   lane to know which calls are open where a block starts, and a reader turns events into finished
   calls. The unit of time does not matter: ticks in the writer, nanoseconds in a reader.

   Enters and leaves are matched by key. Mismatches are repaired in place and counted, and never
   affect what comes later:

   - A leave whose call is further down: the calls above it have lost their leaves, and
     end there.
   - A leave without a call: its enter was not recorded; it is ignored.

   Spans marked by a program need not nest with its calls: a context manager begins one in one call
   and ends it in another. Such a span continues, as another slice, when the call in which it began
   has ended; and a span that ends inside a call it encloses ends with that call. Only after a gap,
   where events are known to be missing, is this treated as a loss.

   Where tracing was paused, the calls open at the pause are cut, and those open at the resume start
   again. */
#ifndef KYMO_NEST_H
#define KYMO_NEST_H

#include <string.h>

#include "atomic.h"
#include "values.h"

enum kymo_slice_flag {
    KYMO__OPEN_AT_START = 1, /* began before the recording or the window */
    KYMO__OPEN_AT_END = 2,   /* not ended by the end of the recording or window, or by a pause */
    KYMO__END_LOST = 4,      /* its leave is missing: it ended at `end` or before */
    KYMO__ENDED_INSIDE = 8,  /* ended in a call it encloses: at `end` or before */
};

/* Details of enters and leaves. */
enum {
    KYMO__ENTER_RESUME = 1,
    KYMO__ENTER_THROW = 2,
    KYMO__ENTER_OPEN = 3,
    KYMO__LEAVE_YIELD = 1,
};

/* Something attached to an event, as recorded. */
enum kymo_nest_arg_kind { KYMO__ARG_NUMBER = 0, KYMO__ARG_TEXT_KEY = 1, KYMO__ARG_PAYLOAD = 2 };
struct kymo_nest_arg {
    uint32_t key;
    uint8_t kind;    /* enum kymo_nest_arg_kind */
    uint32_t length; /* of a payload */
    uint64_t value;  /* for a payload: its position in nest->bytes */
};

/* The same for display: a number, a text, or a payload field. */
struct kymo_call_arg {
    uint32_t key;    /* its name */
    uint8_t type;    /* enum kymo_field_type. UINT for an ARG, NAME for an ARG_TEXT */
    uint32_t schema; /* for a field: key of its payload's schema; otherwise 0 */
    uint64_t value;  /* a number; FLOAT: its bits. NAME: a key, for kymo__callable_text; any number
                        in a damaged file */
    const uint8_t *bytes; /* TEXT, BYTES and lists: the value as in the payload, without its
                             length */
    size_t length;        /* of `bytes` */
    uint64_t count;       /* number of values in a list */
};

/* Is the value of ARG in its `bytes`? */
static inline bool kymo__arg_is_long(const struct kymo_call_arg *arg)
{
    return arg->type > KYMO_FIELD_NAME || arg->type == KYMO_FIELD_TEXT ||
           arg->type == KYMO_FIELD_BYTES;
}

/* An open call. */
struct kymo_open_call {
    uint32_t key;
    uint8_t enter; /* detail of its enter */
    uint8_t flags; /* enum kymo_slice_flag */
    uint16_t arg_count;
    uint32_t args; /* position of its first argument in nest->args */
    kymo_ns start;
    kymo_ns inside;  /* time spent in calls it made */
    uint64_t id;     /* generator or coroutine, or 0 */
    uint64_t mark;   /* for the visitor */
    uint64_t number; /* which enter of its thread it was, from 1, whatever the window */
};

/* A call that has ended. */
struct kymo_slice {
    const struct kymo_open_call *frame; /* if depth > 0, its caller is the element before it */
    kymo_ns end;
    kymo_ns self;   /* excluding the calls it made */
    uint32_t depth; /* 0 for an outermost call */
    uint8_t leave;  /* detail of its leave */
    uint8_t flags;  /* enum kymo_slice_flag */
    const struct kymo_call_arg *args;
    unsigned arg_count;
};

struct kymo_calls_counts {
    uint64_t events;        /* in the window */
    uint64_t slices;        /* calls that have ended */
    uint64_t lost_leaves;   /* calls whose leave is missing */
    uint64_t orphan_leaves; /* leaves without a known call */
    uint64_t split_spans;   /* spans that outlived the call in which they began */
    uint64_t gaps, missing; /* how often events were dropped, and how many */
    uint32_t deepest;       /* most calls open at once */
    uint64_t lost_args;     /* arguments over the limit of one event */
};

/* Which event the following arguments belong to. */
enum kymo_receiver { KYMO__NOBODY, KYMO__OPENED, KYMO__ENDED, KYMO__HELD };

enum {
    KYMO__NEST_KEYS = 256,
    KYMO__ARGS_MOST = UINT16_MAX, /* arguments of one event; more are dropped, and counted */
};

struct kymo_nest {
    struct kymo_open_call *frames;
    uint32_t depth;
    uint32_t limit; /* limit for depth; 0: none. Beyond it, KYMO_EEXPANDS */
    size_t capacity;
    kymo_ns now;      /* time of the current event; never runs backwards */
    bool telling;     /* the callbacks below are called, and counts are kept */
    uint64_t entered; /* calls begun so far */
    struct kymo_calls_counts counts;
    /* Called with `arg`; either may be NULL. A negative result stops the reading. */
    int (*enter)(void *arg, struct kymo_open_call *frame, uint32_t depth);
    int (*leave)(void *arg, const struct kymo_slice *slice);
    void *arg;
    /* Is KEY the name of a span or an operator? */
    bool (*is_span)(void *span_arg, uint32_t key);
    void *span_arg;
    /* Return COUNT arguments from position FIRST on, for display; lent until the next call. NULL if
       memory is short. If the callback is missing, no arguments are shown. */
    const struct kymo_call_arg *(*show)(void *show_arg, size_t first, unsigned *count);
    void *show_arg;
    /* The rest is private to nest.c. */
    uint32_t active[KYMO__NEST_KEYS]; /* by the low bits of a key: how many are open */
    uint32_t doubtful;                /* frames below this were open when events went missing */
    struct kymo_carried {
        uint32_t key;
        uint16_t arg_count;
        uint64_t id;
    } * carried; /* spans that continue, innermost first, while their call is ended */
    size_t carried_capacity;
    struct kymo_nest_arg *carried_args; /* their arguments, in the same order */
    size_t carried_arg_len, carried_arg_capacity;
    size_t waiting; /* how many wait until all calls open after a pause are back */
    struct kymo_nest_arg *args;
    size_t arg_len, arg_capacity;
    struct kymo_buffer bytes;    /* of payloads */
    size_t bytes_kept;           /* size of `bytes` after the last tidy */
    enum kymo_receiver receiver; /* of arguments that follow */
    uint16_t held_args;          /* with KYMO__HELD: how many the event being held has */
    uint8_t leave_detail;        /* of the call that waits for its arguments */
};

void kymo__nest_fini(struct kymo_nest *nest);

/* Make room for one more frame. Returns 0, -ENOMEM or KYMO_EEXPANDS. */
int kymo__nest_grow(struct kymo_nest *nest);

/* Report the call that ended last and waited for its arguments. Call this before every event that
   is not an argument, while the receiver is KYMO__ENDED. */
int kymo__nest_release(struct kymo_nest *nest);

/* End the spans at the top that ended inside a call which is now over. */
int kymo__nest_settle(struct kymo_nest *nest);

/* Handle a leave of KEY that does not match the topmost call. */
int kymo__nest_leave_below(struct kymo_nest *nest, uint32_t key, unsigned detail);

/* Add an argument of the previous event, or a payload of LEN bytes. Returns 0 or -ENOMEM. */
int kymo__nest_argument(struct kymo_nest *nest, uint32_t key, bool text, uint64_t value);
int kymo__nest_payload(struct kymo_nest *nest, uint32_t key, const uint8_t *bytes, size_t len);

/* Tracing was paused at `now`: everything ends, and spans wait to continue. */
int kymo__nest_pause(struct kymo_nest *nest);

/* Continue the waiting spans. Call this before the first event after a pause that is not an already
   open call. */
int kymo__nest_go_on(struct kymo_nest *nest);

/* Remove spans that ended inside a call which has not, and were not reported. */
void kymo__nest_forget_ended(struct kymo_nest *nest);

/* End everything that is open at `now`. */
int kymo__nest_end(struct kymo_nest *nest);

/* Restore open calls frame by frame: FRAME without arguments, which follow as for a call that has
   just begun. For a new nest. */
int kymo__nest_restore(struct kymo_nest *nest, const struct kymo_open_call *frame);

static inline uint32_t *kymo__nest_active(struct kymo_nest *nest, uint32_t key)
{
    return &nest->active[key % KYMO__NEST_KEYS];
}

/* Fill in FRAME for a call of KEY, the enter NUMBER, that begins at START. */
static inline void kymo__nest_fill(struct kymo_open_call *frame, uint32_t key, unsigned detail,
                                   kymo_ns start, uint64_t id, uint64_t number, uint32_t args)
{
    *frame = (struct kymo_open_call){
        .key = key,
        .enter = (uint8_t)detail,
        .flags = detail == KYMO__ENTER_OPEN ? KYMO__OPEN_AT_START : 0,
        .args = args,
        .start = start,
        .id = id,
        .number = number,
    };
}

/* A call of KEY begins; it is neither counted nor reported. Returns 0, -ENOMEM or KYMO_EEXPANDS. */
static inline int kymo__nest_open(struct kymo_nest *n, uint32_t key, unsigned detail, uint64_t id)
{
    /* One spare slot: see kymo__nest_pop. */
    if (kymo__unlikely(n->depth + 1 >= n->capacity)) {
        int rc = kymo__nest_grow(n);
        if (rc < 0)
            return rc;
    }
    kymo__nest_fill(&n->frames[n->depth++], key, detail, n->now, id, ++n->entered,
                    (uint32_t)n->arg_len);
    (*kymo__nest_active(n, key))++;
    n->receiver = KYMO__OPENED;
    return 0;
}

/* A call of KEY begins. */
static inline int kymo__nest_push(struct kymo_nest *n, uint32_t key, unsigned detail, uint64_t id)
{
    int rc = kymo__nest_open(n, key, detail, id);
    if (rc < 0)
        return rc;
    n->counts.deepest = n->depth > n->counts.deepest ? n->depth : n->counts.deepest;
    return n->telling && n->enter ? n->enter(n->arg, &n->frames[n->depth - 1], n->depth - 1) : 0;
}

/* Pop the topmost call. It stays readable above the top, its arguments on top of the others, until
   it is reported. */
static inline void kymo__nest_pop(struct kymo_nest *n)
{
    struct kymo_open_call *frame = &n->frames[--n->depth];
    if (!(frame->flags & KYMO__ENDED_INSIDE))
        (*kymo__nest_active(n, frame->key))--;
    n->doubtful = n->doubtful < n->depth ? n->doubtful : n->depth;
    if (n->depth)
        frame[-1].inside += n->now - frame->start;
}

static inline bool kymo__nest_is_top(const struct kymo_nest *n, uint32_t key)
{
    return kymo__likely(n->depth && n->frames[n->depth - 1].key == key);
}

/* The topmost call ends, and waits for its arguments. */
static inline void kymo__nest_leave_top(struct kymo_nest *n, unsigned detail)
{
    kymo__nest_pop(n);
    n->leave_detail = (uint8_t)detail;
    n->receiver = KYMO__ENDED;
}

static inline int kymo__nest_leave(struct kymo_nest *n, uint32_t key, unsigned detail)
{
    if (!kymo__nest_is_top(n, key))
        return kymo__nest_leave_below(n, key, detail);
    kymo__nest_leave_top(n, detail);
    return 0;
}

/* Events are missing from here on: calls open now may have ended unseen. */
static inline void kymo__nest_gap(struct kymo_nest *n)
{
    n->doubtful = n->depth;
}

#endif
