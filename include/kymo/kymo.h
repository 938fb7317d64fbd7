/* kymo.h — the C API of kymograph: record what a program does, and read it back.

   Recording is one session per process. Between kymo_start and kymo_stop, any
   thread may mark spans, instants, counters, flows and async spans; they go to
   a capture file (`.kymo`) that opens even if the process is killed. When no
   session runs every marking call is safe and costs about a nanosecond.

   Names. A `const char *name` given to a marking call is UTF-8, must not be NULL
   and must stay unchanged until kymo_stop returns: string literals are ideal.
   Pass a name built at run time through kymo_intern first.

   Threads. Every function may be called from any thread, but not from a signal
   handler; a marking call that interrupts another on the same thread is dropped
   and counted.

   Errors. Functions that can fail return 0 or a count, or a negative code: a
   negative errno or one of enum kymo_error. kymo_strerror explains both.

   The header may be included from C11 and C++. */
#ifndef KYMO_KYMO_H
#define KYMO_KYMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KYMO_API __attribute__((visibility("default")))

/* Nanoseconds. A point in time is CLOCK_MONOTONIC's unless it says otherwise. */
typedef int64_t kymo_ns;

/* Every code of our own: name, number, message. Numbers never change meaning. */
#define KYMO_ERROR_MAP(X)                                                                          \
    X(KYMO_ENOTCAPTURE, 4000, "not a kymograph capture")                                           \
    X(KYMO_ENEWER, 4001,                                                                           \
      "the capture was written by a newer kymograph; update kymograph to read it")                 \
    X(KYMO_EDAMAGED, 4002, "the capture's header is damaged")                                      \
    X(KYMO_ERUNNING, 4003, "a session is already running in this process; stop it first")          \
    X(KYMO_EIDLE, 4004, "no session is running")                                                   \
    X(KYMO_EOCCUPIED, 4005, "the file exists and is not a kymograph capture; it was left alone")   \
    X(KYMO_EBUSYFILE, 4006, "another process is recording into this file")                         \
    X(KYMO_EREGISTERED, 4007, "a source of this kind is already registered")                       \
    X(KYMO_ENOTREGISTERED, 4008, "this source is not registered")                                  \
    X(KYMO_EMPTYFILE, 4009, "the file is empty: nothing was recorded into it")                     \
    X(KYMO_EBLOCK, 4010, "a block of the capture is damaged")                                      \
    X(KYMO_EFORMAT, 4011, "there is no such export format")                                        \
    X(KYMO_ENOTFLIGHT, 4012, "the running session is not a flight recorder")                       \
    X(KYMO_ESIGNALS, 4013, "no signal is free to take samples with: the program handles all")      \
    X(KYMO_ENOTSTACKS, 4014, "not a dump of stacks")

enum kymo_error {
#define KYMO_ERROR_ENUM(name, number, text) name = number,
    KYMO_ERROR_MAP(KYMO_ERROR_ENUM)
#undef KYMO_ERROR_ENUM
};

/* The version of the library, "0.1.0". */
KYMO_API const char *kymo_version(void);

/* The message for CODE, a negative return value of any function here. Never
   NULL; the text is static or belongs to the calling thread until its next call. */
KYMO_API const char *kymo_strerror(int code);

/* ------------------------------------------------------------ sessions --- */

/* What a recording thread does when the memory budget is used up. */
enum kymo_policy {
    KYMO_HELP = 0, /* it encodes and writes one chunk itself: nothing is lost */
    KYMO_DROP = 1, /* it drops records; each is counted and the gap is recorded */
};

