/* functions.h — what each callable cost: calls, self and total time, and how long single
   calls took. Memory is bounded by the number of callables that were called.

   A call inside another of the same callable adds to the self time but not to the total,
   so that recursion does not count twice. Every stretch between an enter and its leave is
   an activation: a call, or the part of a generator's life between a resume and a yield. */
#ifndef KYMO_FUNCTIONS_H
#define KYMO_FUNCTIONS_H

#include "callables.h"
#include "calls.h"
#include "histogram.h"

struct kymo_function_cost {
    uint64_t calls;     /* entered by a call, or open at the start */
    uint64_t resumes;   /* entered again: generators and coroutines */
    uint64_t primitive; /* of the calls, those not inside another of the same callable */
    kymo_ns self, total;
    kymo_ns sum;                   /* of all activations, nested ones too */
    kymo_ns least, most;           /* of a single activation */
    uint32_t active;               /* open now on the thread being read */
    struct kymo_histogram lengths; /* of activations */
    uint64_t lost_leaves;          /* activations whose end was not recorded */
    uint64_t off;                  /* times it was switched off to keep to an overhead budget */
    kymo_ns off_when;              /* the first of them */
};

struct kymo_functions {
    const struct kymo_callables *callables;
    struct kymo_function_cost **of; /* by callable; NULL when it was never called */
};

/* CALLABLES is lent. Returns 0 or -ENOMEM. */
int kymo__functions_init(struct kymo_functions *functions, const struct kymo_callables *callables);
void kymo__functions_fini(struct kymo_functions *functions);

/* Take a call of CALLABLE in: at its beginning and at its end. 0 or -ENOMEM. */
int kymo__functions_enter(struct kymo_functions *functions, uint32_t callable);
int kymo__functions_leave(struct kymo_functions *functions, uint32_t callable,
                          const struct kymo_slice *slice);

/* CALLABLE was switched off at WHEN. 0 or -ENOMEM. */
int kymo__functions_off(struct kymo_functions *functions, uint32_t callable, kymo_ns when);

/* Add what OTHER, of the same callables, holds. 0 or -ENOMEM. */
int kymo__functions_merge(struct kymo_functions *functions, const struct kymo_functions *other);

static inline uint64_t kymo__activations(const struct kymo_function_cost *cost)
{
    return cost->calls + cost->resumes;
}

#endif
