/* memory.h — the memory tracer: every allocation with its time, its thread and its stack.

   The library registers a memory tracer called "memory" (source.h). It takes part in a session that
   switches it on (kymo_options.sources: "memory=on"); kymo_memory_start and kymo_memory_stop drive
   it without one. It sees the malloc family, C++'s operator new and delete, and mappings, by
   patching the relocation slots of all loaded objects. At the end every slot and every page
   protection is as it was.

   An interpreter or a library that has an allocator of its own registers a domain, which is
   switched on and off together with the rest, and reports its calls:

       void *my_malloc(size_t size)
       {
           if (!kymo_memory_enter())
               return allocate(size);
           void *block = allocate(size);
           if (block)
               kymo_memory_allocated(my_malloc_key, block, size);
           kymo_memory_leave();
           return block;
       }

       void my_free(void *block)
       {
           if (!kymo_memory_enter()) {
               release(block);
               return;
           }
           kymo_memory_freeing(block);
           release(block);
           kymo_memory_leave();
       }

   Between enter and leave nothing else that the thread allocates is recorded: an allocation counts
   once, at the outermost level. Report a free before it happens and an allocation after it has
   happened. Then the order of times is right, whatever other threads do with the same address.

   Recording takes no lock, allocates nothing and preserves errno. */
#ifndef KYMO_MEMORY_H
#define KYMO_MEMORY_H

#include <kymo/lane.h>
#include <kymo/source.h>
#include <kymo/stack.h>