struct kymo_options {
    size_t size;      /* sizeof(struct kymo_options): lets the struct grow */
    const char *path; /* the capture to write; copied */
    uint64_t budget;  /* bytes of records held in memory; 0 means 64 MiB, at least 1 MiB */
    int policy;       /* enum kymo_policy */
    int level;        /* zstd level, 1 to 19; 0 means 1 */
    int clock;        /* 0: the counter register where it is sound; 1: CLOCK_MONOTONIC */
    /* One or both not 0: a flight recorder. Records are kept in memory, and the last of them
       are written when kymo_flight_write asks for them, and at the end; older ones expire. */
    uint64_t flight_bytes; /* memory for them, packed; 0 means 64 MiB when flight_ns is given */
    kymo_ns flight_ns;     /* what is older than this expires; 0: only flight_bytes counts */
    kymo_ns slow_ns;       /* not 0: it is also written when a call or span has taken so long,
                              at most a tenth of a second after its end */
    /* Not 0: the stack of every thread is sampled so many times a second, at most 10000, by a
       timer and a signal of its own (docs/sampling.md). */
    uint32_t sample_hz;
    int sample_clock; /* enum kymo_sampled: seconds of the time a thread has run, or of all time */
    const char *sample_root; /* NULL, or a file of an interpreter's program: its functions, and
                                those that called them, are left out of samples. Copied */
};

/* Start recording into OPTIONS->path. An older capture at that path is replaced;
   any other file there is left alone (KYMO_EOCCUPIED). Returns 0, KYMO_ERUNNING,
   KYMO_EBUSYFILE, KYMO_ESIGNALS, or the errno of what failed; on failure nothing is left behind.
   A child made by fork does not record, whatever its parent does, until it calls
   kymo_start itself.
   A flight recorder needs flight_bytes of memory on top of the budget. If its process is
   killed, what is in the budget's memory is recovered as ever, but records that had moved
   on to flight_bytes are gone, and counted. */
KYMO_API int kymo_start(const struct kymo_options *options);

/* Stop recording: wait for calls in progress on other threads, write what is
   left, close the file. No thread of kymograph's remains afterwards. Returns 0,
   KYMO_EIDLE when nothing runs, or the errno of the first write that failed (the
   capture still opens, and tells what is missing). Runs by itself at exit. */
KYMO_API int kymo_stop(void);

/* For a program that is to have no threads but its own for a moment, while it forks for
   instance: end the thread with which kymograph writes, and that of samples, and start them again.
   What is recorded meanwhile is kept in the budget's memory; when that is used up the policy
   holds, and kymo_stop works as ever. Samples go on; threads that begin meanwhile have none. Rest does nothing when nothing runs; work returns 0, also when
   it was not needed, KYMO_EIDLE, or the errno of what failed, and may be tried again. */
KYMO_API void kymo_writer_rest(void);
KYMO_API int kymo_writer_work(void);

/* Write what a flight recorder keeps, and what the budget's memory still holds, up to this
   moment, which is marked on the calling thread as "kymograph flight: WHY"; then go on with
   nothing kept. Nothing is ever written twice. WHY is UTF-8 and copied; NULL is "". The
   work is done by kymograph's own thread, and the caller waits for it. Returns 0, KYMO_EIDLE,
   KYMO_ENOTFLIGHT, ENOMEM, or the errno of the write that failed: what could not be written
   is still kept, and may be tried again. */
KYMO_API int kymo_flight_write(const char *why);

/* Ask kymograph's thread to do the same soon; WHY is then "signal" and the mark is on that
   thread. Requests that come before it does are one. Does nothing when no flight recorder
   runs. May be called from a signal handler. */
KYMO_API void kymo_flight_request(void);

/* Until kymo_stop, let signal NUMBER do the same. With END not 0 the process then ends by
   the signal, as it would have done without a handler; otherwise it goes on. A program that
   installs its own handler later has it. Returns 0, KYMO_EIDLE, KYMO_ENOTFLIGHT, EBUSY when
   the program handles or ignores that signal, or EINVAL when none can. */
KYMO_API int kymo_flight_on_signal(int number, int end);

/* What the running session has done so far. */
struct kymo_stats {
    size_t size;
    uint64_t written_bytes;   /* in the capture file */
    uint64_t written_records; /* encoded and in the file */
    uint64_t dropped_records; /* given up for want of memory or disk */
    uint64_t helped_chunks;   /* written by recording threads themselves */
    uint64_t threads;         /* that recorded anything */
    uint64_t budget_bytes;    /* of chunk memory at most */
    uint64_t pool_bytes;      /* of chunk memory in use so far */
    int error;                /* first failure of a write: negative errno, or 0 */
    uint64_t expired_records; /* that a flight recorder keeps no longer */
};

/* Fill STATS (set its size first). Returns 0 or KYMO_EIDLE. */
KYMO_API int kymo_stats(struct kymo_stats *stats);

