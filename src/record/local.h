/* local.h — a thread's place to record into, and the recording path itself.

   A thread claims its place by taking `next` out of it, stores its records, and puts
   `next` back behind them. While it is out, a second call on the same thread (from a
   signal handler, say) finds nothing and gives up, and kymo_stop waits. The claim is
   an ordinary store: kymo__switch_set(0) makes all threads pass a barrier, after
   which either the claimer sees the switch off or the stopper sees the claim. */
#ifndef KYMO_LOCAL_H
#define KYMO_LOCAL_H

#include "clock.h"
#include "format.h"
#include "names.h"
#include "switch.h"

#define KYMO__RECENT 64 /* a power of two */

struct kymo_local {
    struct kymo_record *next; /* NULL while claimed. Written by the owner; the stopper reads */
    struct kymo_record *end;  /* of the chunk. This and all below: owner, while claimed */
    uint32_t session;         /* to which the rest belongs */
    uint32_t thread;          /* index in the capture */
    struct kymo_names *names; /* of the session */
    struct kymo_chunk *chunk; /* NULL: none could be had */
    uint64_t number;          /* of the next chunk */
    struct kymo_gap_slot *gap; /* in the live file, or &spare */
    struct kymo_gap_slot spare;
    struct kymo_local *before, *after; /* all locals; under the registry's lock */
    /* Names met lately and their keys, by address: most look-ups end here. */
    struct kymo_recent {
        const void *address;
        uint32_t key;
    } recent[KYMO__RECENT];
};

/* This thread's, or NULL before its first record. One word of initial-exec storage:
   reading it is one instruction, also in a library that was loaded late. */
extern _Thread_local struct kymo_local *kymo__self __attribute__((tls_model("initial-exec")));

/* The system's id of this thread, asked for once. */
extern _Thread_local uint32_t kymo__tid __attribute__((tls_model("initial-exec")));
uint32_t kymo__tid_ask(void);

static inline uint32_t kymo__tid_now(void)
{
    return kymo__likely(kymo__tid) ? kymo__tid : kymo__tid_ask();
}

/* The rest of kymo__claim: LOCAL is this thread's or NULL, AT what it had in `next`. */
struct kymo_record *kymo__claim_slow(struct kymo_local *local, struct kymo_record *at,
                                     unsigned count);

/* Room for COUNT consecutive records on this thread, or NULL when there is no session
   or no memory; what is lost is counted. After success *SELF is the thread's local, and
   kymo__commit or kymo__abandon must follow. */
KYMO__INLINE struct kymo_record *kymo__claim(struct kymo_local **self, unsigned count)
{
    struct kymo_local *local = kymo__self;
    struct kymo_record *at = NULL;
    if (kymo__likely(local)) {
        at = kymo__load_relaxed(&local->next);
        kymo__store_relaxed(&local->next, (struct kymo_record *)NULL);
        kymo__compiler_fence();
        /* One comparison finds a NULL and a chunk without room. */
        if (kymo__likely(kymo__switch_now() == local->session &&
                         (uintptr_t)at - 1 < (uintptr_t)(local->end - count))) {
            *self = local;
            return at;
        }
    }
    at = kymo__claim_slow(local, at, count);
    *self = kymo__self;
    return at;
}

/* The key of the name at ADDRESS, inside a claim; 0 when it cannot be had. */
uint32_t kymo__key_slow(struct kymo_local *local, const char *name);

KYMO__INLINE uint32_t kymo__key(struct kymo_local *local, const char *name)
{
    uintptr_t bits = (uintptr_t)name;
    const struct kymo_recent *recent = &local->recent[(bits ^ bits >> 6) % KYMO__RECENT];
    if (kymo__likely(recent->address == name))
        return recent->key;
    return kymo__key_slow(local, name);
}

/* Fill in one record; the word makes it count, so it is stored last. */
KYMO__INLINE void kymo__store_record(struct kymo_record *at, uint64_t ticks, uint64_t word)
{
    kymo__store_relaxed(&at->ticks, ticks);
    kymo__store_release(&at->word, word);
}

/* Give the claim back; AFTER is behind the last record stored. */
KYMO__INLINE void kymo__commit(struct kymo_local *local, struct kymo_record *after)
{
    kymo__store_release(&local->next, after);
}

/* Give the claim on AT back with COUNT records given up for REASON; 0 of them: it was
   not needed after all. */
void kymo__abandon(struct kymo_local *local, struct kymo_record *at, unsigned count, int reason);

/* For kymo_stop, under no lock: wait until no thread is inside a claim, then take
   every chunk of session NUMBER from its thread. Returns how many threads could not
   be waited for. */
unsigned kymo__locals_detach(uint32_t number);

/* In a forked child: forget all threads but this one. */
void kymo__locals_forked(void);

#endif