#ifdef __cplusplus
extern "C" {
#endif

enum kymo_memory_mode {
    KYMO_MEMORY_EXACT = 0,   /* every allocation and every free */
    KYMO_MEMORY_SAMPLED = 1, /* some allocations, chosen by their bytes, and their frees */
    KYMO_MEMORY_LIVE = 2,    /* no events: what is held at the end, and what was at the peak */
};

/* What is recorded. */
enum kymo_memory_what {
    KYMO_MEMORY_NATIVE = 1,   /* malloc, operator new, … */
    KYMO_MEMORY_MAPPINGS = 2, /* mmap, brk, … */
    KYMO_MEMORY_MANAGED = 4,  /* an interpreter's allocators */
    KYMO_MEMORY_TRACKED = 8,  /* what libraries report to Python (PyTraceMalloc_Track) */
};

/* Options of the source "memory". Members that are zero have their defaults. */
struct kymo_memory_options {
    size_t size;         /* sizeof(struct kymo_memory_options) */
    int mode;            /* enum kymo_memory_mode */
    unsigned what;       /* enum kymo_memory_what bits; 0: everything */
    uint64_t rate;       /* sampled: mean number of bytes between samples; 0: 512 KiB */
    unsigned stacks;     /* enum kymo_stack_part bits; 0: those of the interpreter, or native ones
                            in a program without one */
    int no_stacks;       /* not 0: record no stacks */
    kymo_ns resident_ns; /* time between two samples of resident memory; 0: 10 ms, negative: none */
    int keep_sizes;      /* not 0: know the size of each live native block, for
                            kymo_memory_size_of; not in the sampled mode */
};

/* Set the options for kymo_memory_start, and for sessions that bring none of their own; NULL
   restores the defaults. Copied. Returns 0, or -EINVAL for a value out of range. Any thread. */
KYMO_API int kymo_memory_configure(const struct kymo_memory_options *options);

/* ------------------------------------------------------------ reporting --- */

/* For the inline functions. */
struct kymo_memory_thread {
    uint32_t entered;   /* not 0 between enter and leave, or inner_begin and inner_end */
    uint32_t seed;      /* of the thread's random numbers; 0: none yet */
    uint64_t countdown; /* sampled: bytes until the next sample, or until somebody has to look */
    uintptr_t last;     /* the block that was allocated last; see hooks_passing.c */
    uint32_t loading;   /* calls of dlopen that go on */
    uint64_t beyond;    /* sampled: bytes after the countdown until the next sample */
    /* The block that is being freed, by kymo_memory_releasing: its address, as everybody below sees
       it, is from the first to the second; 0: none. */
    uintptr_t releasing_from, releasing_to;
};
KYMO_API extern __thread struct kymo_memory_thread kymo__memory_thread
    __attribute__((tls_model("initial-exec")));
KYMO_API extern __thread uint32_t kymo__inside __attribute__((tls_model("initial-exec")));
KYMO_API extern uint32_t kymo__memory_on;

/* Sampled mode: how many sampled blocks begin in pieces of memory that share this count, 1 <<
   KYMO__MEMORY_FILTER_BITS counts; NULL in other modes. Nearly all calls are for blocks that are not
   sampled, and end with one of the functions below. */
#define KYMO__MEMORY_FILTER_BITS 15
KYMO_API extern uint16_t *kymo__memory_filter;

KYMO_INLINE size_t kymo__memory_filter_at(uintptr_t address)
{
    /* Pieces of 512 bytes. Counts of adjacent pieces are adjacent, as blocks that are used together
       often are: they stay in the cache. */
    const size_t mask = ((size_t)1 << KYMO__MEMORY_FILTER_BITS) - 1;
    return (size_t)(address >> 9 ^ address >> (9 + KYMO__MEMORY_FILTER_BITS)) & mask;
}

/* Is AT certainly not sampled? Then its free needs no report, and no enter. */
KYMO_INLINE bool kymo_memory_unsampled(const void *at)
{
    const uint16_t *filter = __atomic_load_n(&kymo__memory_filter, __ATOMIC_RELAXED);
    return filter &&
           !__atomic_load_n(&filter[kymo__memory_filter_at((uintptr_t)at)], __ATOMIC_RELAXED);
}

/* Sampled mode: is an allocation of SIZE bytes not sampled? Then it needs no report. To be asked once,
   before the call; after false, use kymo_memory_look.

   Bytes that are no allocation of the program's may be counted, too, as those of an allocator that
   is called by another one, or of a call that fails: every other byte has the chance that it had. But
   they must be counted, or not, whatever the countdown is. */
KYMO_INLINE bool kymo_memory_skips(size_t size)
{
    uint64_t left;
    if (__builtin_expect(
            __builtin_sub_overflow(kymo__memory_thread.countdown, (uint64_t)size, &left), 0))
        return false;
    kymo__memory_thread.countdown = left;
    return true;
}

/* Around a call that needs no report and may lead to other allocators that are recorded: what happens
   inside is not reported, as between enter and leave. */
KYMO_INLINE void kymo_memory_inner_begin(void)
{
    kymo__memory_thread.entered++;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

KYMO_INLINE void kymo_memory_inner_end(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    kymo__memory_thread.entered--;
}

/* Is the allocation of SIZE bytes at AT not sampled? Then it needs no report; otherwise report it. To
   be asked once, between enter and leave. */
KYMO_INLINE bool kymo_memory_passes(const void *at, size_t size)
{
    if (!__atomic_load_n(&kymo__memory_filter, __ATOMIC_RELAXED) || !kymo_memory_skips(size))
        return false;
    kymo__memory_thread.last = (uintptr_t)at;
    return true;
}

/* Begin an allocator call. Returns false when it must not be reported: nothing is recorded now, an
   outer call of this thread is being reported, or the thread is Kymograph's. After true, call
   kymo_memory_leave. Any thread, and signal handlers. */
KYMO_INLINE bool kymo_memory_enter(void)
{
    if (__builtin_expect(!__atomic_load_n(&kymo__memory_on, __ATOMIC_RELAXED), 0) ||
        (kymo__memory_thread.entered | kymo__inside))
        return false;
    kymo__memory_thread.entered = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return true;
}

KYMO_INLINE void kymo_memory_leave(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    kymo__memory_thread.entered = 0;
}

/* A domain passes the free or the resizing of AT on, between enter and leave. Below it AT may begin up
   to OFFSET bytes earlier. If another block is freed meanwhile, that is a free of its own: tracemalloc,
   above a domain, frees what it knows of a block while the block is freed. */
KYMO_INLINE void kymo_memory_releasing(const void *at, size_t offset)
{
    kymo__memory_thread.releasing_from = (uintptr_t)at - offset;
    kymo__memory_thread.releasing_to = (uintptr_t)at;
}

KYMO_INLINE void kymo_memory_released(void)
{
    kymo__memory_thread.releasing_to = 0;
}

/* Is AT, which is not NULL, freed inside the free of another block? To be asked when kymo_memory_enter
   has returned false; after true, report it, without leave. */
KYMO_INLINE bool kymo_memory_is_apart(const void *at)
{
    const struct kymo_memory_thread *thread = &kymo__memory_thread;
    return thread->releasing_to && __atomic_load_n(&kymo__memory_on, __ATOMIC_RELAXED) &&
           ((uintptr_t)at > thread->releasing_to || (uintptr_t)at < thread->releasing_from) &&
           !kymo__inside;
}

/* Sampled mode: begin a call that kymo_memory_skips does not skip, in place of kymo_memory_enter. Returns
   2 if the SIZE bytes will be recorded, 1 if they will not, and 0 if the call must not be reported at
   all. In any case end it with kymo_memory_looked. */
KYMO_API uint32_t kymo_memory_look(size_t size);

/* Record SIZE bytes at AT, which is not NULL, if kymo_memory_look returned 2. FUNCTION as below. */
KYMO_API void kymo_memory_record(uint32_t function, void *at, size_t size);

/* End the call. LOOK is what kymo_memory_look returned, AT what was allocated, or NULL. Returns AT. */
KYMO_INLINE void *kymo_memory_looked(uint32_t look, uint32_t function, void *at, size_t size)
{
    if (look == 2 && at)
        kymo_memory_record(function, at, size);
    kymo__memory_thread.last = (uintptr_t)at;
    kymo_memory_inner_end(); /* which is kymo_memory_leave in an outermost call */
    return at;
}

/* The functions below are called between enter and leave. FUNCTION is the key of the allocating
   function's name (kymo_name_key), of this session. */

/* SIZE bytes were allocated at AT, which is not NULL. */
KYMO_API void kymo_memory_allocated(uint32_t function, void *at, size_t size);

/* AT, which is not NULL, is about to be freed. */
KYMO_API void kymo_memory_freeing(void *at);

/* A block that is being resized. Opaque; on the caller's stack. */
struct kymo_memory_move {
    void *from;
    uint64_t ticks;
    uint64_t size;
    uint32_t stack, function, known;
    uint32_t look; /* what kymo_memory_look returned; 0: it was not asked */
};

/* FROM, which is not NULL, is about to be resized and perhaps moved. */
KYMO_API void kymo_memory_moving(struct kymo_memory_move *move, void *from);

/* It is now at AT and has SIZE bytes; AT is NULL if that failed and the block is as it was. If the
   call freed the block instead (realloc to 0 bytes that returned NULL), set FREED. */
KYMO_API void kymo_memory_moved(struct kymo_memory_move *move, uint32_t function, void *at,
                                size_t size, bool freed);

/* A range was mapped, or is about to be unmapped. Ranges and blocks are separate: blocks may lie in
   ranges. */
KYMO_API void kymo_memory_mapped(uint32_t function, void *at, size_t size);
KYMO_API void kymo_memory_unmapping(void *at, size_t size);

/* -------------------------------------------------------------- domains --- */

/* An allocator of somebody else's that reports. All functions may be NULL; USER is what it was
   registered with. They run on the thread that starts or stops recording or asks for a snapshot,
   under the library's session lock: they may record, but not call kymo_start and its like. */
struct kymo_memory_domain {
    size_t size;
    const char *name;
    /* Begin to report, as OPTIONS, which are complete, say. The session runs: kymo_name_key and
       kymo_schema_define work. Returns the enum kymo_memory_what bits that it reports, or a negative
       code. */
    int (*install)(void *user, const struct kymo_memory_options *options);
    /* Put everything back as it was. Calls that are being reported may still be in progress on
       other threads; what they report is dropped. */
    void (*remove)(void *user);
    /* Snapshot NUMBER was asked for; 0: the end of recording, before remove. */
    void (*snapshot)(void *user, uint32_t number);
    /* In a forked child: nothing is recorded any more. Only what fork's handlers may do. */
    void (*forked)(void *user);
};

/* Register DOMAIN, which must stay valid, for the life of the process; it takes part from the next
   start on. Returns 0, KYMO_EREGISTERED, -EINVAL or -ENOSPC when there are 8. Any thread. */
KYMO_API int kymo_memory_domain_register(const struct kymo_memory_domain *domain, void *user);

/* Do not record what the loaded object that contains ADDRESS allocates, from the next start on: for
   libraries that belong to Kymograph. Returns 0 or -ENOSPC when there are 8. Any thread. */
KYMO_API int kymo_memory_exclude(const void *address);

/* May the calling thread be in the middle of an allocator's call, or of Kymograph's, that a signal
   interrupted? Not 0: it may, and must not end the recording. For code in place of _exit, which programs
   call in signal handlers. Any thread, and signal handlers. */
KYMO_API int kymo_memory_mid_call(void);

/* ------------------------------------------------------------ snapshots --- */

/* Record the amount of memory in use now, and, in the modes that keep it, what is held by whom.
   REASON is UTF-8 and copied. Returns the number of the snapshot, from 2, or a negative code:
   KYMO_EIDLE when memory is not being recorded. Any thread, not a signal handler. */
KYMO_API int kymo_memory_snapshot(const char *reason);

/* Ask one of Kymograph's threads to do so soon, with "signal" as the reason; domains take no part.
   May be called from a signal handler. */
KYMO_API void kymo_memory_snapshot_request(void);

/* The size of the native block that begins at AT, if it was allocated while memory was recorded with
   `keep_sizes`, and is alive; otherwise 0. Blocks that a domain reports are not known. AT may be
   anything. Any thread. */
KYMO_API uint64_t kymo_memory_size_of(const void *at);

/* What has been recorded since the start. */
struct kymo_memory_stats {
    size_t size;
    uint64_t patched_objects, patched_slots;
    uint64_t missed_slots; /* could not be patched */
    uint64_t lost;         /* events that the recorder had no room for, in its own tables */
};
KYMO_API int kymo_memory_stats(struct kymo_memory_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