/* The same, but EBUSY where kymo_stats would wait: for a session that starts or stops, or a
   write. */
KYMO_API int kymo_stats_at_once(struct kymo_stats *stats);

/* For the inline functions: where the number of the running session stands, 0 when
   none runs. Its page is wiped in a forked child, so that no child ever records by
   accident. */
KYMO_API extern const uint32_t *kymo__switch;

/* True while a session runs in this process. */
static inline bool kymo_running(void)
{
    return __atomic_load_n(kymo__switch, __ATOMIC_RELAXED) != 0;
}

/* ------------------------------------------------------------- marking --- */

/* An open span. Plain data: keep it, copy it, pass it to another function; end it
   once, on the thread that began it. All zero when no session ran at its begin. */
struct kymo_span {
    uint32_t key;
    uint32_t session;
};

KYMO_API struct kymo_span kymo__span_begin(const char *name);
KYMO_API void kymo__span_end(struct kymo_span span);
KYMO_API void kymo__instant(const char *name);
KYMO_API void kymo__counter(const char *name, double value);
KYMO_API void kymo__link(const char *name, uint64_t id, int kind);
KYMO_API void kymo__arg_text(const char *name, const char *text);

/* Begin a span called NAME on this thread, inside the spans open on it. */
static inline struct kymo_span kymo_span_begin(const char *name)
{
    if (__builtin_expect(kymo_running(), 0))
        return kymo__span_begin(name);
    struct kymo_span off = {0, 0};
    return off;
}

/* End SPAN. Does nothing if the session of its begin is over. */
static inline void kymo_span_end(struct kymo_span span)
{
    if (__builtin_expect(span.key != 0, 0))
        kymo__span_end(span);
}

/* Mark this moment. */
static inline void kymo_instant(const char *name)
{
    if (__builtin_expect(kymo_running(), 0))
        kymo__instant(name);
}

/* Record that NAME has VALUE from now on. */
static inline void kymo_counter(const char *name, double value)
{
    if (__builtin_expect(kymo_running(), 0))
        kymo__counter(name, value);
}

/* What happened, in a capture and in the calls above. */
enum kymo_kind {
    KYMO_ENTER = 1,       /* a span or call begins */
    KYMO_LEAVE = 2,       /* it ends */
    KYMO_INSTANT = 3,     /* a moment */
    KYMO_COUNTER = 4,     /* value: the new value */
    KYMO_FLOW_OUT = 5,    /* id: an arrow starts at the span open here */
    KYMO_FLOW_IN = 6,     /* id: it ends at the span open here */
    KYMO_ASYNC_BEGIN = 7, /* id: a span that belongs to no thread begins */
    KYMO_ASYNC_END = 8,   /* id: it ends */
    KYMO_GAP = 9,         /* id: how many records are missing; detail: enum kymo_gap */
    KYMO_COMPLETE = 10,   /* id: duration in nanoseconds of a finished event */
    KYMO_ARG = 11,        /* id: a number that belongs to the event before on its thread */
    KYMO_OFF = 12,        /* id: calls until then. Not recorded from here on, to keep to the
                             overhead budget; detail 0: the function, 1: one place calling it */
    KYMO_RESYNC = 13,     /* id: tick at which tracing was paused. Calls open then have ended
                             unseen; those that are open now follow, entered with detail 3 */
    KYMO_SAMPLE = 14,     /* id: low half the stack, see kymo_capture_stack, high half how many
                             periods it stands for; detail: enum kymo_sampled */
    KYMO_ARG_TEXT = 15,   /* id: a key. Its name is a text that belongs to the event before */
};

/* What the periods of samples are measured by. */
enum kymo_sampled {
    KYMO_SAMPLED_CPU = 0,  /* time that the thread has run */
    KYMO_SAMPLED_WALL = 1, /* time that has passed */
};

/* An arrow from the span open on this thread to the one open where kymo_flow_in is
   called with the same NAME and ID. */
static inline void kymo_flow_out(const char *name, uint64_t id)
{
    if (__builtin_expect(kymo_running(), 0))
        kymo__link(name, id, KYMO_FLOW_OUT);
}

