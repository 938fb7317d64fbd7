/* calls.h — from the events of one thread to finished, properly nested calls.

   Enters and leaves are matched by their key while the thread is read; memory is that of
   the deepest stack. What does not fit is repaired where it is and counted, and never
   shifts what comes later:

   - A leave whose call is further down: the calls above it have lost their leaves, and
     end there.
   - A leave whose call is nowhere: its enter was not recorded; it is left out.
   - What is open at the end of its thread or of the capture ends there.

   Spans that a program marks need not nest with its calls: a context manager begins one in
   one call and ends it in another. Such a span goes on, as another slice, when the call
   in which it began has ended; and one that ends inside a call it encloses ends with that
   call. Only after a gap, where events are known to be missing, is this taken for a loss.

   Where tracing was paused, the calls open then are cut, and those open when it went on
   begin anew.

   With a window the calls are those that a recording from `from` to `to` would have had:
   what is open at either end is cut. A visitor gets each call twice, when it begins and
   when it has ended, so ended calls come in post-order; other events come between. */
#ifndef KYMO_CALLS_H
#define KYMO_CALLS_H

#include "stream.h"

enum kymo_slice_flag {
    KYMO__OPEN_AT_START = 1, /* began before the recording or the window */
    KYMO__OPEN_AT_END = 2,   /* had not ended by the end of the recording, by a pause of it, or
                                by the end of the window */
    KYMO__END_LOST = 4,      /* ended, but its leave is missing: at `end` or before */
    KYMO__ENDED_INSIDE = 8,  /* ended in a call it encloses: at `end` or before */
};

/* A number or a text that belongs to an event. */
struct kymo_call_arg {
    uint32_t key; /* what it is */
    bool text;    /* `value` is a key, for kymo__callable_text: any number in a damaged file */
    uint64_t value;
};

/* A call that is open. */
struct kymo_frame {
    uint32_t key;
    uint8_t enter; /* detail of its enter */
    uint8_t flags; /* enum kymo_slice_flag */
    uint16_t arg_count;
    uint32_t args; /* position of its first in calls->args */
    kymo_ns start;
    kymo_ns inside;  /* how long the calls it made took */
    uint64_t id;     /* generator or coroutine, or 0 */
    uint64_t mark;   /* the visitor's */
    uint64_t number; /* which enter of its thread it was, from 1, however much is looked at */
};

/* A call that has ended. */
struct kymo_slice {
    const struct kymo_frame *frame; /* its caller, when depth > 0, stands before it */
    kymo_ns end;
    kymo_ns self;   /* without the calls it made */
    uint32_t depth; /* 0 for an outermost call */
    uint8_t leave;  /* detail of its leave */
    uint8_t flags;  /* enum kymo_slice_flag */
    const struct kymo_call_arg *args;
    unsigned arg_count;
};

/* What a reader does with them; any may be NULL. A negative result ends the reading and
   is its result. Arguments of a call are known when it has ended. */
struct kymo_calls;
struct kymo_visitor {
    void *arg;
    bool whole; /* depths are those of a look at everything: spans that ended before the window,
                   in a call that has not, still count */
    /* The events themselves, before anything is repaired: those of the window, gaps and
       arguments too, in the order recorded; and before them, once, what is open when the
       window begins, which calls->frames has. For who wants to copy them. */
    int (*open)(void *arg, const struct kymo_calls *calls);
    int (*event)(void *arg, const struct kymo_event *event);
    int (*enter)(void *arg, struct kymo_frame *frame, uint32_t depth);
    int (*leave)(void *arg, const struct kymo_slice *slice);
    int (*other)(void *arg, const struct kymo_event *event, const struct kymo_call_arg *args,
                 unsigned arg_count);
};

struct kymo_calls_counts {
    uint64_t events;        /* in the window */
    uint64_t slices;        /* calls that have ended */
    uint64_t lost_leaves;   /* calls whose leave is missing */
    uint64_t orphan_leaves; /* leaves whose call is not known */
    uint64_t split_spans;   /* that went on beyond the call in which they began */
    uint64_t gaps, missing; /* times at which events were given up, and how many */
    uint32_t deepest;       /* most calls open at once */
};

struct kymo_calls {
    const struct kymo_visitor *visitor;
    struct kymo_calls_counts counts;
    struct kymo_frame *frames;
    uint32_t depth;
    size_t capacity;
    /* The rest is the file's own. */
    struct kymo_stream stream;
    kymo_ns from, to, end, now;
    bool inside;      /* the window has begun */
    uint64_t entered; /* calls begun so far */
    uint64_t soon;    /* tick of `from`: before it only the stack matters */
    uint32_t *active; /* by key: how many are open; the last is for unknown keys */
    size_t keys;
    uint32_t doubtful; /* frames below this were open when events went missing */
    struct kymo_carried {
        uint32_t key;
        uint16_t arg_count;
        uint64_t id;
    } * carried; /* spans that go on, the innermost first, while their call is ended */
    size_t carried_capacity;
    struct kymo_call_arg *carried_args; /* theirs, in the same order */
    size_t carried_arg_len, carried_arg_capacity;
    size_t waiting; /* of them, until all calls that were open after a pause are back */
    struct kymo_call_arg *args;
    size_t arg_len, arg_capacity;
    int receiver;  /* of arguments that follow */
    uint8_t leave; /* detail of the leave of the call that waits for its arguments */
    struct kymo_event held;
    uint16_t held_args;
};

/* A + B, as far as a number goes: a damaged file may say that anything took centuries. */
static inline kymo_ns kymo__ns_add(kymo_ns a, kymo_ns b)
{
    kymo_ns sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Set up for thread INDEX of CAPTURE and the time from FROM up to, without, TO: INT64_MIN
   and INT64_MAX for all of it. VISITOR is lent. Returns 0 or -ENOMEM; fini in any case. */
int kymo__calls_init(struct kymo_calls *calls, struct kymo_capture *capture, uint32_t thread,
                     kymo_ns from, kymo_ns to, const struct kymo_visitor *visitor);

/* Read up to MOST events. 1: there is more, 0: all is done, or a negative code. */
int kymo__calls_read(struct kymo_calls *calls, unsigned most);
void kymo__calls_fini(struct kymo_calls *calls);

#endif
