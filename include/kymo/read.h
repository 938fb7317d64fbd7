/* read.h — reading: what a capture holds.

   Open a capture, then ask it for its threads, stacks and events, for what functions cost, or for
   tables. Reading never changes the file, and needs neither the machine nor the process that
   recorded it.

   Threads. Any thread may use a capture, with everything made from it, but only one at a time. */
#ifndef KYMO_READ_H
#define KYMO_READ_H

#include <kymo/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------- captures --- */

/* An opened capture. */
struct kymo_capture;

/* Open the capture at PATH, which may still be recorded into or be left over from a killed process.
   On success *CAPTURE belongs to the caller, who closes it with kymo_close. Returns 0,
   KYMO_ENOTCAPTURE, KYMO_ENEWER, KYMO_EDAMAGED, KYMO_EMPTYFILE, or a negative errno. */
KYMO_API int kymo_open(const char *path, struct kymo_capture **capture);

/* Open the capture at PATH together with those of its child processes, in the folder PATH.d, as one
   capture with several processes. PROCESS chooses some of them: a pid, "pid:N", "rank:N", an index,
   or a name; NULL for all. A capture that has no children is opened as kymo_open does; with
   PROCESS, one of the processes of a merged capture is chosen. All have one clock. What is opened
   is a copy in the directory for temporary files, unless it is a single process. Returns what
   kymo_open does, or -ESRCH if there is no such process. */
KYMO_API int kymo_open_family(const char *path, const char *process, struct kymo_capture **capture);

/* Write all of CAPTURE, as it was when it was opened, to PATH as a finished capture: for one that is
   still being recorded, whose file does not have everything yet. The file appears whole or not at
   all; an existing capture is replaced, any other file left alone. Returns 0, KYMO_EOCCUPIED,
   KYMO_EBUSYFILE, or another negative code. */
KYMO_API int kymo_capture_save(struct kymo_capture *capture, const char *path);

/* Check whether a capture may be written to PATH without asking. Returns 0 if nothing is there, or
   only a capture that nobody is recording into; otherwise KYMO_EOCCUPIED, KYMO_EBUSYFILE or a
   negative errno. Any thread. */
KYMO_API int kymo_capture_check(const char *path);

/* Close CAPTURE and free everything lent from it. Cursors, columns, figures and names made from it
   must have been freed. NULL is fine. */
KYMO_API void kymo_close(struct kymo_capture *capture);

/* How a recording ended. */
enum kymo_ending {
    KYMO_ENDED_CLEAN = 0,   /* stopped; complete */
    KYMO_ENDED_RUNNING = 1, /* its process is still recording */
    KYMO_ENDED_KILLED = 2,  /* the process died before stop */
    KYMO_ENDED_FAILED = 3,  /* writing failed; see info.error */
};

/* Which clock the capture's ticks come from. */
enum kymo_clock {
    KYMO_CLOCK_TSC = 1,       /* x86_64 time-stamp counter */
    KYMO_CLOCK_CNTVCT = 2,    /* aarch64 virtual counter */
    KYMO_CLOCK_MONOTONIC = 3, /* clock_gettime */
};

/* What a capture is and holds. */
struct kymo_info {
    size_t size;
    int version_major, version_minor; /* of the file format; of several files, the newest */
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
    uint64_t gaps;              /* times at which records were dropped; expiry does not count */
    uint64_t lost_records;      /* records dropped in those gaps */
    uint64_t damaged_blocks;    /* blocks that cannot be read, as far as known */
    uint64_t damaged_bytes;     /* bytes of the file that belong to no readable block */
    int indexed;                /* 1: the index was there, 0: rebuilt by scanning */
    uint64_t expired_records;   /* dropped by a flight recorder as too old; if it was killed or
                                   still runs, also those only in its memory */
    uint64_t processes;         /* processes whose threads are in it: 1 unless captures were
                                   merged */
    uint64_t stacks;            /* distinct stacks, of samples and other events */
    uint64_t unknown_parts;     /* blocks and definitions that only a newer version of the library
                                   can read: they are missing in everything that this one says */
    uint64_t samples;           /* sampled records; counted by reading them on first use, unless
                                   nothing was sampled */
};

/* Fill INFO, whose size the caller sets first. Returns 0 or -EINVAL. */
KYMO_API int kymo_capture_info(const struct kymo_capture *capture, struct kymo_info *info);

/* Read every block of CAPTURE, so that kymo_capture_info reports all damage. Takes as long as
   reading everything. Returns how many blocks are damaged, or a negative code. */
KYMO_API int64_t kymo_capture_verify(struct kymo_capture *capture);

