/* asyncs.h — costs of async spans, including asyncio tasks: how many, how long, and how much of
   that was spent waiting in another span of the same id. A task that waits no longer is "ready"
   until the event loop runs it: that is counted apart.

   Name and id identify an open span. A span that begins while another of its id is open is nested
   in it, like the waits of a task. A span may end on another thread than the one that began it;
   such begins and ends are matched after all threads have been read. Memory is bounded by the
   number of spans open at once, plus a limit for leftovers. */
#ifndef KYMO_ASYNCS_H
#define KYMO_ASYNCS_H

#include "callables.h"

struct kymo_async_cost {
    uint64_t count;  /* spans, including those not ended */
    uint64_t inside; /* of them, nested in another span of the same id */
    uint64_t open;   /* of them, not ended */
    kymo_ns time, longest;
    kymo_ns waited; /* in nested spans */
    /* Of a task: how long it was ready. Of a wait: how long tasks were ready after it. */
    kymo_ns ready, ready_longest;
};

/* How often and how long a callback blocked its event loop. */
struct kymo_async_blocked {
    uint64_t count;
    kymo_ns time, longest;
    kymo_ns when; /* the longest began then */
};

struct kymo_asyncs {
    size_t callables;
    uint32_t ready;                      /* the callable that is "ready"; 0 if there is none */
    struct kymo_async_cost **of;         /* by callable; NULL if there are none */
    struct kymo_async_blocked **blocked; /* same */
    uint64_t unmatched;                  /* ends without a begin */
    /* The rest is private to asyncs.c. */
    struct kymo_async_open {
        uint64_t id;
        uint32_t callable;
        uint32_t outer; /* position plus 1 of the enclosing span, 0 none; or the next free one */
        uint32_t last;  /* callable of the wait that ended last inside; 0 none */
        kymo_ns begun, inside, ready, ready_longest;
    } * open;
    size_t open_count, open_capacity;
    uint32_t free;
    struct kymo_async_slot {
        uint64_t id;
        uint32_t top; /* position plus 1 of the innermost open span of this id; 0 none */
        bool used;    /* used by an id, which may be any number */
    } * slots;
    size_t slot_count, slots_used;
    struct kymo_async_end {
        uint64_t id;
        uint32_t callable;
        bool begin; /* a leftover begin, not an end */
        kymo_ns time, inside, ready, ready_longest;
    } * left;
    size_t left_count, left_capacity;
};

/* For CALLABLES. Returns 0 or -ENOMEM. */
int kymo__asyncs_init(struct kymo_asyncs *asyncs, const struct kymo_callables *callables);
void kymo__asyncs_fini(struct kymo_asyncs *asyncs);

/* A span of CALLABLE and ID begins or ends. Returns 0 or -ENOMEM. */
int kymo__asyncs_begin(struct kymo_asyncs *asyncs, uint32_t callable, uint64_t id, kymo_ns time);
int kymo__asyncs_end(struct kymo_asyncs *asyncs, uint32_t callable, uint64_t id, kymo_ns time);

/* CALLABLE blocked its event loop for NS until TIME. Returns 0 or -ENOMEM. */
int kymo__asyncs_blocked(struct kymo_asyncs *asyncs, uint32_t callable, kymo_ns time, uint64_t ns);

/* Add the contents of OTHER and empty it. Returns 0 or -ENOMEM. */
int kymo__asyncs_merge(struct kymo_asyncs *asyncs, struct kymo_asyncs *other);

/* Everything has been read: match leftovers. Spans still open last until END. */
int kymo__asyncs_settle(struct kymo_asyncs *asyncs, kymo_ns end);

#endif