static inline void kymo_flow_in(const char *name, uint64_t id)
{
    if (__builtin_expect(kymo_running(), 0))
        kymo__link(name, id, KYMO_FLOW_IN);
}

/* A span that may begin on one thread and end on another and overlap others. NAME
   and ID together identify it. */
static inline void kymo_async_begin(const char *name, uint64_t id)
{
    if (__builtin_expect(kymo_running(), 0))
        kymo__link(name, id, KYMO_ASYNC_BEGIN);
}

static inline void kymo_async_end(const char *name, uint64_t id)
{
    if (__builtin_expect(kymo_running(), 0))
        kymo__link(name, id, KYMO_ASYNC_END);
}

/* Attach NAME = VALUE, or NAME = TEXT, to what this thread recorded last: the begin or end of a
   span, an instant, an async span. Call it right after that; each can have 64 of them. What
   the top of this file says about names holds for TEXT too, and each different one is kept in
   memory until kymo_stop. */
static inline void kymo_arg(const char *name, uint64_t value)
{
    if (__builtin_expect(kymo_running(), 0))
        kymo__link(name, value, KYMO_ARG);
}

static inline void kymo_arg_text(const char *name, const char *text)
{
    if (__builtin_expect(kymo_running(), 0))
        kymo__arg_text(name, text);
}

/* A copy of NAME that lives until kymo_stop returns and may be given to any
   marking call; equal names give equal pointers. NAME itself when no session
   runs or memory is short. Takes a lock: call it once per name, not per event. */
KYMO_API const char *kymo_intern(const char *name);

/* Name this thread, this process. NAME is copied. Without them the names the
   system knows are used. */
KYMO_API void kymo_thread_name(const char *name);
KYMO_API void kymo_process_name(const char *name);

/* Attach KEY = VALUE to the capture; both are copied. A key given twice keeps its
   last value. */
KYMO_API void kymo_metadata(const char *key, const char *value);

/* ------------------------------------------------------------- reading --- */

/* An opened capture. Reading never changes the file. One thread at a time may use
   a capture and its cursors. */
struct kymo_capture;

/* Open the capture at PATH, which may still be recorded into or be left over from
   a killed process. On success *CAPTURE is to be closed. Errors: KYMO_ENOTCAPTURE,
   KYMO_ENEWER, KYMO_EDAMAGED, KYMO_EMPTYFILE, or an errno. */
KYMO_API int kymo_open(const char *path, struct kymo_capture **capture);
KYMO_API void kymo_close(struct kymo_capture *capture);

/* How a recording ended. */
enum kymo_ending {
    KYMO_ENDED_CLEAN = 0,   /* stopped; complete */
    KYMO_ENDED_RUNNING = 1, /* its process is still recording */
    KYMO_ENDED_KILLED = 2,  /* the process died before stop */
    KYMO_ENDED_FAILED = 3,  /* writing failed; see info.error */
};

enum kymo_clock {
    KYMO_CLOCK_TSC = 1,       /* x86_64 time-stamp counter */
    KYMO_CLOCK_CNTVCT = 2,    /* aarch64 virtual counter */
    KYMO_CLOCK_MONOTONIC = 3, /* clock_gettime */
};

struct kymo_info {
    size_t size;
    int version_major, version_minor; /* of the file format */
    int ending;                       /* enum kymo_ending */
    int error; /* negative errno of the recorder's first failed write, or 0 */
    int clock; /* enum kymo_clock */
    double ticks_per_second;
    uint64_t snapshots; /* clock readings (ticks, monotonic, wall) in the capture */
    int64_t pid;
    kymo_ns start, end;         /* monotonic time of the first and the last record */
    int64_t wall_start;         /* nanoseconds since 1970 at `start` */
    uint64_t file_bytes;        /* of the capture file */
    uint64_t live_bytes;        /* of the live file beside it, 0 when there is none */
    uint64_t threads;           /* that recorded */
    uint64_t records;           /* events, in the file and the live file together */
    uint64_t recovered_records; /* of those, only in the live file */
    uint64_t gaps;              /* times at which records were given up; expiry is none */
    uint64_t lost_records;      /* records given up in those gaps */
    uint64_t damaged_blocks;    /* that cannot be read, as far as has been noticed */
    uint64_t damaged_bytes;     /* of the file that belong to no readable block */
    int indexed;                /* 1: the index was there, 0: rebuilt by scanning */
    uint64_t expired_records;   /* that a flight recorder kept no longer; and if it was killed or
                                   still runs, those that only its memory had */
    uint64_t processes;         /* whose threads are in it: 1 unless captures were merged */
    uint64_t stacks;            /* different ones, of samples and whatever else has one */
    uint64_t samples;           /* of the records; counted by reading them when it is first asked
                                   for, unless nothing was sampled */
};

