/* stack.h — where a thread is, as one number.

   kymo_stack_capture looks at the stack of the calling thread, the native frames, those of an
   interpreter that registered itself, or both, and gives an id. Equal stacks have equal ids for
   as long as anybody holds one and no function of theirs has died. Nothing is named and nothing
   is allocated by it; names are for later, in batches (symbol.h).

   Every id is a hold on what it stands for, and is to be released. Capturing and releasing take
   no lock, never call into an interpreter and may be done by any thread at any time: inside an
   allocator, under somebody else's lock, with or without the interpreter's own. A signal handler
   may capture native frames. */
#ifndef KYMO_STACK_H
#define KYMO_STACK_H

#include <kymo/kymo.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0: no stack: none was asked for, or there was no room for another one. */
typedef uint32_t kymo_stack;

enum kymo_stack_part {
    KYMO_STACK_NATIVE = 1,  /* return addresses of C, C++, … */
    KYMO_STACK_MANAGED = 2, /* frames of the interpreter, see kymo_interpreter_register */
    KYMO_STACK_NAMED = 4,   /* name_of can tell about them at once; costs more */
};

/* The stack of the calling thread; PARTS of enum kymo_stack_part. The innermost SKIP frames are
   left out: native ones when those are asked for, else the interpreter's. The frame of this
   function itself is never in it. */
KYMO_API kymo_stack kymo_stack_capture(unsigned parts, unsigned skip);

/* One hold more, one hold less. 0 may be given to both. */
KYMO_API void kymo_stack_keep(kymo_stack stack);
KYMO_API void kymo_stack_release(kymo_stack stack);

/* A frame as it was captured. */
struct kymo_frame {
    uint64_t address; /* native: the return address; managed: the interpreter's own number for
                         a function and a place in it */
    uint32_t module;  /* native: for kymo_module_get; 0 when it is in none */
    uint32_t managed; /* 1: a frame of the interpreter */
};

/* The first COUNT frames of STACK, innermost first; native and managed ones interleaved as they
   called each other. Returns how many STACK has, whatever COUNT is. */
KYMO_API size_t kymo_stack_frames(kymo_stack stack, struct kymo_frame *frames, size_t count);

/* A file whose code was in the process when a stack was captured; it stays known after it was
   unloaded. */
struct kymo_module {
    size_t size;
    const char *path;   /* lent for good; "" for the main program when it cannot be told */
    uint64_t base;      /* what to subtract from an address to get that of the file */
    uint64_t low, high; /* its code, from .. up to */
    uint8_t build_id[20];
    uint32_t build_id_bytes; /* 0 when it has none; at most 20 are kept */
};

/* Fill MODULE (set its size first) with module NUMBER, from 1 on. 0 or -ENOENT. */
KYMO_API int kymo_module_get(uint32_t number, struct kymo_module *module);

struct kymo_stack_stats {
    size_t size;
    uint64_t captures;  /* asked for; counted per thread, and added up late */
    uint64_t stacks;    /* different ones that are known now, held or not */
    uint64_t bytes;     /* of memory for them, in use */
    uint64_t limit;     /* of that memory */
    uint64_t dropped;   /* captures that found no room and gave 0 */
    uint64_t truncated; /* captures of stacks deeper than is kept */
};
KYMO_API int kymo_stack_stats(struct kymo_stack_stats *stats);

/* How much memory stacks may take; 64 MiB when it was never called. Once stacks were captured it
   cannot be changed: -EBUSY. */
KYMO_API int kymo_stack_limit(uint64_t bytes);

/* A function of an interpreter, and a line in it. The texts are lent for good. */
struct kymo_named {
    size_t size;
    const char *name;  /* qualified */
    const char *plain; /* as it was defined */
    const char *file;
    uint32_t line, first_line; /* 0 when not known */
};

/* The frames of an interpreter on one thread, innermost first. */
struct kymo_managed_frame {
    uint64_t code, place; /* which function and where in it, in the interpreter's own terms */
    uint64_t mark;        /* an address on the native stack, inside the frame of the native
                             function that runs this frame and those before it since the last
                             mark; 0: its caller is the next one, without a native call between */
};
struct kymo_managed_walk {
    struct kymo_managed_frame *frames;
    size_t capacity, count; /* of frames */
    uint64_t hash;          /* begins as given; what makes these frames others goes into it */
    int careful;   /* not 0: a signal interrupted the thread, perhaps while it was making or
                               leaving a frame. Nothing may be followed that is not known to be readable */
    int truncated; /* set to 1 when there are more frames than fit */
};

/* Mix WORD into HASH. Quick, for walks: a step that waits for the one before; what it leaves
   uneven is evened out when all is in it. */
static inline uint64_t kymo_stack_hash(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * UINT64_C(0x9fb21c651e98df25);
}

/* An interpreter whose frames belong into stacks. walk and keep are called by kymo_stack_capture
   on the thread that is looked at, in any circumstances whatever: they may read memory of that
   thread only, and take no lock. */
struct kymo_interpreter {
    size_t size;
    const char *name; /* "python" */

    /* Fill WALK with the frames of the calling thread. */
    void (*walk)(struct kymo_managed_walk *walk);

    /* WALK, filled a moment ago on this thread, is part of a stack that was not known. Replace
       the first word of every frame by a number that means the same for good, also after the
       function has died; frames that are not to be shown may be taken out. */
    void (*keep)(struct kymo_managed_walk *walk);

    /* Learn what the numbers given so far stand for, so that name_of can tell. Called by
       threads of kymograph's that hold nothing and may wait. */
    void (*settle)(void);

    /* What such a number stands for. Takes no lock, from any thread. 0, -EAGAIN when it was
       not settled yet, or -ENOENT. */
    int (*name_of)(uint64_t number, struct kymo_named *named);

    /* Learn what NUMBER, of a frame that the calling thread is in now, stands for. Under the
       conditions of walk, in a signal handler and on a heap that is damaged too. */
    void (*peek)(uint64_t number);
};

/* One may be registered, and stays for good. Returns 0 or KYMO_EREGISTERED. */
KYMO_API int kymo_interpreter_register(const struct kymo_interpreter *interpreter);

/* Functions that died may leave their places to others: stacks captured from now on are not
   those of before, even if they look the same. For interpreters; takes no lock. */
KYMO_API void kymo_interpreter_forget(void);

#ifdef __cplusplus
}
#endif
#endif
