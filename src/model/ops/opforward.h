/* opforward.h — which operator of the forward pass a backward operator belongs to.

   Both carry the same sequence number; the backward one names the thread of the other. Several
   nested forward operators may have a number; the one that began last made the backward one.

   Memory is bounded: of each thread, about the last KYMO__FORWARDS_MOST numbers without a backward
   operator are kept, and at least the last thousand of all. */
#ifndef KYMO_OPFORWARD_H
#define KYMO_OPFORWARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KYMO__FORWARDS_MOST = 1 << 20 };

struct kymo_op_forward {
    uint64_t thread; /* the framework's number, and the process */
    int64_t seq;
    uint64_t id;     /* of the operator; 0: the slot is free */
    uint64_t number; /* which enter of its thread it was */
    uint32_t lane;   /* index of its thread */
    bool used;       /* a backward operator was found */
};

/* An all-zero table is empty. */
struct kymo_op_forwards {
    struct kymo_op_forward *slots;
    size_t count; /* a power of two, or 0 */
};

/* Remember FORWARD. Returns 0 or -ENOMEM. */
int kymo__op_forward_set(struct kymo_op_forwards *forwards, const struct kymo_op_forward *forward);

/* Find one, or NULL; lent until the next set. */
struct kymo_op_forward *kymo__op_forward_find(const struct kymo_op_forwards *forwards,
                                              uint64_t thread, int64_t seq);
void kymo__op_forwards_fini(struct kymo_op_forwards *forwards);

#endif
