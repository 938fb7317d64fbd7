/* heaprec.h — the memory tracer of the running session, for the files of this directory.

   hooks*.c call the functions of kymo/memory.h; note.c turns those calls into events or, in the
   modes that keep what is held, into changes of live_held.h; source.c starts and stops it all. */
#ifndef KYMO_HEAPREC_H
#define KYMO_HEAPREC_H

#include <kymo/memory.h>
#include <kymo/payload.h>

#include "atomic.h"
#include "live_held.h"
#include "sampled.h"

/* Set by source.c before kymo__memory_on, and otherwise unchanged until the session has ended. */
struct kymo_heaprec {
    struct kymo_memory_options options; /* complete: no zero stands for a default */
    struct kymo_schema alloc, release, resize, map, unmap, resident, held, snapshot;
    unsigned parts; /* of stacks; 0: none */
    uint64_t fine;  /* bits of a time that are not kept: about 8 ns. They are noise, and would be
                       half a byte of every event in the file */
    /* The only thread that has asked for a time, as the address of its kymo__memory_thread; 0: none
       has; KYMO__SEVERAL: more than one. Changes while recording. */
    uintptr_t sole;
};
#define KYMO__SEVERAL ((uintptr_t)1)
extern struct kymo_heaprec kymo__heaprec;

/* note.c: define the schemas in the running session. 0 or a negative code. */
int kymo__heaprec_schemas(struct kymo_heaprec *heap);

/* Record an event of SCHEMA at TICKS with COUNT numbers, at most 5. */
void kymo__heaprec_note(const struct kymo_schema *schema, uint64_t ticks, const uint64_t *values,
                        unsigned count);

/* For the hooks, the same as the reporting functions without the decisions below. */
void kymo__heaprec_allocated(uint32_t function, void *at, size_t size);
void kymo__heaprec_freeing(void *at);

/* A library reports that it uses SIZE bytes at AT. OWN: they come from no allocator that is
   recorded; otherwise it is a block that was recorded already, which gets a better name. */
void kymo__heaprec_tracked(uint32_t function, void *at, size_t size, bool own);

/* Is an allocation of SIZE bytes recorded? To be asked once. */
static inline bool kymo__heaprec_chooses(size_t size)
{
    return kymo__heaprec.options.mode != KYMO_MEMORY_SAMPLED ||
           kymo__sampled(size, kymo__heaprec.options.rate);
}

/* SIZE bytes were allocated at AT. Are they recorded? To be asked once. */
static inline bool kymo__heaprec_wants(const void *at, size_t size)
{
    kymo__memory_thread.last = (uintptr_t)at;
    return kymo__heaprec_chooses(size);
}

/* Is the free of AT recorded? Perhaps, if true. */
static inline bool kymo__heaprec_wants_free(const void *at)
{
    return !kymo_memory_unsampled(at);
}

/* SIZE bytes at AT have been unmapped by a call that began at TICKS. */
void kymo__heaprec_unmapped(uint64_t ticks, void *at, size_t size);

/* source.c: kymo_memory_snapshot for our own thread: without the domains, whose locks somebody who
   waits for this thread may hold. */
int kymo__heaprec_snapshot(const char *reason);

/* note.c: this thread asks for a time, and was not known to be the only one. */
void kymo__heaprec_meet(void);

/* Is this thread the only one that has asked for a time? */
static inline bool kymo__heaprec_alone(void)
{
    uintptr_t sole = kymo__load_relaxed(&kymo__heaprec.sole);
    if (kymo__likely(sole == (uintptr_t)&kymo__memory_thread))
        return true;
    if (kymo__unlikely(sole != KYMO__SEVERAL))
        kymo__heaprec_meet();
    return false;
}

/* The time of a free that has not happened yet: now, or slightly before. */
static inline uint64_t kymo__ticks_before(void)
{
    kymo__heaprec_alone(); /* who gets the block next sees that there are two of us */
    return kymo_ticks() & ~kymo__heaprec.fine;
}

/* The time of an allocation: now, or slightly after; and not before anything that this thread has
   read. The counter may otherwise be read ahead of a lock that the allocator just took: another
   thread's free of the same address would seem to come later. */
static inline uint64_t kymo__ticks_after(void)
{
    if (!kymo__heaprec_alone()) {
#if defined(__x86_64__)
        __asm__ volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
        __asm__ volatile("isb" ::: "memory");
#endif
    }
    return (kymo_ticks() + kymo__heaprec.fine) & ~kymo__heaprec.fine;
}

#endif