/* A thread of the capture. */
struct kymo_thread_info {
    size_t size;
    uint32_t index;      /* 0 to info.threads - 1, in order of appearance */
    int64_t tid;         /* system thread id */
    const char *name;    /* "" when it has none; lent until kymo_close */
    uint64_t records;    /* read or readable */
    uint64_t lost;       /* dropped; expired ones do not count */
    kymo_ns first, last; /* time of its first and last record; 0 if it has none */
    uint32_t process;    /* index of its process, for kymo_capture_process */
    int64_t pid;         /* of that process */
};

/* Fill THREAD, whose size the caller sets first, with thread INDEX of CAPTURE. Its texts are lent
   until kymo_close. Returns 0, or -EINVAL past the last. */
KYMO_API int kymo_capture_thread(const struct kymo_capture *capture, uint32_t index,
                                 struct kymo_thread_info *thread);

/* A process whose threads are in the capture. */
struct kymo_process_info {
    size_t size;
    uint32_t index;      /* 0 to info.processes - 1 */
    int64_t pid;         /* not unique if captures of several machines were merged */
    const char *name;    /* "" when it has none; lent until kymo_close, as is the next */
    const char *machine; /* the host it ran on, "" if unknown */
};

/* Fill PROCESS, whose size the caller sets first, with process INDEX of CAPTURE. Returns 0, or
   -EINVAL past the last. */
KYMO_API int kymo_capture_process(const struct kymo_capture *capture, uint32_t index,
                                  struct kymo_process_info *process);

/* Store the key and the value of metadata entry INDEX in *KEY and *VALUE, lent until kymo_close.
   Returns 0, or -ENOENT past the last. */
KYMO_API int kymo_capture_metadata(const struct kymo_capture *capture, uint32_t index,
                                   const char **key, const char **value);

/* Store clock reading INDEX, as it was recorded, in *TICKS, *MONOTONIC and *WALL (nanoseconds since
   1970). Returns 0, or -ENOENT past the last. */
KYMO_API int kymo_capture_snapshot(const struct kymo_capture *capture, uint64_t index,
                                   uint64_t *ticks, int64_t *monotonic, int64_t *wall);

/* ------------------------------------------------------------- stacks --- */

/* What a frame of a stack is. */
enum kymo_frame_kind {
    KYMO_FRAME_UNKNOWN = 0, /* the file is damaged or cut short and does not define it */
    KYMO_FRAME_NATIVE = 1,  /* of C, C++, …: an address */
    KYMO_FRAME_MANAGED = 2, /* of an interpreter: a function and a line */
};

/* A frame as it was captured. Texts are "" when there is none, and lent until kymo_close. */
struct kymo_stack_frame {
    uint32_t kind;        /* enum kymo_frame_kind */
    uint32_t module;      /* native: number for kymo_capture_module_at, from 1; 0: in none */
    const char *path;     /* native: the file that its code is from */
    const char *build_id; /* native: that file's build id, in hex */
    uint64_t address;     /* native: the return address, in the file, or in the process if it is in
                             no file; the call is just before it */
    const char *name;     /* managed: its function's name */
    const char *file;     /* managed */
    uint32_t line;        /* managed: the line that ran, 0 if unknown */
    uint32_t first_line;  /* managed: the function's first line */
};

/* Store the first COUNT frames of stack STACK, innermost first, in FRAMES, which may be NULL when
   COUNT is 0. Returns how many the stack has, whatever COUNT is; a stack that the file does not
   define has one frame of unknown kind. */
KYMO_API size_t kymo_capture_stack(const struct kymo_capture *capture, uint32_t stack,
                                   struct kymo_stack_frame *frames, size_t count);

/* Store the number of stack INDEX (of info.stacks), as records carry it, in *STACK. Returns 0, or
   -ENOENT past the last. */
KYMO_API int kymo_capture_stack_at(const struct kymo_capture *capture, uint64_t index,
                                   uint32_t *stack);

/* A program file or library that was mapped in the recorded process. */
struct kymo_capture_module {
    size_t size;
    const char *path, *build_id;
    uint64_t base, low, high; /* in the recorded process; its code is from low up to high */
};

/* Fill MODULE, whose size the caller sets first, with module NUMBER, from 1 on. Its texts are lent
   until kymo_close. Returns 0, or -ENOENT past the last. */
KYMO_API int kymo_capture_module_at(const struct kymo_capture *capture, uint32_t number,
                                    struct kymo_capture_module *module);

/* Names of the functions in a capture's stacks. */
struct kymo_stack_names;

/* Find names for the native frames of all of CAPTURE's stacks at once. MODE is one of enum
   kymo_symbol_mode (symbol.h). On success *NAMES belongs to the caller, who frees it before closing
   the capture. Returns 0 or -ENOMEM. */
