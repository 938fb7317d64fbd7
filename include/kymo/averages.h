/* averages.h — what a capture adds up to, and its calls as a list.

   Both look at a part of a capture, from FROM up to, without, TO: INT64_MIN and INT64_MAX
   for all of it; calls that are open at its ends are cut there. The objects lend texts of
   the capture and must be freed before it is closed. Like everything about a capture they
   serve one thread at a time. */
#ifndef KYMO_AVERAGES_H
#define KYMO_AVERAGES_H

#include <kymo/kymo.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What was called. */
struct kymo_callee {
    size_t size;
    const char *name, *file; /* UTF-8, never NULL; lent until kymo_close */
    uint32_t line;           /* the first of a function, or 0 */
    uint32_t class_;         /* enum kymo_class of lane.h */
};

/* All calls of one callee, or with a stack: those made in the same way. */
struct kymo_average {
    size_t size;
    struct kymo_callee callee; /* its size need not be set */
    uint64_t calls;            /* those open at the beginning included */
    uint64_t resumes;          /* entered again: generators, coroutines, spans that went on */
    kymo_ns self;              /* without the calls they made */
    kymo_ns total;             /* with them; a call inside another of its kind counts once */
    bool outermost;            /* one at least was made outside every span of the program */
};

struct kymo_averages;

/* Add up the calls of CAPTURE. Calls are taken together when their callees are equal, and
   their callers up to STACK levels above them: 0 looks at no caller, SIZE_MAX at all.
   Without FUNCTIONS only the spans that the program marked are counted, and what functions
   did is the spans' own; functions are still callers.
   Returns 0 with *AVERAGES to be freed, or a negative code. */
KYMO_API int kymo_averages_new(struct kymo_capture *capture, kymo_ns from, kymo_ns to, size_t stack,
                               bool functions, struct kymo_averages **averages);
KYMO_API size_t kymo_averages_count(const struct kymo_averages *averages);

/* Fill AVERAGE (set its size first) with number INDEX, in no particular order. Returns 0 or
   -EINVAL. */
KYMO_API int kymo_averages_get(const struct kymo_averages *averages, size_t index,
                               struct kymo_average *average);

/* Fill CALLER (set its size first) with the one LEVEL calls above number INDEX, 0 the
   nearest. Returns 0, or -ENOENT when there is none or it was not looked at. */
KYMO_API int kymo_averages_caller(const struct kymo_averages *averages, size_t index, size_t level,
                                  struct kymo_callee *caller);
KYMO_API void kymo_averages_free(struct kymo_averages *averages);

/* A call, or the part of one between a resume and a yield. */
struct kymo_call {
    size_t size;
    struct kymo_callee callee; /* its size need not be set */
    kymo_ns start, end;
    kymo_ns self;
    int64_t parent;  /* the number of the call it was made in, or -1 */
    uint64_t id;     /* of its generator or coroutine, or 0 */
    uint32_t thread; /* index */
    uint16_t enter;  /* detail of its enter, and of its leave: struct kymo_event */
    uint16_t leave;
    uint16_t open; /* 1: it had begun before the part, 2: it had not ended by its end, 3: both */
};

struct kymo_timeline;

/* List the calls of CAPTURE in the order in which they began. Without FUNCTIONS only the
   spans the program marked, as if nothing else had been recorded. Returns 0 with *TIMELINE
   to be freed, or a negative code. */
KYMO_API int kymo_timeline_new(struct kymo_capture *capture, kymo_ns from, kymo_ns to,
                               bool functions, struct kymo_timeline **timeline);
KYMO_API size_t kymo_timeline_count(const struct kymo_timeline *timeline);

/* Fill CALL (set its size first) with number INDEX. Returns 0 or -EINVAL. */
KYMO_API int kymo_timeline_get(const struct kymo_timeline *timeline, size_t index,
                               struct kymo_call *call);
KYMO_API void kymo_timeline_free(struct kymo_timeline *timeline);

#ifdef __cplusplus
}
#endif
#endif
