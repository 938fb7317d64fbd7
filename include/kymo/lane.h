/* lane.h — the recording path, inlined into sources where every nanosecond counts.

   A thread records into its lane. It claims the lane, stores records starting at `next`, and
   advances `next` past them. While the lane is claimed, a second call on the same thread (from a
   signal handler, say) gives up, and kymo_stop waits. The claim is an ordinary store: when a
   session ends, kymo_stop makes all threads pass a memory barrier, after which either the claiming
   thread sees that the session is over or kymo_stop sees the claim.

       struct kymo_lane *lane;
       struct kymo_record *at = kymo_lane_claim(&lane, 1);
       if (at) {
           kymo_lane_store(at, kymo_ticks(), kymo_word(KYMO_ENTER, 0, key));
           kymo_lane_commit(lane, at + 1);
       }

   Between claim and commit do nothing slow: no Python, no other locks. */
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

#define KYMO_NO_SESSION UINT32_MAX /* no session has this number */

struct kymo_lane {
    struct kymo_record *next; /* where the next record goes. Only the owner uses it, while
                                 claimed */
    struct kymo_record *end;  /* end of the free space */
    const uint32_t *running;  /* kymo__switch; kept here to save a cache miss */
    uint32_t session;         /* the session that the records belong to */
    uint32_t quick;           /* the same, or KYMO_NO_SESSION if ticks are not the counter's */
    uint32_t thread;          /* thread index in the capture */
    uint32_t claimed;         /* 1 while claimed. Written by the owner; kymo_stop reads it */
    uint32_t stamped;         /* 1 while the owner holds a time that it is about to record: a signal
                                 handler that recorded now would be later than what follows it */
    uint64_t op_note, op_numbers; /* words of an operator's note and of its numbers, for opquick.h;
                                     0: not known */
};

/* This thread's lane, or NULL before its first record. Initial-exec TLS: reading it takes one
   instruction, even in a library loaded with dlopen. */
KYMO_API extern __thread struct kymo_lane *kymo__lane __attribute__((tls_model("initial-exec")));

KYMO_API struct kymo_record *kymo__lane_slow(struct kymo_lane *lane, struct kymo_record *at,
                                             unsigned count);

/* Claim this thread's lane with room for COUNT consecutive records. Returns where the first one
   goes, or NULL if no session runs or memory is full; lost records are counted. On success *LANE is
   the thread's lane, and commit or release must follow. COUNT is a small constant; 0 claims the
   lane for other work. */
