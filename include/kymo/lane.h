/* lane.h — the recording path, inlined into the sources that need every nanosecond.

   A thread records into its lane. It claims the lane, stores its records where `next`
   says, and moves `next` behind them. While it is claimed, a second call on the same
   thread (from a signal handler, say) gives up, and kymo_stop waits. The claim is an
   ordinary store: turning the session off makes all threads pass a barrier, after which
   either the claimer sees it off or the stopper sees the claim.

       struct kymo_lane *lane;
       struct kymo_record *at = kymo_lane_claim(&lane, 1);
       if (at) {
           kymo_lane_store(at, kymo_ticks(), kymo_word(KYMO_ENTER, 0, key));
           kymo_lane_commit(lane, at + 1);
       }

   Between claim and commit do nothing that takes long: no Python, no locks of others. */
#ifndef KYMO_LANE_H
#define KYMO_LANE_H

#include <kymo/arch.h>
#include <kymo/kymo.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KYMO_INLINE static inline __attribute__((always_inline))

/* One record: the tick, and what happened. */
struct kymo_record {
    uint64_t ticks;
    uint64_t word;
};

#define KYMO_NO_SESSION UINT32_MAX /* the number of no session, nor of there being none */

struct kymo_lane {
    struct kymo_record *next; /* where the next record goes. All: the owner, while claimed */
    struct kymo_record *end;  /* of the room there is */
    const uint32_t *running; /* kymo__switch: beside the rest, so that it costs no look elsewhere */
    uint32_t session;        /* to which they belong */
    uint32_t quick;          /* the same where its ticks are the counter's, else no session's */
    uint32_t thread;         /* index in the capture */
    uint32_t claimed;        /* 1: it is. Written by the owner; the stopper reads */
};

/* This thread's lane, or NULL before its first record. Initial-exec storage: reading it
   is one instruction, also in a library that was loaded late. */
KYMO_API extern __thread struct kymo_lane *kymo__lane __attribute__((tls_model("initial-exec")));

KYMO_API struct kymo_record *kymo__lane_slow(struct kymo_lane *lane, struct kymo_record *at,
                                             unsigned count);

/* Room for COUNT consecutive records on this thread, or NULL when there is no session or
   no memory; what is lost is counted. After success *LANE is the thread's, and commit or
   release must follow. COUNT is a small constant; 0 claims the lane for other work. */