KYMO_API int kymo_stack_names_new(struct kymo_capture *capture, int mode,
                                  struct kymo_stack_names **names);

/* Free NAMES and what was lent from it. NULL is fine. */
KYMO_API void kymo_stack_names_free(struct kymo_stack_names *names);

/* A function that was running. The texts are lent until kymo_stack_names_free. */
struct kymo_named_frame {
    uint32_t kind;       /* enum kymo_frame_kind */
    uint32_t inlined;    /* 1: native, and inlined into the next one */
    const char *name;    /* never "": "(unknown)", or "[libm.so.6]" when only the file is known */
    const char *file;    /* source file; "" if unknown */
    uint32_t line;       /* the line that ran, 0 if unknown */
    uint32_t first_line; /* managed: the function's first line */
    const char *module;  /* native: path of the file that its code is from; "" when there is none */
    const char *build_id; /* native: that file's build id, in hex; "" if it has none */
    uint64_t address;     /* native: as in struct kymo_stack_frame */
};

/* Store the first COUNT functions of stack STACK, innermost first and inlined ones included, in
   FRAMES. Returns how many there are, whatever COUNT is. */
KYMO_API size_t kymo_stack_named(const struct kymo_stack_names *names, uint32_t stack,
                                 struct kymo_named_frame *frames, size_t count);

/* ------------------------------------------------------------- events --- */

/* Why records are missing. */
enum kymo_gap {
    KYMO_GAP_BUDGET = 1,  /* the memory budget was used up */
    KYMO_GAP_DISK = 2,    /* the file could not be written */
    KYMO_GAP_NESTED = 3,  /* a marking call interrupted another one */
    KYMO_GAP_DAMAGED = 4, /* a block of the file is damaged */
    KYMO_GAP_FLIGHT = 5,  /* older than the flight recorder keeps: expired, not lost */
    KYMO_GAP_PAYLOAD = 6, /* a payload that was too long or had no schema: its event is there */
};

/* One event. */
struct kymo_event {
    size_t size;
    kymo_ns time;         /* monotonic */
    uint64_t ticks;       /* as recorded */
    uint32_t thread;      /* index */
    uint16_t kind;        /* enum kymo_kind */
    uint16_t detail;      /* enter: 0 call, 1 resume, 2 throw, 3 already open at start;
                         leave: 0 return, 1 yield, 2 unwind; gap: enum kymo_gap */
    uint32_t key;         /* names with equal keys are equal; 0 when there is none */
    uint32_t class_;      /* enum kymo_class of lane.h: what the key refers to */
    uint32_t line;        /* first line of a function, or 0 */
    const char *name;     /* UTF-8; "" when there is none, "(unknown)" when the damaged file does
                         not say; lent until kymo_close */
    const char *file;     /* of a function, or "" */
    uint64_t id;          /* flow, async: its id; gap: records missing; complete: duration; arg: the
                         number; arg text: key of the text;
                         enter of a generator's or coroutine's slice: which one, else 0 */
    double value;         /* counter */
    const char *text;     /* arg text: the text; else "". Same lifetime as name */
    const void *payload;  /* payload: its bytes, for kymo_event_value. Lent until the next event */
    size_t payload_bytes; /* how many */
};

/* Which events to read. */
struct kymo_window {
    size_t size;
    kymo_ns from, to; /* from <= time < to; 0 and INT64_MAX for everything */
    int64_t thread;   /* an index, or -1 for all */
};

/* Look up gap INDEX of CAPTURE: store which thread dropped events, why (enum kymo_gap), how many,
   and from when to when. Any pointer may be NULL. Returns 0, or -ENOENT past the last. */
KYMO_API int kymo_capture_gap(const struct kymo_capture *capture, uint64_t index, uint32_t *thread,
                              int *reason, uint64_t *count, kymo_ns *first, kymo_ns *last);

/* A pass over a capture's events. */
struct kymo_cursor;

/* Begin a pass over the events of CAPTURE that WINDOW chooses, NULL for all, in order of time
   (those of one thread in the order in which they were recorded). Blocks are decoded as the pass
   reaches them. A capture may have many cursors. On success *CURSOR belongs to the caller, who
   frees it before closing the capture. Returns 0, -EINVAL for a thread that does not exist, or
   -ENOMEM. */
KYMO_API int kymo_cursor_new(struct kymo_capture *capture, const struct kymo_window *window,
                             struct kymo_cursor **cursor);

/* Fill EVENT, whose size the caller sets first, with the next event; its texts are lent until
   kymo_close. Returns 1, 0 at the end, or a negative code. A damaged block is skipped and appears
   as a KYMO_GAP. */
