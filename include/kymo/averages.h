/* averages.h — totals per function over a capture, and its calls as a list.

   Both cover the part of a capture with FROM <= time < TO; INT64_MIN and INT64_MAX cover all of it.
   Calls open at either end are cut there. The objects borrow texts from the capture and must be
   freed before it is closed. One thread at a time may use a capture and everything made from it. */
#ifndef KYMO_AVERAGES_H
#define KYMO_AVERAGES_H

#include <kymo/kymo.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A function or span that was called. */
struct kymo_callee {
    size_t size;
    const char *name, *file; /* UTF-8, never NULL; lent until kymo_close */
    uint32_t line;           /* first line of a function, or 0 */
    uint32_t class_;         /* enum kymo_class of lane.h */
};

/* Totals for one callee or, if callers are distinguished, for one callee on one call path. */
struct kymo_average {
    size_t size;
    struct kymo_callee callee; /* its size member need not be set */
    uint64_t calls;            /* includes calls open at the start */
    uint64_t resumes;          /* times re-entered: generators, coroutines, resumed spans */
    kymo_ns self;              /* excluding the calls they made */
    kymo_ns total;             /* including them; recursive calls count once */
    bool outermost;            /* at least one call was made outside all of the program's spans */
};

/* Let kymo_averages_new and kymo_timeline_new return at about UNTIL, a time of CLOCK_MONOTONIC in
   nanoseconds, with what they have read of CAPTURE by then: the beginning of every thread, whose open
   calls are cut there. 0, which it is at first, sets no limit. */
KYMO_API void kymo_capture_until(struct kymo_capture *capture, kymo_ns until);

struct kymo_averages;

/* Sum up the calls of CAPTURE. Calls are grouped if they have equal callees and equal callers for
   STACK levels up: 0 ignores callers, SIZE_MAX compares all. If FUNCTIONS is false, only spans
   marked by the program are counted, and time in functions counts as the spans' own; functions
   still appear as callers. Returns 0 or a negative code. On success *AVERAGES belongs to the
   caller, who frees it with kymo_averages_free (NULL is fine); kymo_averages_count returns the
   number of groups. */
KYMO_API int kymo_averages_new(struct kymo_capture *capture, kymo_ns from, kymo_ns to, size_t stack,
                               bool functions, struct kymo_averages **averages);
KYMO_API size_t kymo_averages_count(const struct kymo_averages *averages);

/* Was something left out, because there was no time to read it? */
KYMO_API bool kymo_averages_is_cut(const struct kymo_averages *averages);

/* Fill AVERAGE, whose size the caller sets first, with group INDEX. The order is unspecified.
   Returns 0, or -EINVAL past the last. */
KYMO_API int kymo_averages_get(const struct kymo_averages *averages, size_t index,
                               struct kymo_average *average);

/* Fill CALLER, whose size the caller sets first, with the caller LEVEL levels above group INDEX; 0
   is the direct caller. Returns 0, or -ENOENT if there is none or that level was not compared. */
KYMO_API int kymo_averages_caller(const struct kymo_averages *averages, size_t index, size_t level,
                                  struct kymo_callee *caller);
KYMO_API void kymo_averages_free(struct kymo_averages *averages);

/* A call, or the part of one between a resume and a yield. */
struct kymo_call {
    size_t size;
    struct kymo_callee callee; /* its size member need not be set */
    kymo_ns start, end;
    kymo_ns self;
    int64_t parent;  /* index of the calling call, or -1 */
    uint64_t id;     /* generator or coroutine id, or 0 */
    uint32_t thread; /* thread index */
    uint16_t enter;  /* detail of its enter and leave events; see struct kymo_event */
    uint16_t leave;
    uint16_t open;   /* 1: began before FROM, 2: not ended by TO, 3: both */
    uint64_t number; /* which enter of its thread it was, from 1; the same whatever part is read */
    uint32_t from;   /* the line in the caller that it was made from; 0: not recorded */
    uint64_t call;   /* its number among the calls of functions that a Chrome trace of
                        kymograph.profile shows, from 1; 0 for others, or without
                        KYMO_TIMELINE_FUNCTIONS */
};

struct kymo_timeline;

/* What a timeline lists; bits. */
enum kymo_timeline_what {
    KYMO_TIMELINE_FUNCTIONS = 1, /* calls of functions, beside spans and operators */
    KYMO_TIMELINE_WHOLE = 2, /* an operator that does nothing but call another of its name, too */
    KYMO_TIMELINE_FIRST_LINES = 4, /* see kymo_export_options.first_lines */
};

/* List the calls of CAPTURE in order of start time. Without KYMO_TIMELINE_FUNCTIONS in WHAT, list only
   spans marked by the program and operators, as if nothing else had been recorded. An operator that
   does nothing but call another of its name is listed once, unless KYMO_TIMELINE_WHOLE is in it.
   Returns 0 or a negative code. On success
   *TIMELINE belongs to the caller, who frees it with kymo_timeline_free (NULL is fine);
   kymo_timeline_count returns the number of calls. */
KYMO_API int kymo_timeline_new(struct kymo_capture *capture, kymo_ns from, kymo_ns to,
                               unsigned what, struct kymo_timeline **timeline);
KYMO_API size_t kymo_timeline_count(const struct kymo_timeline *timeline);

/* Was something left out, because there was no time to read it? */
KYMO_API bool kymo_timeline_is_cut(const struct kymo_timeline *timeline);

/* Fill CALL, whose size the caller sets first, with call INDEX. Returns 0, or -EINVAL past the
   last. */
KYMO_API int kymo_timeline_get(const struct kymo_timeline *timeline, size_t index,
                               struct kymo_call *call);

/* Fill EVENT, whose size the caller sets first, with the payload "operator.in" of call INDEX, for
   kymo_event_value. It is lent until kymo_timeline_free. Returns 0, -EINVAL past the last call, or
   -ENOENT if the call has none: it is not an operator, or began before FROM. */
KYMO_API int kymo_timeline_operator(const struct kymo_timeline *timeline, size_t index,
                                    struct kymo_event *event);
KYMO_API void kymo_timeline_free(struct kymo_timeline *timeline);

#ifdef __cplusplus
}
#endif
#endif