KYMO_INLINE struct kymo_record *kymo_lane_claim(struct kymo_lane **lane, unsigned count)
{
    struct kymo_lane *mine = kymo__lane;
    struct kymo_record *at = NULL;
    if (__builtin_expect(mine && !__atomic_load_n(&mine->claimed, __ATOMIC_RELAXED), 1)) {
        /* A signal handler that records before this store moves `next` on and leaves the
           lane unclaimed; so `next` is read after it. */
        __atomic_store_n(&mine->claimed, 1u, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        at = mine->next;
        if (__builtin_expect(__atomic_load_n(mine->running, __ATOMIC_ACQUIRE) == mine->session &&
                                 (uintptr_t)at <= (uintptr_t)(mine->end - count),
                             1)) {
            *lane = mine;
            return at;
        }
    }
    at = kymo__lane_slow(mine, at, count);
    *lane = kymo__lane;
    return at;
}

/* The same where it costs next to nothing and ticks are kymo__counter_read's, else NULL with
   nothing done: for a path so hot that everything else is better done out of line, with
   kymo_lane_claim. */
KYMO_INLINE struct kymo_record *kymo_lane_try(struct kymo_lane **lane, unsigned count)
{
    struct kymo_lane *mine = *lane = kymo__lane;
    if (__builtin_expect(!mine || __atomic_load_n(&mine->claimed, __ATOMIC_RELAXED), 0))
        return NULL;
    __atomic_store_n(&mine->claimed, 1u, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct kymo_record *at = mine->next;
    if (__builtin_expect(__atomic_load_n(mine->running, __ATOMIC_ACQUIRE) == mine->quick &&
                             (uintptr_t)at <= (uintptr_t)(mine->end - count),
                         1))
        return at;
    __atomic_store_n(&mine->claimed, 0u, __ATOMIC_RELEASE);
    return NULL;
}

/* Fill in one record; the word makes it count, so it is stored last. */
KYMO_INLINE void kymo_lane_store(struct kymo_record *at, uint64_t ticks, uint64_t word)
{
    __atomic_store_n(&at->ticks, ticks, __ATOMIC_RELAXED);
    __atomic_store_n(&at->word, word, __ATOMIC_RELEASE);
}

/* Give the claim back; AFTER is behind the last record stored. Records are written once, to
   memory that the writer thread had last: some of those to come have their place fetched now. */
KYMO_INLINE void kymo_lane_commit(struct kymo_lane *lane, struct kymo_record *after)
{
    lane->next = after;
    kymo__write_ahead(after);
    __atomic_store_n(&lane->claimed, 0u, __ATOMIC_RELEASE);
}

/* Give the claim on AT back unused. */
KYMO_INLINE void kymo_lane_release(struct kymo_lane *lane, struct kymo_record *at)
{
    kymo_lane_commit(lane, at);
}

/* Give the claim on AT back and count COUNT events as lost for REASON (enum kymo_gap). */
KYMO_API void kymo_lane_drop(struct kymo_lane *lane, struct kymo_record *at, unsigned count,
                             int reason);

/* The lane of another thread of this process, claimed by the caller, with room for COUNT
   records at *AT; to be committed like an own one. For a thread that has recorded already,
   or when memory is short, NULL. The thread must not be recording meanwhile: hold what
   keeps it from it. It goes on in this lane when it first records. */
KYMO_API struct kymo_lane *kymo_lane_of_thread(uint32_t tid, unsigned count,
                                               struct kymo_record **at);

/* Room for COUNT more records in LANE, which the caller has claimed, after AFTER. NULL when
   there is none: then the lane is given back. */
KYMO_API struct kymo_record *kymo_lane_more(struct kymo_lane *lane, struct kymo_record *after,
                                            unsigned count);

/* What a record says: KIND with its DETAIL about KEY. */
KYMO_INLINE uint64_t kymo_word(unsigned kind, unsigned detail, uint32_t key)
{
    return (uint64_t)kind << 56 | (uint64_t)detail << 48 | key;
}

/* Detail of an enter or leave, beside those in struct kymo_event: an id follows in a
   VALUE record, that of the generator or coroutine whose slice this is. */
#define KYMO_HAS_ID 0x80u
#define KYMO_VALUE_WORD ((uint64_t)64 << 56) /* `ticks` of such a record is the value */

/* 1: ticks come from the counter register, 0: from clock_gettime. */
KYMO_API extern uint32_t kymo__clock_counter;
KYMO_API uint64_t kymo__ticks_without(void);

/* Now, as records have it. */
KYMO_INLINE uint64_t kymo_ticks(void)
{
    if (__builtin_expect(__atomic_load_n(&kymo__clock_counter, __ATOMIC_RELAXED) != 0, 1))
        return kymo__counter_read();
    return kymo__ticks_without();
}

/* What a key stands for. */
enum kymo_class {
    KYMO_CLASS_NAME = 0,     /* a name given to a marking call */
    KYMO_CLASS_FUNCTION = 1, /* a function of the program's language: Python */
    KYMO_CLASS_NATIVE = 2,   /* a function implemented in C; file is its module */
    KYMO_CLASS_METHOD = 3,   /* a method implemented in C, name is Type.method */
    KYMO_CLASS_TYPE = 4,     /* a type that is called */
    KYMO_CLASS_CALLABLE = 5, /* any other callable object; name is that of its type */
    KYMO_CLASS_GC = 6,       /* a garbage collection */
};

struct kymo_function {
    size_t size;
    const char *name; /* UTF-8; copied, as is file */
    const char *file; /* or module; may be NULL */
    uint32_t line;
    uint32_t kind; /* enum kymo_class */
};

/* A new key for FUNCTION in the running session, or 0 when there is no session or no room.
   Every call gives another key: the source remembers which is whose. Takes a lock; not
   inside a claim of this thread. */
KYMO_API uint32_t kymo_function_key(const struct kymo_function *function);

#ifdef __cplusplus
}
#endif
#endif
