/* source.h — the door through which sources of events enter a session.

   libkymo knows nobody: no Python, no framework, no GPU. Whoever knows one of them
   registers a table of functions here; with none registered the core makes a no-op
   of that kind and every call is safe. Tables begin with their own size, so that a
   table compiled against an older header keeps working: functions it is too short
   to hold count as absent, and any function may be NULL.

   Life of a tracer: register → kymo_start calls create → (stop, restart)* →
   kymo_stop calls stop, then get_events, then destroy. All of these run on the
   thread that called kymo_start or kymo_stop, never two at a time. */
#ifndef KYMO_SOURCE_H
#define KYMO_SOURCE_H

#include <kymo/kymo.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the tracer of one session puts what it sees; lives as long as the session. */
struct kymo_queue;

/* A call as it is noted when it is entered: small, with everything that needs time
   to find out left to get_events. */
struct kymo_compressed {
    uint64_t trace_key; /* the source's own: what was entered, and from where */
    uint64_t tid;       /* system thread id */
    int32_t device;     /* device type and index as the source counts them; -1 none */
    uint32_t resource;  /* stream, queue or lane on the device */
    uint64_t ticks;     /* entry time, raw */
};

/* Note that the calling thread entered TRACE_KEY now. Entries beyond the session's
   bound (a 16th of its memory budget) are dropped and counted. Returns 0,
   -ENOSPC when dropped, or KYMO_EIDLE (negative) outside a session. */
KYMO_API int kymo_queue_enter(struct kymo_queue *queue, uint64_t trace_key, int32_t device,
                              uint32_t resource);

/* From raw ticks to nanoseconds of CLOCK_MONOTONIC. */
struct kymo_converter {
    size_t size;
    kymo_ns (*convert)(const struct kymo_converter *self, uint64_t ticks);
};

/* An event with everything known. */
struct kymo_finished {
    const char *name; /* UTF-8; copied */
    uint64_t tid;
    int32_t device;
    uint32_t resource;
    kymo_ns start, end;
};

/* Takes one finished event; given to get_events by the core. */
typedef void kymo_finish_fn(void *arg, const struct kymo_finished *event);

struct kymo_tracer {
    size_t size; /* sizeof(struct kymo_tracer) */
    const char *name;
    /* Begin tracing into QUEUE. Returns the tracer's state, given to every other
       function, or NULL when it could not begin: the session then runs without. */
    void *(*create)(void *user, struct kymo_queue *queue);
    /* Stop tracing; begin again after a stop, on the same queue. */
    void (*stop)(void *state);
    void (*restart)(void *state);
    /* From now on record garbage collections too. */
    void (*register_gc_callback)(void *state);
    /* Turn ENTERS, in the order of time, into finished events: call FINISH for each.
       What has no end yet ends at END. Returns how many, or a negative code. */
    int64_t (*get_events)(void *state, const struct kymo_converter *converter,
                          const struct kymo_compressed *enters, size_t count, kymo_ns end,
                          kymo_finish_fn *finish, void *arg);
    void (*destroy)(void *state);
};

/* Register TRACER, which must live until it is unregistered; USER goes to create.
   It takes part from the next kymo_start on. Returns 0, -EINVAL for a table without
   size or name, KYMO_EREGISTERED when there is one already. */
KYMO_API int kymo_tracer_register(const struct kymo_tracer *tracer, void *user);

/* Take TRACER back. Returns 0, KYMO_ENOTREGISTERED, or KYMO_ERUNNING while a session
   uses it. */
KYMO_API int kymo_tracer_unregister(const struct kymo_tracer *tracer);

/* Drive the running session's tracer, be it a registered one or the no-op; samples pause with
   it. They return 0 or KYMO_EIDLE. Pausing twice or resuming when not paused does nothing. */
KYMO_API int kymo_tracer_pause(void);
KYMO_API int kymo_tracer_resume(void);
KYMO_API int kymo_tracer_gc_callback(void);

/* The name of the tracer the next session will have; "none" for the no-op. */
KYMO_API const char *kymo_tracer_name(void);

struct kymo_memory_tracer {
    size_t size; /* sizeof(struct kymo_memory_tracer) */
    const char *name;
    int (*start)(void *user);
    int (*stop)(void *user);
    int (*export_memory_history)(void *user, const char *path);
};

/* As for tracers; there is no link to a session. */
KYMO_API int kymo_memory_tracer_register(const struct kymo_memory_tracer *tracer, void *user);
KYMO_API int kymo_memory_tracer_unregister(const struct kymo_memory_tracer *tracer);

/* Drive the registered memory tracer. With none registered they do nothing and
   return 0: no file is written by the export. */
KYMO_API int kymo_memory_start(void);
KYMO_API int kymo_memory_stop(void);
KYMO_API int kymo_memory_export(const char *path);
KYMO_API const char *kymo_memory_tracer_name(void);

#ifdef __cplusplus
}
#endif
#endif
