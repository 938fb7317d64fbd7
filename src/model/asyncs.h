/* asyncs.h — what async spans, asyncio's tasks among them, cost: how many, how long, and how
   much of it was spent waiting in another of the same id.

   Name and id identify a span that is open. One that begins while another of its id is open
   lies inside that: the waits of a task do. A span may end on another thread than the one
   that began it; such ends and begins are put together when all threads have been read.
   Memory is bounded: by what is open at once, and by a limit for what is left over. */
#ifndef KYMO_ASYNCS_H
#define KYMO_ASYNCS_H

#include "callables.h"

struct kymo_async_cost {
    uint64_t count;  /* of spans, those that have not ended too */
    uint64_t inside; /* of them, in another span of the same id */
    uint64_t open;   /* of them, not ended */
    kymo_ns time, waited, longest;
};

struct kymo_asyncs {
    size_t callables;
    struct kymo_async_cost **of; /* by callable; NULL when there are none */
    uint64_t unmatched;          /* ends without a begin */
    /* The rest is the file's own. */
    struct kymo_async_open {
        uint64_t id;
        uint32_t callable;
        uint32_t outer; /* position plus 1 of the one it is in, 0 none; or the next free one */
        kymo_ns begun, inside;
    } * open;
    size_t open_count, open_capacity;
    uint32_t free;
    struct kymo_async_slot {
        uint64_t id;
        uint32_t top; /* position plus 1 of the innermost open span of this id; 0 free */
    } * slots;
    size_t slot_count, slots_used;
    struct kymo_async_end {
        uint64_t id;
        uint32_t callable;
        bool begin; /* a begin left over, not an end */
        kymo_ns time, inside;
    } * left;
    size_t left_count, left_capacity;
};

/* For CALLABLES callables. Returns 0 or -ENOMEM. */
int kymo__asyncs_init(struct kymo_asyncs *asyncs, size_t callables);
void kymo__asyncs_fini(struct kymo_asyncs *asyncs);

/* A span of CALLABLE and ID begins or ends. 0 or -ENOMEM. */
int kymo__asyncs_begin(struct kymo_asyncs *asyncs, uint32_t callable, uint64_t id, kymo_ns time);
int kymo__asyncs_end(struct kymo_asyncs *asyncs, uint32_t callable, uint64_t id, kymo_ns time);

/* Add what OTHER holds, which is spent by it. 0 or -ENOMEM. */
int kymo__asyncs_merge(struct kymo_asyncs *asyncs, struct kymo_asyncs *other);

/* All has been read: put together what is left over; what is open lasts until END. */
int kymo__asyncs_settle(struct kymo_asyncs *asyncs, kymo_ns end);

#endif