/* Fill INFO (set its size first). */
KYMO_API int kymo_capture_info(const struct kymo_capture *capture, struct kymo_info *info);

/* Read every block, so that kymo_capture_info knows of all damage. Returns how many
   blocks are damaged, or a negative code. Takes as long as reading everything. */
KYMO_API int64_t kymo_capture_verify(struct kymo_capture *capture);

struct kymo_thread_info {
    size_t size;
    uint32_t index;      /* 0 to info.threads - 1, in order of appearance */
    int64_t tid;         /* the system's */
    const char *name;    /* "" when it has none; lent until kymo_close */
    uint64_t records;    /* read or readable */
    uint64_t lost;       /* given up; expired ones are not */
    kymo_ns first, last; /* time of its first and last record; 0 when it has none */
    uint32_t process;    /* index of its process, for kymo_capture_process */
    int64_t pid;         /* of that process */
};

/* Fill THREAD (set its size first) with thread INDEX. Returns 0 or -EINVAL. */
KYMO_API int kymo_capture_thread(const struct kymo_capture *capture, uint32_t index,
                                 struct kymo_thread_info *thread);

struct kymo_process_info {
    size_t size;
    uint32_t index;      /* 0 to info.processes - 1 */
    int64_t pid;         /* processes of several machines may have the same */
    const char *name;    /* "" when it has none; lent until kymo_close, as is the next */
    const char *machine; /* the host it ran on, "" when that is not known */
};

/* Fill PROCESS (set its size first) with process INDEX. Returns 0 or -EINVAL. */
KYMO_API int kymo_capture_process(const struct kymo_capture *capture, uint32_t index,
                                  struct kymo_process_info *process);

/* The key and the value of metadata entry INDEX, lent until kymo_close. Returns 0,
   or -ENOENT past the last. */
KYMO_API int kymo_capture_metadata(const struct kymo_capture *capture, uint32_t index,
                                   const char **key, const char **value);

/* Clock reading INDEX as recorded. Returns 0, or -ENOENT past the last. */
KYMO_API int kymo_capture_snapshot(const struct kymo_capture *capture, uint64_t index,
                                   uint64_t *ticks, int64_t *monotonic, int64_t *wall);

/* What a frame of a stack is. */
enum kymo_frame_kind {
    KYMO_FRAME_UNKNOWN = 0, /* the file, damaged or cut short, does not say */
    KYMO_FRAME_NATIVE = 1,  /* of C, C++, …: an address */
    KYMO_FRAME_MANAGED = 2, /* of an interpreter: a function and a line */
};

/* A frame as it was captured. Texts are "" when there is none, and lent until kymo_close. */
struct kymo_stack_frame {
    uint32_t kind;        /* enum kymo_frame_kind */
    uint32_t module;      /* native: number for kymo_capture_module, from 1; 0: in none */
    const char *path;     /* native: of the file that its code is from */
    const char *build_id; /* native: of that file, in hex */
    uint64_t address;     /* native: where it returns to, in that file's terms, or in those of
                              the process when it is in none: the call lies before it */
    const char *name;     /* managed: of its function, and where that is */
    const char *file;     /* managed */
    uint32_t line;        /* managed: the one that ran, 0 when it is not known */
    uint32_t first_line;  /* managed: of the function */
};

/* The first COUNT frames of stack STACK, innermost first, into FRAMES. Returns how many it has,
   whatever COUNT is; a stack that the file does not define has one that is unknown. */
KYMO_API size_t kymo_capture_stack(const struct kymo_capture *capture, uint32_t stack,
                                   struct kymo_stack_frame *frames, size_t count);

/* The number of stack INDEX, of info.stacks, as records have it. Returns 0, or -ENOENT past the
   last. */
