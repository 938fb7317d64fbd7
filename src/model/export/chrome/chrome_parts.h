/* chrome_parts.h — shared by the files of the Chrome export.

   The export is fast because it mostly copies: text common to all calls of a callable, and to all
   events of a thread, is built once. */
#ifndef KYMO_CHROME_PARTS_H
#define KYMO_CHROME_PARTS_H

#include "callables.h"
#include "calllines.h"
#include "crew.h"
#include "jsontext.h"
#include "lanes.h"
#include "memcounters.h"
#include "opargs.h"
#include "samples.h"

/* Shared by all threads; constant while they are written. */
struct kymo_chrome {
    struct kymo_callables callables;
    struct kymo_chrome_head {
        char *bytes; /* the start of a slice, up to its thread */
        size_t len;
        size_t line_at; /* where the line is in it, for Kineto; 0: it has none */
        size_t line_len;
        bool python;    /* a call, not a span or an operator */
        bool object;    /* a call of an object that is no function */
        bool of_object; /* the function in Python that such a call may be */
    } * heads;          /* by callable */
    struct kymo_op_export ops;
    bool linked;                  /* spans have ids that execution traces refer to */
    bool kineto;                  /* match Kineto's form exactly */
    const char *const *prefixes;  /* of files, to be left out; NULL: none */
    bool first_lines;             /* in the names of functions */
    bool overloads;               /* names of operators end in their overload */
    uint64_t threads;             /* number of threads, for ids */
    int64_t shift;                /* from monotonic time to the file's time */
    char origin[32];              /* the time of events that describe threads and processes */
    struct kymo_samples *samples; /* NULL if there are none */
    struct kymo_chrome_ids *ids;  /* Kineto's; else NULL */
};

/* State per thread; struct kymo_crew_thread.state. */
struct kymo_chrome_thread {
    struct kymo_chrome *c;
    char place[96]; /* "pid":…,"tid":…,"ts": */
    size_t place_len;
    struct kymo_lanes lanes;
    struct kymo_op_track ops;
    bool *sampled;   /* by sample path: already written for this thread; NULL until there is a
                        sample */
    uint32_t *fresh; /* paths to write, up to a known one */
    size_t fresh_capacity;
    int64_t sampled_at; /* time of the last sample, in microseconds of the file's time */
};

/* Build c->heads. Returns 0 or -ENOMEM; free it in either case. */
int kymo__chrome_heads(struct kymo_chrome *c);
void kymo__chrome_heads_free(struct kymo_chrome *c);

/* Kineto does not see that an object is called, only the function that this is. FRAME, which has just
   begun, may be that function: then the call around it, the frame before, is not shown. */
bool kymo__chrome_hides_object(const struct kymo_chrome *c, const struct kymo_open_call *frame);

/* Describe track TID in THREAD's chunk: its name and sort position. */
int kymo__chrome_track(struct kymo_crew_thread *thread, uint64_t tid, const char *name,
                       const char *suffix, uint64_t order);

/* Add an event's numbers and texts, each followed by a comma, without the payloads of operators. */
int kymo__chrome_args(struct kymo_crew_thread *thread, const struct kymo_call_arg *args,
                      unsigned count);

/* ---- chrome_lines.c: lines of calls, as Kineto shows them */

/* FILE without the folder of modules that it is in. */
const char *kymo__chrome_file(const struct kymo_chrome *c, const char *file);

/* Write HEAD at AT, with LINE instead of its own unless that is negative. There must be room for
   KYMO__CHROME_LINE bytes more than the head has. */
enum { KYMO__CHROME_LINE = 24 };
char *kymo__chrome_put_head(char *at, const struct kymo_chrome_head *head, int64_t line);

/* Like kymo__chrome_args, for a call that was made FROM this line, or NULL, which becomes `CallFrom`. */
int kymo__chrome_call_args(struct kymo_crew_thread *thread, const struct kymo_slice *slice,
                           const char *from);

/* Visitor callbacks for slices and for all other events. */
int kymo__chrome_enter(void *thread, struct kymo_open_call *frame, uint32_t depth);
int kymo__chrome_leave(void *thread, const struct kymo_slice *slice);
int kymo__chrome_other(void *thread, const struct kymo_event *event,
                       const struct kymo_call_arg *args, unsigned arg_count);

/* Add the counters of memory, of process PID, to B. Returns 0 or -ENOMEM. */
int kymo__chrome_memory(struct kymo_buffer *b, const struct kymo_chrome *c,
                        const struct kymo_memcounters *counters,
                        const struct kymo_export_options *options, int64_t pid);

/* Add the arguments of OP, each followed by a comma. Returns 0 or -ENOMEM. */
int kymo__chrome_op(struct kymo_crew_thread *thread, const struct kymo_opcall *op);

/* Write ARROW, which begins or ends at WHEN. Returns 0 or -ENOMEM. */
int kymo__chrome_arrow(struct kymo_crew_thread *thread, const struct kymo_op_arrow *arrow,
                       kymo_ns when);

/* Write a sample of THREAD. Returns 0 or -ENOMEM. */
int kymo__chrome_sample(struct kymo_crew_thread *thread, const struct kymo_event *event);

/* Return room for SIZE bytes at the end of THREAD's chunk, or NULL; `done` counts what was
   written. */
static inline char *kymo__chrome_room(struct kymo_crew_thread *thread, size_t size)
{
    struct kymo_buffer *b = &thread->out;
    if (kymo__unlikely(b->capacity - b->len < size) && kymo__buffer_reserve(b, size) < 0)
        return NULL;
    return (char *)b->bytes + b->len;
}

static inline void kymo__chrome_done(struct kymo_crew_thread *thread, const char *at)
{
    thread->out.len = (size_t)((const uint8_t *)at - thread->out.bytes);
}

#endif
