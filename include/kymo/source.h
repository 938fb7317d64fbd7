/* source.h — the door through which sources of events take part in a session.

   libkymo knows no interpreter, no framework and no GPU. Whoever knows one registers a *source*: a
   table of functions with a name. A process may have many sources, each with its own state, and
   each can be switched on or off by name for a session (kymo_options.sources). With none
   registered everything works and records only what the program marks.

   There are three kinds. A plain source (struct kymo_source) sees the life of the session and of
   forks. A tracer (struct kymo_tracer) hands over compressed entries and turns them into finished
   events at the end. A memory tracer (struct kymo_memory_tracer) has no part in a session unless it
   is switched on for it. There can be any number of plain sources and one of each other kind.

   The life of a session, and in which order sources learn of it:

     kymo_start    start, in order of registration. Recording is possible already.
     kymo_pause    pause, in reverse order; kymo_resume: resume, in order.
     kymo_writer_rest
                   rest, in reverse order; kymo_writer_work: work, in order.
     fork          fork_prepare, in reverse order, before the fork; then fork_parent in the parent
                   and fork_child in the child, in order. A child has no session.
     kymo_stop     stop, in reverse order, while recording is still possible. Then recording is
                   switched off and calls in progress on other threads finish. Then end, in
                   reverse order: the last chance to write late events, and to free the state.

   Threads. start, pause, resume, stop, end, rest and work run on the thread that called the
   function above, never two at a time, while the library holds its session lock: they may record,
   but must not call kymo_start, kymo_stop, kymo_pause, kymo_resume or the register functions. The
   functions for forks run on the thread that forks and may call nothing of this library.

   Every struct that crosses the door begins with its own size, so that it can grow: members
   that a caller's older version lacks count as zero or NULL, and any function may be NULL. */
#ifndef KYMO_SOURCE_H
#define KYMO_SOURCE_H

#include <kymo/kymo.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------ sources --- */

/* What a source learns about the session that starts. Lent until start returns. */
struct kymo_source_session {
    size_t size;
    uint32_t number;       /* of the session in this process, never 0 */
    uint64_t budget_bytes; /* of records held in memory, as it was granted */
    const char *path;      /* of the capture; NULL, and no budget: it joins a running session */
    const void *options;   /* the source's own from kymo_options.source_options, or NULL */
};

/* Bits of kymo_source.flags. */
enum kymo_source_flag {
    KYMO_SOURCE_OFF = 1, /* takes part only when it is switched on by name */
};

struct kymo_source {
    size_t size; /* sizeof(struct kymo_source) */
    const char
        *name;      /* what users switch it by, compared without regard to case; not empty, without
                         '*', ',', '=' or spaces around it */
    uint32_t flags; /* enum kymo_source_flag */
    /* Begin to record. Store in *STATE what every other function gets. Returns 0, or a negative
       code: the session then runs without this source, nothing else of it is called, and the
       capture's metadata has the reason as "source NAME". */
    int (*start)(void *user, const struct kymo_source_session *session, void **state);
    void (*pause)(void *state);
    void (*resume)(void *state);
    /* Stop recording. Not preceded by resume if the session is paused. */
    void (*stop)(void *state);
    /* The session ends. STATE is not used again. */
    void (*end)(void *state);
    void (*fork_prepare)(void *state);
    void (*fork_parent)(void *state);
    /* The child has no session, and none of the parent's threads but this one. STATE is not used
       again, and end is not called. If the child was made without running fork handlers (a raw
       clone), this runs in the child's first kymo_start. */
    void (*fork_child)(void *state);
    /* End the source's own threads, and start them again; either may be called several times in a
       row. */
    void (*rest)(void *state);
    void (*work)(void *state);
    /* From now on record garbage collections too; also called while paused. Like pause, it runs on
       the thread that called kymo_tracer_gc_callback. */
    void (*collections)(void *state);
};