KYMO_API int kymo_capture_stack_at(const struct kymo_capture *capture, uint64_t index,
                                   uint32_t *stack);

struct kymo_capture_module {
    size_t size;
    const char *path, *build_id;
    uint64_t base, low, high; /* in the recorded process; its code is from low up to high */
};

/* Fill MODULE (set its size first) with module NUMBER, from 1 on. 0, or -ENOENT past the last. */
KYMO_API int kymo_capture_module_at(const struct kymo_capture *capture, uint32_t number,
                                    struct kymo_capture_module *module);

/* Names for the native frames of CAPTURE's stacks, found in one go; see symbol.h, whose enum
   kymo_symbol_mode MODE is of. Free them before the capture is closed. Returns 0 or -ENOMEM. */
struct kymo_stack_names;
KYMO_API int kymo_stack_names_new(struct kymo_capture *capture, int mode,
                                  struct kymo_stack_names **names);
KYMO_API void kymo_stack_names_free(struct kymo_stack_names *names);

/* A function that was running. The texts are lent until kymo_stack_names_free. */
struct kymo_named_frame {
    uint32_t kind;       /* enum kymo_frame_kind */
    uint32_t inlined;    /* 1: native, and inlined into the next one */
    const char *name;    /* never "": "(unknown)", or "[libm.so.6]" when only the file is known */
    const char *file;    /* of the source; "" when it is not known */
    uint32_t line;       /* the one that ran, 0 when it is not known */
    uint32_t first_line; /* managed: of the function */
    const char *module;  /* native: path of the file that its code is from; "" when there is none */
    const char *build_id; /* native: of that file, in hex; "" when it has none */
    uint64_t address;     /* native: as in struct kymo_stack_frame */
};

/* The first COUNT functions of stack STACK, innermost first, into FRAMES, those that were
   inlined too. Returns how many there are, whatever COUNT is. */
KYMO_API size_t kymo_stack_named(const struct kymo_stack_names *names, uint32_t stack,
                                 struct kymo_named_frame *frames, size_t count);

/* Why records are missing. */
enum kymo_gap {
    KYMO_GAP_BUDGET = 1,  /* the memory budget was used up */
    KYMO_GAP_DISK = 2,    /* the file could not be written */
    KYMO_GAP_NESTED = 3,  /* a marking call interrupted another one */
    KYMO_GAP_DAMAGED = 4, /* a block of the file is damaged */
    KYMO_GAP_FLIGHT = 5,  /* older than the flight recorder keeps: expired, not lost */
};

struct kymo_event {
    size_t size;
    kymo_ns time;     /* monotonic */
    uint64_t ticks;   /* as recorded */
    uint32_t thread;  /* index */
    uint16_t kind;    /* enum kymo_kind */
    uint16_t detail;  /* enter: 0 call, 1 resume, 2 throw, 3 already open at start;
                         leave: 0 return, 1 yield, 2 unwind; gap: enum kymo_gap */
    uint32_t key;     /* names with equal keys are equal; 0 when there is none */
    uint32_t class_;  /* enum kymo_class of lane.h: what the key stands for */
    uint32_t line;    /* first line of a function, or 0 */
    const char *name; /* UTF-8; "" when there is none, "(unknown)" when the damaged file does
                         not say; lent until kymo_close */
    const char *file; /* of a function, or "" */
    uint64_t id;      /* flow, async: its id; gap: records missing; complete: duration; arg: the
                         number; arg text: key of the text;
                         enter of a generator's or coroutine's slice: which one, else 0 */
    double value;     /* counter */
    const char *text; /* arg text: the text; else "". As name is */
};

/* Which events a cursor gives. */
struct kymo_window {
    size_t size;
    kymo_ns from, to; /* from <= time < to; 0 and INT64_MAX for everything */
    int64_t thread;   /* an index, or -1 for all */
};

/* Gap INDEX of the capture: how many events thread THREAD gave up, why (enum kymo_gap), and
   from when to when. Any pointer may be NULL. Returns 0, or -ENOENT past the last. */
KYMO_API int kymo_capture_gap(const struct kymo_capture *capture, uint64_t index, uint32_t *thread,
                              int *reason, uint64_t *count, kymo_ns *first, kymo_ns *last);