KYMO_API int kymo_cursor_next(struct kymo_cursor *cursor, struct kymo_event *event);

/* Free CURSOR. NULL is fine. */
KYMO_API void kymo_cursor_free(struct kymo_cursor *cursor);

/* ------------------------------------------------------------- figures --- */

/* What functions cost, and on which call paths: what `kymograph report` shows. One pass over the
   capture, on all cores, finds everything; memory depends on the number of functions and paths, not
   on the length of the capture. */
struct kymo_figures;

/* What to measure. */
struct kymo_figures_options {
    size_t size;
    kymo_ns from, to; /* the part to measure; calls open at its ends are cut there */
    int64_t thread;   /* an index, or -1 for all */
    uint64_t paths;   /* call paths to tell apart at most, 0 for none; calls on others count
                         for the nearest caller that is among them */
    /* Called now and then on the calling thread with the number of events read and the total; a
       negative result ends the pass and becomes its result. May be NULL. */
    int (*progress)(void *arg, uint64_t done, uint64_t all);
    void *progress_arg;
};

/* Measure CAPTURE. OPTIONS may be NULL for everything without paths; otherwise begin with from = 0,
   to = INT64_MAX, thread = -1. On success *FIGURES belongs to the caller, who frees it before
   closing the capture. Returns 0, -EINVAL for a thread that does not exist, -ENOMEM, or what
   PROGRESS returned. */
KYMO_API int kymo_figures_new(struct kymo_capture *capture,
                              const struct kymo_figures_options *options,
                              struct kymo_figures **figures);

/* Free FIGURES. NULL is fine. */
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

/* Fill FUNCTION, whose size the caller sets first, with function INDEX, those with the greatest
   self time first. Returns 0, or -ENOENT past the last. */
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

/* Fill PATH, whose size the caller sets first, with path INDEX. Returns 0, or -ENOENT past the
   last. */
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
   name is the text; type, enum kymo_field_type of payload.h: value has the bits of a double or of
   a signed number where type says so; schema, for a field of a payload, the function that is its
   schema, else 0; end, where its text ends among the texts. A text, bytes and a list are between
   the end of the argument before and that.
   texts: byte, of all texts of these arguments. A list is JSON, bytes are hexadecimal digits. */
struct kymo_column {
    const char *name;
    char type;          /* as in Python's struct: q int64, Q uint64, I uint32, B uint8, d double */
    const void *values; /* one for each row */
};

/* The rows that were read last of one table. */
struct kymo_table {
    const char *name;
    size_t rows;
    unsigned count; /* of columns */
    const struct kymo_column *columns;
};

/* A pass over a capture's tables. */
struct kymo_columns;

/* Begin a pass over the part of CAPTURE that WINDOW chooses, NULL for all, thread after thread. On
   success *COLUMNS belongs to the caller, who frees it before closing the capture. Returns 0 or a
   negative code. */
KYMO_API int kymo_columns_new(struct kymo_capture *capture, const struct kymo_window *window,
                              struct kymo_columns **columns);

/* Read the next rows, some hundred thousand. Returns 1, 0 when there are no more, or a negative
   code. The first call returns 1 even without any row, so that the columns are known. */
KYMO_API int kymo_columns_next(struct kymo_columns *columns);

/* Return table INDEX with the rows just read, or NULL past the last. Lent until the next
   kymo_columns_next. */
KYMO_API const struct kymo_table *kymo_columns_table(const struct kymo_columns *columns,
                                                     unsigned index);

/* Store what function INDEX is: its name, file and first line, lent until kymo_close, and its enum
   kymo_class. Any pointer may be NULL. Returns 0, or -ENOENT past the last. */
KYMO_API int kymo_columns_function(const struct kymo_columns *columns, uint32_t index,
                                   const char **name, const char **file, uint32_t *line,
                                   uint32_t *class_);

/* Free COLUMNS. NULL is fine. */
KYMO_API void kymo_columns_free(struct kymo_columns *columns);

/* Return one word for a number of these headers, as all output of kymograph spells it: for enum
   kymo_kind, the detail of an event of KIND, enum kymo_class (KYMO_CLASS_NAME is "span"), enum
   kymo_ending. "unknown" for numbers this version does not know; NULL for the detail of a kind that
   has none. The text is static. Any thread. */
KYMO_API const char *kymo_kind_word(unsigned kind);
KYMO_API const char *kymo_detail_word(unsigned kind, unsigned detail);
KYMO_API const char *kymo_class_word(unsigned number);
KYMO_API const char *kymo_ending_word(unsigned ending);

#ifdef __cplusplus
}
#endif
#endif