/* Register SOURCE, which must stay valid until it is unregistered; USER is passed to start. It
   takes part from the next kymo_start on. Returns 0, -EINVAL for a table without size or with an
   unsuitable name, KYMO_EREGISTERED if the table, or another source of that name, is registered
   already, or -ENOSPC when there are 32. Any thread. */
KYMO_API int kymo_source_register(const struct kymo_source *source, void *user);

/* Remove SOURCE. Returns 0, KYMO_ENOTREGISTERED, or KYMO_ERUNNING while a session uses it. Any
   thread. */
KYMO_API int kymo_source_unregister(const struct kymo_source *source);

/* Let the source NAME, which takes no part in the running session, join it; its start gets OPTIONS.
   Returns 0, what its start returned, KYMO_EIDLE if no session runs, KYMO_ESOURCE if none has that
   name, KYMO_ERUNNING if it takes part already, or -EALREADY if it did and has been stopped. Any
   thread; not from a function of a source. */
KYMO_API int kymo_source_start(const char *name, const void *options);

/* Stop the source NAME before the session ends; its `end` is called when that does. Returns 0, or
   KYMO_EIDLE if it does not take part or has been stopped. Any thread; not from a function of a
   source. */
KYMO_API int kymo_source_stop(const char *name);

/* A registered source of any kind. */
struct kymo_source_info {
    size_t size;
    const char *name; /* lent until it is unregistered */
    uint32_t flags;   /* enum kymo_source_flag */
    int active;       /* 1: takes part in the running session */
};

/* Fill INFO (set its size first) with source INDEX, in order of registration. Returns 0, or -ENOENT
   past the last. Any thread. */
KYMO_API int kymo_source_at(unsigned index, struct kymo_source_info *info);

/* Check SOURCES, a list as in kymo_options.sources, against what is registered now. Returns 0 or
   KYMO_ESOURCE; then the SIZE bytes at WHY hold one line that says what is wrong and lists the
   registered names. WHY may be NULL when SIZE is 0. Any thread. */
KYMO_API int kymo_sources_check(const char *sources, char *why, size_t size);

/* Pause the running session: its sources and its samples. What the program marks itself is still
   recorded. Resume them. Both return 0, also when there is nothing to do, or KYMO_EIDLE. Any
   thread. */
KYMO_API int kymo_pause(void);
KYMO_API int kymo_resume(void);

/* ------------------------------------------------------------ tracers --- */

/* Where the tracer of one session puts what it sees; lives as long as the session. */
struct kymo_queue;

/* A call as it is noted when it is entered: small, with everything that takes time to find out left
   to get_events. */
struct kymo_compressed {
    size_t size;        /* also the distance to the next entry; see kymo_compressed_at */
    uint64_t trace_key; /* the source's own: what was entered, and from where */
    uint64_t tid;       /* system thread id */
    int32_t device;     /* device type and index as the source counts them; -1 none */
    uint32_t resource;  /* stream, queue or lane on the device */
    uint64_t ticks;     /* entry time, raw */
};

/* Entry INDEX of the array ENTRIES, which a newer library may have made of larger entries. */
static inline const struct kymo_compressed *
kymo_compressed_at(const struct kymo_compressed *entries, size_t index)
{
    return (const struct kymo_compressed *)((const char *)entries + index * entries->size);
}

/* Note that the calling thread entered TRACE_KEY now. Entries beyond the session's bound (a 16th of
   its memory budget) are dropped and counted. Returns 0, -ENOSPC when dropped, or KYMO_EIDLE
   outside a session. Any thread; takes no lock. */
KYMO_API int kymo_queue_enter(struct kymo_queue *queue, uint64_t trace_key, int32_t device,
                              uint32_t resource);

/* From raw ticks to nanoseconds of CLOCK_MONOTONIC. */
struct kymo_converter {
    size_t size;
    kymo_ns (*convert)(const struct kymo_converter *self, uint64_t ticks);
};