/* A pass over a capture's events in the order of time (of one thread: in the order
   recorded), decoding block by block. WINDOW may be NULL for everything. A capture
   may have many cursors; free them before it is closed. */
struct kymo_cursor;
KYMO_API int kymo_cursor_new(struct kymo_capture *capture, const struct kymo_window *window,
                             struct kymo_cursor **cursor);

/* The next event: 1 with EVENT filled (set its size first), 0 at the end, or a
   negative code. Damaged blocks are skipped and appear as a KYMO_GAP. */
KYMO_API int kymo_cursor_next(struct kymo_cursor *cursor, struct kymo_event *event);
KYMO_API void kymo_cursor_free(struct kymo_cursor *cursor);

/* ------------------------------------------------------------- figures --- */

/* What functions cost, and on which call paths: what `kymograph report` shows. It is made by one
   pass over the capture, on all cores, and then holds all there is to ask for; memory
   depends on the number of functions and paths, not on the length of the capture. */
struct kymo_figures;

struct kymo_figures_options {
    size_t size;
    kymo_ns from, to; /* the part to look at; calls open at its ends are cut there */
    int64_t thread;   /* an index, or -1 for all */
    uint64_t paths;   /* call paths to tell apart at most, 0 for none; calls on others count
                         for the nearest caller that is among them */
    /* Called now and then by the thread that asked, with events read of those there are; a
       negative result ends it and is its result. May be NULL. */
    int (*progress)(void *arg, uint64_t done, uint64_t all);
    void *progress_arg;
};

/* Read CAPTURE. OPTIONS may be NULL for everything without paths; otherwise begin with
   from = 0, to = INT64_MAX, thread = -1. On success *FIGURES is to be freed, before the
   capture is closed. Returns 0, -EINVAL for a thread that is not there, -ENOMEM, or what
   PROGRESS returned. */
KYMO_API int kymo_figures_new(struct kymo_capture *capture,
                              const struct kymo_figures_options *options,
                              struct kymo_figures **figures);
KYMO_API void kymo_figures_free(struct kymo_figures *figures);

/* A function, or a span that the program marked. */
struct kymo_function_figures {
    size_t size;
    const char *name, *file;             /* file is "" when there is none; lent until kymo_close */
    uint32_t line, class_;               /* 0 when there is none; enum kymo_class of lane.h */
    uint64_t calls, resumes;             /* resumes: of generators and coroutines */
    kymo_ns self, total;                 /* without and with what it called */
    kymo_ns mean, least, most, p50, p99; /* of a call, or of a part between a resume and a yield */
};

/* Fill FUNCTION (set its size first) with the INDEX-th, those of greatest self time first.
   Returns 0, or -ENOENT past the last. */
KYMO_API int kymo_figures_function(const struct kymo_figures *figures, uint64_t index,
                                   struct kymo_function_figures *function);

/* A function called on one path of callers. */
struct kymo_path_figures {
    size_t size;
    int64_t parent;    /* index of the path it was called on, or -1; callers come first */
    uint64_t function; /* index, for kymo_figures_function */
    uint64_t calls, resumes;
    kymo_ns self, total;
};

/* Fill PATH (set its size first) with the INDEX-th. Returns 0, or -ENOENT past the last. */
KYMO_API int kymo_figures_path(const struct kymo_figures *figures, uint64_t index,
                               struct kymo_path_figures *path);

/* ------------------------------------------------------------- columns --- */

/* A capture as tables, column by column, for programs that compute with many calls at once.
   Calls are matched and nested as in kymo_export. The tables:

   slices: calls and spans that have ended. id; parent, the id of the one around it or -1;
   start and duration; self, the duration without the calls it made; thread, an index;
   function, an index for kymo_columns_function; depth; enter, leave, the details of its
   events; flags, bits: 1 open at the start, 2 open at the end, 4 its end was lost, 8 it ended
   inside a call it encloses; generator, an id or 0.
   marks: all other events. id; time; thread; function; kind, enum kymo_kind; detail; number,
   the event's id; value, a counter's.
   args: numbers and texts that belong to a slice (of 0) or a mark (of 1) with the id owner;
   function is their name; value, the number; text, -1 for a number, else the function whose
   name is the text. */
