/* stack.h — capture a thread's stack as one number.

   kymo_stack_capture walks the calling thread's stack (native frames, frames of a registered
   interpreter, or both) and returns an id. Equal stacks get equal ids, as long as someone holds the
   id and none of the stack's functions has been freed. Capturing looks up no names and allocates
   nothing; find names later, in batches (symbol.h).

   Every id holds a reference to its stack and must be released. Capturing and releasing take no
   lock and never call into an interpreter. Any thread may do both at any time: inside an allocator,
   while holding a lock, with or without the interpreter's lock. A signal handler may capture native
   frames. */
#ifndef KYMO_STACK_H
#define KYMO_STACK_H

#include <kymo/kymo.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A stack id. 0 means no stack: none was requested, or the memory for stacks is full. */
typedef uint32_t kymo_stack;

enum kymo_stack_part {
    KYMO_STACK_NATIVE = 1,  /* return addresses of C, C++, … */
    KYMO_STACK_MANAGED = 2, /* frames of the interpreter, see kymo_interpreter_register */
    KYMO_STACK_NAMED = 4,   /* make names available to name_of at once; costs more */
};

/* Capture the calling thread's stack. PARTS is a set of enum kymo_stack_part bits. The innermost
   SKIP frames are left out: native frames if those are requested, else the interpreter's. The frame
   of this function itself is never included. Returns an id that the caller releases with
   kymo_stack_release, or 0. Any thread. */
KYMO_API kymo_stack kymo_stack_capture(unsigned parts, unsigned skip);

/* Capture the stack of the calling thread, like kymo_stack_capture, and keep it for the running
   session, whose capture will say what it stands for. The id goes into a payload's field of type
   KYMO_FIELD_STACK; readers resolve it with kymo_capture_stack. The session holds it: the caller
   has nothing to release. Takes no lock and allocates nothing; the conditions of kymo_stack_capture
   apply, so it may be called inside malloc and in signal handlers.

   Returns 0 when no session runs, inside a recording call of the same thread, or when there is no
   room; the capture's metadata counts the latter as "stacks.missing". */
KYMO_API kymo_stack kymo_stack_record(unsigned parts, unsigned skip);

/* The same for STACK, which was captured before and which the caller holds and continues to hold.
   Returns STACK or 0. */
KYMO_API kymo_stack kymo_stack_define(kymo_stack stack);

/* Add a reference to STACK, or drop one. Both ignore 0. Any thread. */
KYMO_API void kymo_stack_keep(kymo_stack stack);
KYMO_API void kymo_stack_release(kymo_stack stack);

/* A captured frame. */
struct kymo_frame {
    uint64_t address; /* native: the return address; managed: a number that the interpreter chose
                         for a function and a position in it */
    uint32_t module;  /* native: number for kymo_module_get; 0: in no module */
    uint32_t managed; /* 1: an interpreter's frame */
};

/* Store the first COUNT frames of STACK in FRAMES, innermost first. Native and managed frames are
   interleaved in call order. Returns the number of frames that STACK has, which may be more than
   COUNT. Any thread that holds a reference to STACK. */
KYMO_API size_t kymo_stack_frames(kymo_stack stack, struct kymo_frame *frames, size_t count);

/* A program file or library that was mapped when a stack was captured. It stays known after it is
   unloaded. */
struct kymo_module {
    size_t size;
    const char *path;   /* valid until the process exits; "" if the main program's path is
                           unknown */
    uint64_t base;      /* subtract it from an address to get the address in the file */
    uint64_t low, high; /* its code: low <= address < high */
    uint8_t build_id[20];
    uint32_t build_id_bytes; /* 0 if it has no build id; longer ids are cut to 20 bytes */
};

/* Fill MODULE, whose size the caller sets first, with module NUMBER; numbers start at 1. Returns 0
   or -ENOENT. Any thread. */
KYMO_API int kymo_module_get(uint32_t number, struct kymo_module *module);

struct kymo_stack_stats {
    size_t size;
    uint64_t captures;  /* captures requested; counted per thread and summed with a delay */
    uint64_t stacks;    /* distinct stacks now in memory, referenced or not */
    uint64_t bytes;     /* memory in use for them */
    uint64_t limit;     /* the most that may be in use */
    uint64_t dropped;   /* captures that returned 0 because memory was full */
    uint64_t truncated; /* captures of stacks too deep to keep whole */
};
KYMO_API int kymo_stack_stats(struct kymo_stack_stats *stats);

/* Set how much memory stacks may use; the default is 64 MiB. Returns 0, or -EBUSY once a stack has
   been captured. */
KYMO_API int kymo_stack_limit(uint64_t bytes);

/* An interpreter's function, and a line in it. The texts stay valid until the process exits. */
struct kymo_named {
    size_t size;
    const char *name;  /* qualified name */
    const char *plain; /* name as defined */
    const char *file;
    uint32_t line, first_line; /* 0 if unknown */
};