/* An event with everything known. */
struct kymo_finished {
    size_t size;      /* sizeof(struct kymo_finished) */
    const char *name; /* UTF-8; copied */
    uint64_t tid;
    int32_t device;
    uint32_t resource;
    kymo_ns start, end;
};

/* Takes one finished event; passed to get_events by the library. */
typedef void kymo_finish_fn(void *arg, const struct kymo_finished *event);

/* A source of the tracer kind. Its life: create is called where other sources are started; stop
   on pause and at kymo_stop, unless it is paused already; restart on resume; get_events and then
   destroy when the session ends. */
struct kymo_tracer {
    size_t size; /* sizeof(struct kymo_tracer) */
    const char *name;
    /* Begin tracing into QUEUE. Returns the tracer's state, passed to every other function, or NULL
       when it could not begin: the session then runs without it. */
    void *(*create)(void *user, struct kymo_queue *queue);
    /* Stop tracing; begin again after a stop, on the same queue. */
    void (*stop)(void *state);
    void (*restart)(void *state);
    /* From now on record garbage collections too. */
    void (*register_gc_callback)(void *state);
    /* Turn ENTERS, in order of time, into finished events: call FINISH for each. What has no end
       yet ends at END. Returns how many, or a negative code. */
    int64_t (*get_events)(void *state, const struct kymo_converter *converter,
                          const struct kymo_compressed *enters, size_t count, kymo_ns end,
                          kymo_finish_fn *finish, void *arg);
    void (*destroy)(void *state);
};

/* Register TRACER, which must stay valid until it is unregistered; USER is passed to create. It
   takes part from the next kymo_start on. Returns 0, -EINVAL for a table without size or with an
   unsuitable name, or KYMO_EREGISTERED when there is a tracer, or a source of that name,
   already. */
KYMO_API int kymo_tracer_register(const struct kymo_tracer *tracer, void *user);

/* Remove TRACER. Returns 0, KYMO_ENOTREGISTERED, or KYMO_ERUNNING while a session uses it. */
KYMO_API int kymo_tracer_unregister(const struct kymo_tracer *tracer);

/* The same as kymo_pause and kymo_resume. */
KYMO_API int kymo_tracer_pause(void);
KYMO_API int kymo_tracer_resume(void);

/* Let the running session's tracer and sources record garbage collections, if they can. Returns 0,
   also if there are none, or KYMO_EIDLE. */
KYMO_API int kymo_tracer_gc_callback(void);

/* The name of the registered tracer; "none" when there is none. */
KYMO_API const char *kymo_tracer_name(void);

/* ----------------------------------------------------- memory tracers --- */

/* A source of the memory kind. It is driven by the functions below, with or without a session. If
   it is switched on by name for a session, start is called with the other sources' start and stop
   with their stop; neither may then start or stop a session. */
struct kymo_memory_tracer {
    size_t size; /* sizeof(struct kymo_memory_tracer) */
    const char *name;
    int (*start)(void *user);
    int (*stop)(void *user);
    int (*export_memory_history)(void *user, const char *path);
    /* How it takes part in a session that switches it on, in place of start and stop; or NULL. Its
       name and flags do not matter. */
    const struct kymo_source *source;
};

/* Register and remove one, as for tracers. */
KYMO_API int kymo_memory_tracer_register(const struct kymo_memory_tracer *tracer, void *user);
KYMO_API int kymo_memory_tracer_unregister(const struct kymo_memory_tracer *tracer);

/* Drive the registered memory tracer and return what it returns. With none registered they do
   nothing and return 0; export then writes no file. While a session runs, the library's own tracer
   joins it, and stop ends its part in it; export needs a recording without a session, and replaces only what kymo_export_check and
   kymo_capture_check (for .kymo) allow. */
KYMO_API int kymo_memory_start(void);
KYMO_API int kymo_memory_stop(void);
KYMO_API int kymo_memory_export(const char *path);
KYMO_API const char *kymo_memory_tracer_name(void);

#ifdef __cplusplus
}
#endif
#endif