struct kymo_column {
    const char *name;
    char type;          /* as in Python's struct: q int64, Q uint64, I uint32, B uint8, d double */
    const void *values; /* one for each row */
};

struct kymo_table {
    const char *name;
    size_t rows;
    unsigned count; /* of columns */
    const struct kymo_column *columns;
};

/* A pass over the part of CAPTURE that WINDOW chooses, thread after thread; NULL is all of it.
   Free it before the capture is closed. Returns 0 or a negative code. */
struct kymo_columns;
KYMO_API int kymo_columns_new(struct kymo_capture *capture, const struct kymo_window *window,
                              struct kymo_columns **columns);

/* Read the next rows, some hundred thousand: 1, 0 when there are no more, or a negative code.
   The first time it is 1 even without any row, so that the columns are known. */
KYMO_API int kymo_columns_next(struct kymo_columns *columns);

/* Table INDEX with the rows just read, or NULL past the last. Lent until the next call. */
KYMO_API const struct kymo_table *kymo_columns_table(const struct kymo_columns *columns,
                                                     unsigned index);

/* What function INDEX is: its name, file and first line, lent until kymo_close, and its enum
   kymo_class. Any pointer may be NULL. Returns 0, or -ENOENT past the last. */
KYMO_API int kymo_columns_function(const struct kymo_columns *columns, uint32_t index,
                                   const char **name, const char **file, uint32_t *line,
                                   uint32_t *class_);
KYMO_API void kymo_columns_free(struct kymo_columns *columns);

/* ----------------------------------------------------------- exporting --- */

/* Which of the two, in formats that hold one of them. Others have both. */
enum kymo_of {
    KYMO_OF_EITHER = 0, /* calls, unless there are none but samples */
    KYMO_OF_CALLS = 1,
    KYMO_OF_SAMPLES = 2,
};

/* Which native frames of samples are shown between and beside those of Python. A stack
   without any of Python is shown whole, but for KYMO_NATIVE_NONE. */
enum kymo_native_shown {
    KYMO_NATIVE_BRIEF = 0, /* without the interpreter's own: how it evaluates, calls, begins */
    KYMO_NATIVE_ALL = 1,
    KYMO_NATIVE_NONE = 2, /* what they took counts for the Python function that called them */
};

/* What to write, and how. */
struct kymo_export_options {
    size_t size;
    const char *format; /* a name that kymo_export_format gives; NULL: the one that PATH's
                           extension stands for */
    kymo_ns from, to;   /* the part to write; calls open at its ends are cut there */
    int64_t thread;     /* an index, or -1 for all */
    /* Called now and then by the thread that exports, with the number of events written of
       those there are; a negative result ends the export and is its result. May be NULL. */
    int (*progress)(void *arg, uint64_t done, uint64_t all);
    void *progress_arg;
    /* Members to add to the outermost object of JSON formats, each as "key": value, with its
       comma behind it; written as they are. May be NULL. */
    const char *extra;
    int of;     /* enum kymo_of */
    int native; /* enum kymo_native_shown */
};

/* The name of export format INDEX, the extension of its files, and for which programs it is,
   in a few words. Any pointer may be NULL. Returns 0, or -ENOENT past the last. */
KYMO_API int kymo_export_format(uint32_t index, const char **name, const char **extension,
                                const char **purpose);

/* The name of the format that PATH's extension stands for, or NULL. */
KYMO_API const char *kymo_export_format_of(const char *path);

/* Write CAPTURE in another format to PATH. The file appears whole or not at all; an older
   one is replaced. A name that ends in .gz is compressed; "-" is standard output. OPTIONS
   may be NULL for everything in the format of PATH's extension; otherwise begin with
   from = 0, to = INT64_MAX, thread = -1. Returns 0, KYMO_EFORMAT, -EINVAL, -ENODATA when
   samples are asked for and there are none, -ENOTSUP when there are only samples and the
   format holds calls, the errno of what failed, or what PROGRESS returned. */
KYMO_API int kymo_export(struct kymo_capture *capture, const char *path,
                         const struct kymo_export_options *options);

#ifdef __cplusplus
}
#endif
#endif
