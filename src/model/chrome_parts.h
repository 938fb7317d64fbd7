/* chrome_parts.h — what the files of the Chrome export share.

   Speed is a matter of copying: what is the same for all calls of a callable, and for all
   events of a thread, is put together once. */
#ifndef KYMO_CHROME_PARTS_H
#define KYMO_CHROME_PARTS_H

#include "callables.h"
#include "crew.h"
#include "jsontext.h"
#include "lanes.h"
#include "samples.h"

/* What all threads share; nobody changes it while they are written. */
struct kymo_chrome {
    struct kymo_callables callables;
    struct kymo_chrome_head {
        char *bytes; /* the beginning of a slice, up to its thread */
        size_t len;
        bool python;              /* a call, and not a span */
    } * heads;                    /* by callable */
    int64_t shift;                /* from monotonic time to the file's */
    struct kymo_samples *samples; /* NULL: there are none */
};

/* A thread's; struct kymo_crew_thread.state. */
struct kymo_chrome_thread {
    struct kymo_chrome *c;
    uint64_t ids;   /* the next call's */
    char place[96]; /* "pid":…,"tid":…,"ts": */
    size_t place_len;
    struct kymo_lanes lanes;
    bool *sampled;   /* by path of samples: it is known here; NULL until there is a sample */
    uint32_t *fresh; /* paths on the way to one that is known */
    size_t fresh_capacity;
    int64_t sampled_at; /* the last one, in microseconds of the file's time */
};

/* Make c->heads. Returns 0 or -ENOMEM; free in any case. */
int kymo__chrome_heads(struct kymo_chrome *c);
void kymo__chrome_heads_free(struct kymo_chrome *c);

/* Describe track TID in THREAD's chunk: its name, and where it stands. */
int kymo__chrome_track(struct kymo_crew_thread *thread, uint64_t tid, const char *name,
                       const char *suffix, uint64_t order);

/* Add the numbers and texts that belong to an event, each with a comma after it. */
int kymo__chrome_args(struct kymo_crew_thread *thread, const struct kymo_call_arg *args,
                      unsigned count);

/* The visitor's part for slices, and for all other events. */
int kymo__chrome_enter(void *thread, struct kymo_frame *frame, uint32_t depth);
int kymo__chrome_leave(void *thread, const struct kymo_slice *slice);
int kymo__chrome_other(void *thread, const struct kymo_event *event,
                       const struct kymo_call_arg *args, unsigned arg_count);

/* A sample of THREAD. Returns 0 or -ENOMEM. */
int kymo__chrome_sample(struct kymo_crew_thread *thread, const struct kymo_event *event);

/* Room for SIZE bytes at the end of THREAD's chunk, or NULL; done counts what was put there. */
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