KYMO_INLINE struct kymo_record *kymo_lane_claim(struct kymo_lane **lane, unsigned count)
{
    struct kymo_lane *mine = kymo__lane;
    struct kymo_record *at = NULL;
    if (__builtin_expect(mine && !__atomic_load_n(&mine->claimed, __ATOMIC_RELAXED), 1)) {
        /* A signal handler that records before this store advances `next` and leaves the lane
           unclaimed, so read `next` after the store. */
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

/* Like kymo_lane_claim, but only for the fast case: returns NULL and does nothing if that would be
   slow or if ticks do not come from kymo__counter_read. For very hot paths that handle every other
   case out of line, with kymo_lane_claim. */
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

/* Fill in one record. A record counts once its word is set, so the word is stored last. */
KYMO_INLINE void kymo_lane_store(struct kymo_record *at, uint64_t ticks, uint64_t word)
{
    __atomic_store_n(&at->ticks, ticks, __ATOMIC_RELAXED);
    __atomic_store_n(&at->word, word, __ATOMIC_RELEASE);
}

/* End the claim; AFTER points past the last record stored. Records are written once, into memory
   last touched by the writer thread, so this prefetches the space for records to come. */
KYMO_INLINE void kymo_lane_commit(struct kymo_lane *lane, struct kymo_record *after)
{
    lane->next = after;
    kymo__write_ahead(after);
    __atomic_store_n(&lane->claimed, 0u, __ATOMIC_RELEASE);
}

/* End the claim on AT without recording anything. */
KYMO_INLINE void kymo_lane_release(struct kymo_lane *lane, struct kymo_record *at)
{
    kymo_lane_commit(lane, at);
}

/* End the claim on AT and count COUNT events as lost for REASON (enum kymo_gap). */
KYMO_API void kymo_lane_drop(struct kymo_lane *lane, struct kymo_record *at, unsigned count,
                             int reason);

/* Create and claim the lane of thread TID of this process, which has not recorded yet, with room
   for COUNT records at *AT; commit it like the caller's own. Returns NULL if that thread has
   recorded already or memory is short. The caller must keep the thread from recording meanwhile.
   The thread uses this lane when it first records. */
KYMO_API struct kymo_lane *kymo_lane_of_thread(uint32_t tid, unsigned count,
                                               struct kymo_record **at);

/* Return room for COUNT more records after AFTER in LANE, which the caller has claimed. Returns
   NULL if there is none; the claim has then ended. */
KYMO_API struct kymo_record *kymo_lane_more(struct kymo_lane *lane, struct kymo_record *after,
                                            unsigned count);

/* Build a record's word: KIND with its DETAIL, about KEY. */
KYMO_INLINE uint64_t kymo_word(unsigned kind, unsigned detail, uint32_t key)
{
    return (uint64_t)kind << 56 | (uint64_t)detail << 48 | key;
}

/* Bit in the detail of an enter or leave, beside those in struct kymo_event: a VALUE record follows
   with the id of the generator or coroutine that this slice belongs to. */
#define KYMO_HAS_ID 0x80u
#define KYMO_VALUE_WORD ((uint64_t)64 << 56) /* `ticks` of such a record is the value */

/* 1: ticks come from the counter register, 0: from clock_gettime. */
KYMO_API extern uint32_t kymo__clock_counter;
KYMO_API uint64_t kymo__ticks_without(void);

/* Return the current time in ticks, as records store it. */
KYMO_INLINE uint64_t kymo_ticks(void)
{
    if (__builtin_expect(__atomic_load_n(&kymo__clock_counter, __ATOMIC_RELAXED) != 0, 1))
        return kymo__counter_read();
    return kymo__ticks_without();
}

/* Return the time now, which this thread will record a little later. Until kymo__stamp_end samples
   wait: one that is taken in between would be recorded before it, and be later. */
KYMO_INLINE uint64_t kymo__stamp_begin(void)
{
    if (__builtin_expect(kymo__lane != NULL, 1)) {
        __atomic_store_n(&kymo__lane->stamped, 1u, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    return kymo_ticks();
}

KYMO_INLINE void kymo__stamp_end(void)
{
    if (__builtin_expect(kymo__lane != NULL, 1)) {
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        __atomic_store_n(&kymo__lane->stamped, 0u, __ATOMIC_RELAXED);
    }
}

/* What a key refers to. */
enum kymo_class {
    KYMO_CLASS_NAME = 0,     /* a name given to a marking call */
    KYMO_CLASS_FUNCTION = 1, /* a function in the program's language: Python */
    KYMO_CLASS_NATIVE = 2,   /* a function implemented in C; file is its module */
    KYMO_CLASS_METHOD = 3,   /* a method implemented in C; name is Type.method */
    KYMO_CLASS_TYPE = 4,     /* a type that is called */
    KYMO_CLASS_CALLABLE = 5, /* any other callable object; name is its type's */
    KYMO_CLASS_GC = 6,       /* a garbage collection */
    KYMO_CLASS_WAIT = 7,     /* in the life of a task: a wait, at a file and line, or being ready */
    KYMO_CLASS_OPERATOR = 8, /* an operator of a framework, such as aten::mm */
};

struct kymo_function {
    size_t size;
    const char *name; /* UTF-8; copied, as is file */
    const char *file; /* or module; may be NULL */
    uint32_t line;
    uint32_t kind; /* enum kymo_class */
};

/* Create a key for FUNCTION in the running session. Returns 0 if no session runs or there is no
   room. Every call returns a new key; the source remembers which function has which. Takes a lock:
   do not call it while this thread has claimed its lane. */
KYMO_API uint32_t kymo_function_key(const struct kymo_function *function);

#ifdef __cplusplus
}
#endif
#endif
