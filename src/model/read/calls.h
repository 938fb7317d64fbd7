/* calls.h — turn the events of one thread into finished, properly nested calls.

   nest.h describes how enters and leaves are matched. Memory use is proportional to the deepest
   stack. Calls still open at the end of the thread or capture end there.

   With a window, reading starts at the last checkpoint before it, if there is one; the result is
   the same. The calls are those that a recording from `from` to `to` would contain: calls open at
   either end are cut. A visitor sees each call twice, when it begins and when it has ended, so
   ended calls come in post-order, with other events in between. */
#ifndef KYMO_CALLS_H
#define KYMO_CALLS_H

#include "leap.h"
#include "nest.h"
#include "stream.h"

/* A reader's callbacks; any may be NULL. A negative result stops the reading and is returned. A
   call's arguments are known when it has ended. */
struct kymo_calls;
struct kymo_visitor {
    void *arg;
    bool whole; /* depths are as in a full read: spans that ended before the window, inside a call
                   that has not, still count */
    /* For copying: the raw events of the window, before any repair, including gaps and arguments,
       in the order recorded. `open` is called once before them, with the calls open at the start of
       the window in calls->nest.frames. */
    int (*open)(void *arg, const struct kymo_calls *calls);
    int (*event)(void *arg, const struct kymo_event *event);
    int (*enter)(void *arg, struct kymo_open_call *frame, uint32_t depth);
    int (*leave)(void *arg, const struct kymo_slice *slice);
    int (*other)(void *arg, const struct kymo_event *event, const struct kymo_call_arg *args,
                 unsigned arg_count);
    const bool *skipped; /* by key: instants that `other` does not get; NULL for none */
    size_t keys;
};

struct kymo_calls {
    const struct kymo_visitor *visitor;
    struct kymo_nest nest; /* open calls, and counts */
    /* The rest is private to calls.c. */
    struct kymo_stream stream;
    kymo_ns from, to, end;
    uint64_t soon; /* tick of `from`: before it, only the stack matters */
    bool part;     /* ends where another part of the thread starts: see kymo__calls_part */
    bool cut;      /* see kymo__calls_cut */
    struct kymo_event held;
    struct kymo_call_arg *shown; /* the arguments handed over last */
    size_t shown_capacity;
    struct kymo_leap leap;
};

/* A + B, saturating: a damaged file may claim that something took centuries. */
static inline kymo_ns kymo__ns_add(kymo_ns a, kymo_ns b)
{
    kymo_ns sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* The time from START to END: never negative, and saturating, for the same reason. */
static inline kymo_ns kymo__ns_between(kymo_ns start, kymo_ns end)
{
    kymo_ns length;
    if (__builtin_sub_overflow(end, start, &length))
        return end > start ? INT64_MAX : 0;
    return length > 0 ? length : 0;
}

/* Set up for thread INDEX of CAPTURE and FROM <= time < TO; INT64_MIN and INT64_MAX for all.
   VISITOR is borrowed. Returns 0 or -ENOMEM; call fini in either case. */
int kymo__calls_init(struct kymo_calls *calls, struct kymo_capture *capture, uint32_t thread,
                     kymo_ns from, kymo_ns to, const struct kymo_visitor *visitor);

/* The same for a part of the thread: from summary FIRST of the reader, or from the start with
   KYMO__NO_SUMMARY, up to summary LAST, or to the end. Calls open at the start of the part are
   reported with `enter`; their `inside` counts from there on. Calls open at its end stay in
   calls->nest and are not reported. Several parts of a thread may be read at once, each from its
   own shared capture (kymo__capture_share). Returns 0, -ENOMEM, or -ENOENT if the checkpoint cannot
   be used. */
#define KYMO__NO_SUMMARY SIZE_MAX
int kymo__calls_part(struct kymo_calls *calls, struct kymo_capture *capture, uint32_t thread,
                     kymo_ns from, kymo_ns to, size_t first, size_t last,
                     const struct kymo_visitor *visitor);

/* At the end of a part: continue with the next ones, to the end of the thread. */
void kymo__calls_go_on(struct kymo_calls *calls);

/* How deep the calls of a capture of this size may nest. A real call takes about a byte of the
   recording, while bogus endless nesting would only take the reader's memory. */
uint32_t kymo__calls_deepest(const struct kymo_reader *reader);

/* Read up to MOST events. Returns 1 if there are more, 0 at the end, or a negative code. */
int kymo__calls_read(struct kymo_calls *calls, unsigned most);

/* Leave out what has not been read: the next kymo__calls_read ends the open calls at the time of the
   last event, and returns 0. */
void kymo__calls_cut(struct kymo_calls *calls);
void kymo__calls_fini(struct kymo_calls *calls);

#endif
