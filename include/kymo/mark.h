/* mark.h — marking: let a program say what it is doing.

   Spans, instants, counters, arrows, async spans and their arguments are recorded into the running
   session (record.h). When no session runs, every call here is safe and costs about a nanosecond,
   so marks can stay in the program.

   Names. A `const char *name` is UTF-8, must not be NULL, and must stay unchanged until kymo_stop
   returns: string literals are ideal. Pass a name built at run time through kymo_intern first.

   Threads. Everything here may be called from any thread, inside an allocator and from a signal
   handler; a call that interrupts another on the same thread is dropped and counted. Nothing here
   fails: what cannot be recorded is dropped, counted, and reported by the capture. */
#ifndef KYMO_MARK_H
#define KYMO_MARK_H

#include <kymo/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open span. Plain data: keep it, copy it, pass it to another function; end it once, on the
   thread that began it. All zero when no session ran at its begin. */
struct kymo_span {
    uint32_t key;
    uint32_t session;
};

/* The inline functions below call these while a session runs. */
KYMO_API struct kymo_span kymo__span_begin(const char *name);
KYMO_API void kymo__span_end(struct kymo_span span);
KYMO_API void kymo__instant(const char *name);
KYMO_API void kymo__counter(const char *name, double value);
KYMO_API void kymo__link(const char *name, uint64_t id, int kind);
KYMO_API void kymo__arg_text(const char *name, const char *text);

/* Begin a span called NAME on this thread, inside the spans that are open on it. Returns the span,
   to be passed to kymo_span_end. */
static inline struct kymo_span kymo_span_begin(const char *name)
{
    if (__builtin_expect(kymo_running(), 0))
        return kymo__span_begin(name);
    struct kymo_span off = {0, 0};
    return off;
}

/* End SPAN, on the thread that began it. Does nothing if the session of its begin is over. */
static inline void kymo_span_end(struct kymo_span span)
{
    if (__builtin_expect(span.key != 0, 0))
        kymo__span_end(span);
}

/* Mark this moment on this thread as NAME. */
static inline void kymo_instant(const char *name)
{
    if (__builtin_expect(kymo_running(), 0))
        kymo__instant(name);
}

/* Record that the counter NAME has VALUE from now on. */
static inline void kymo_counter(const char *name, double value)
{
    if (__builtin_expect(kymo_running(), 0))
        kymo__counter(name, value);
}

/* Start an arrow at the span open on this thread. It ends at the span that is open where
   kymo_flow_in is called with the same NAME and ID, on any thread. */
static inline void kymo_flow_out(const char *name, uint64_t id)
{
    if (__builtin_expect(kymo_running(), 0))
        kymo__link(name, id, KYMO_FLOW_OUT);
}

/* End the arrow NAME, ID at the span open on this thread. */
static inline void kymo_flow_in(const char *name, uint64_t id)
{
    if (__builtin_expect(kymo_running(), 0))
        kymo__link(name, id, KYMO_FLOW_IN);
}

/* Begin a span that may end on another thread and overlap others. NAME and ID together identify
   it. */
static inline void kymo_async_begin(const char *name, uint64_t id)
{
    if (__builtin_expect(kymo_running(), 0))
        kymo__link(name, id, KYMO_ASYNC_BEGIN);
}

/* End the async span NAME, ID. */
static inline void kymo_async_end(const char *name, uint64_t id)
{
    if (__builtin_expect(kymo_running(), 0))
        kymo__link(name, id, KYMO_ASYNC_END);
}

/* Attach NAME = VALUE to the event that this thread recorded last: the begin or end of a span, an
   instant, an async span. Call it right after that. An event can have 65535 arguments; more are
   counted as lost. */
static inline void kymo_arg(const char *name, uint64_t value)
{
    if (__builtin_expect(kymo_running(), 0))
        kymo__link(name, value, KYMO_ARG);
}

/* Attach NAME = TEXT in the same way. What the top of this file says about names holds for TEXT
   too; each different text stays in memory until kymo_stop. */
static inline void kymo_arg_text(const char *name, const char *text)
{
    if (__builtin_expect(kymo_running(), 0))
        kymo__arg_text(name, text);
}

/* Return a copy of NAME that lives until kymo_stop returns and may be passed to any marking call;
   equal names give equal pointers. Returns NAME itself when no session runs or memory is short.
   Takes a lock: call it once per name, not once per event. */
KYMO_API const char *kymo_intern(const char *name);

/* Name the calling thread in the capture. NAME is copied. Without it the system's name is used. */
KYMO_API void kymo_thread_name(const char *name);

/* Name this process in the capture. NAME is copied. Without it the system's name is used. */
KYMO_API void kymo_process_name(const char *name);

/* Attach KEY = VALUE to the capture; both are copied. A key given twice keeps its last value. */
KYMO_API void kymo_metadata(const char *key, const char *value);

#ifdef __cplusplus
}
#endif
#endif