/* An interpreter's frames on one thread, innermost first. */
struct kymo_managed_frame {
    uint64_t code, place; /* the function and the position in it, encoded as the interpreter
                             likes */
    uint64_t mark;        /* an address on the native stack, inside the frame of the native function
                             that runs this frame and those before it since the last mark; 0: the
                             next frame called this one without a native call in between */
};
struct kymo_managed_walk {
    struct kymo_managed_frame *frames;
    size_t capacity, count; /* number of frames */
    uint64_t hash;          /* starts as given; mix in whatever tells these frames from others */
    int careful;   /* not 0: a signal interrupted the thread, perhaps while it was pushing or
                      popping a frame. Follow only pointers known to be readable */
    int truncated; /* set to 1 if there are more frames than fit */
    int torn; /* set to 1 if `careful` and the thread was interrupted while it changed its frames,
                      so that outer ones cannot be found */
};

/* An interpreter's frames on one thread, outermost first, as they were at some time. */
#define KYMO_NO_FRAME UINT64_MAX
struct kymo_trail_frame {
    uint64_t frame;       /* the interpreter's address of it */
    uint64_t code, place; /* as above; `code` is 0 if the frame is not to be shown */
    uint64_t known;       /* libkymo's own */
};
struct kymo_trail {
    struct kymo_trail_frame *frames; /* before the first is one with KYMO_NO_FRAME */
    size_t capacity, count;
    uint16_t levels[1 << 10]; /* for the interpreter: where a frame may be in `frames` */
};

/* Mix WORD into HASH. Fast but weak mixing, for use while walking; finalise once at the end. */
static inline uint64_t kymo_stack_hash(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * UINT64_C(0x9fb21c651e98df25);
}

/* An interpreter whose frames are to appear in stacks. kymo_stack_capture calls walk and keep on
   the thread being captured, whatever that thread is doing: they may read only that thread's memory
   and must take no lock. */
struct kymo_interpreter {
    size_t size;
    const char *name; /* "python" */

    /* Fill WALK with the frames of the calling thread. */
    void (*walk)(struct kymo_managed_walk *walk);

    /* Return what walk would leave in `hash` if it were HASH before and `careful` 0, or UINT64_MAX if
       there are more than MOST frames. A shallow stack that was seen before needs no more than this.
       May be NULL. */
    uint64_t (*hash)(uint64_t hash, size_t most);

    /* Bring TRAIL, which holds frames of the calling thread, up to date. Returns how many of its
       outermost frames have not changed, or SIZE_MAX if there are more than fit. For deep stacks:
       from one call to the next, most of their frames stay the same. The rules of walk apply. NULL
       only if hash is NULL, too. */
    size_t (*follow)(struct kymo_trail *trail);

    /* WALK, just filled on this thread, is part of a stack seen for the first time. Replace each
       frame's `code` with a number that keeps its meaning for the life of the process, even after
       the function is freed. Frames that should not be shown may be removed. Numbers that are
       resolved at once are known even if the process is killed. */
    void (*keep)(struct kymo_managed_walk *walk);

    /* Resolve the numbers handed out so far, so that name_of can answer. Called on kymograph's
       threads, which hold no lock and may block. */
    void (*settle)(void);

    /* Call NAME for every thread that has a name in the interpreter, with the system's id of the
       thread. Called like settle, when samples have been taken of threads that recorded nothing
       else. May be NULL. */
    void (*name_threads)(void (*name)(uint32_t tid, const char *text));

    /* Fill NAMED with what NUMBER means. Takes no lock; any thread. Returns 0, -EAGAIN if NUMBER
       has not been resolved yet, or -ENOENT. */
    int (*name_of)(uint64_t number, struct kymo_named *named);

    /* Resolve NUMBER, which belongs to a frame that the calling thread is executing now. Same rules
       as walk; must also work in a signal handler and when the heap is corrupt. */
    void (*peek)(uint64_t number);

    /* 1: NAMED is one of the interpreter's own functions that only start a program, such as a module
       runner; such frames around the program are left out together with kymo_options.sample_root.
       2: it belongs to the profiler, and its frames are left out wherever they are. 0: neither. Takes
       no lock, from any thread. May be NULL: all are 0. */
    int (*starts_program)(const struct kymo_named *named);

    /* What readers need to know about the native functions of the interpreter, each a list of words
       separated by spaces, or NULL. Stored as the capture's metadata "interpreter.files" and so on. */
    const char *files;     /* beginnings of the names of files that hold its code */
    const char *evaluator; /* beginnings of names: a function that any file with its code has */
    const char *machinery; /* beginnings of names: functions that only lead from call to call */
    const char *collector; /* names: functions in which all of a garbage collection happens */
};

/* Register INTERPRETER. Only one can be registered, for the life of the process. Returns 0 or
   KYMO_EREGISTERED. */
KYMO_API int kymo_interpreter_register(const struct kymo_interpreter *interpreter);

/* For interpreters: call this when functions are freed, because their addresses may be reused.
   Stacks captured from now on get new ids even if they look the same as earlier ones. Takes no
   lock. */
KYMO_API void kymo_interpreter_forget(void);

#ifdef __cplusplus
}
#endif
#endif
