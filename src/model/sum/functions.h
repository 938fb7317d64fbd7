/* functions.h — what each callable cost: calls, self and total time, and how long single calls
   took. Memory is bounded by the number of callables that were called.

   A recursive call adds to the self time but not to the total, so that recursion does not count
   twice. Each interval between an enter and its leave is an activation: a call, or the part of a
   generator's life between a resume and a yield. */
#ifndef KYMO_FUNCTIONS_H
#define KYMO_FUNCTIONS_H

#include "callables.h"
#include "calls.h"
#include "histogram.h"

struct kymo_function_cost {
    uint64_t calls;     /* entered by a call, or open at the start */
    uint64_t resumes;   /* re-entered: generators and coroutines */
    uint64_t primitive; /* calls not nested in another of the same callable */
    kymo_ns self, total;
    kymo_ns sum;                   /* sum of all activations, including nested ones */
    kymo_ns least, most;           /* shortest and longest activation */
    struct kymo_histogram lengths; /* durations of activations */
    uint32_t active;               /* open now on the thread being read */
    uint32_t off;                  /* times it was switched off to keep to an overhead budget */
    uint64_t lost_leaves;          /* activations whose end was not recorded */
    kymo_ns off_when;              /* the first of them */
};

struct kymo_functions {
    const struct kymo_callables *callables;
    struct kymo_function_cost **of; /* by callable; NULL when it was never called */
    struct kymo_cost_block *blocks; /* where they lie; private to functions.c */
};

/* Start empty. CALLABLES is borrowed. Returns 0 or -ENOMEM. */
int kymo__functions_init(struct kymo_functions *functions, const struct kymo_callables *callables);
void kymo__functions_fini(struct kymo_functions *functions);

/* A call of CALLABLE begins, or ends. Returns 0 or -ENOMEM. */
int kymo__functions_enter(struct kymo_functions *functions, uint32_t callable);
int kymo__functions_leave(struct kymo_functions *functions, uint32_t callable,
                          const struct kymo_slice *slice);

/* The end of a call of CALLABLE that began here is unknown. */
void kymo__functions_forget(struct kymo_functions *functions, uint32_t callable);

/* CALLABLE was switched off at WHEN. Returns 0 or -ENOMEM. */
int kymo__functions_off(struct kymo_functions *functions, uint32_t callable, kymo_ns when);

/* Move the contents of OTHER, which has the same callables, into FUNCTIONS; OTHER is freed. Returns
   0 or -ENOMEM. */
int kymo__functions_merge(struct kymo_functions *functions, struct kymo_functions *other);

static inline uint64_t kymo__activations(const struct kymo_function_cost *cost)
{
    return cost->calls + cost->resumes;
}

/* What the mean is one of. A span or an operator that outlives the call it began in comes in parts,
   which are one call; of anything else each activation counts. */
static inline uint64_t kymo__occasions(const struct kymo_function_cost *cost, unsigned class)
{
    return kymo__class_is_marked(class) && cost->calls ? cost->calls : kymo__activations(cost);
}

static inline kymo_ns kymo__mean(const struct kymo_function_cost *cost, unsigned class)
{
    uint64_t occasions = kymo__occasions(cost, class);
    return occasions ? cost->sum / (kymo_ns)occasions : 0;
}

#endif
