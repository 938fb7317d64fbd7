/* owncost.h — how much of the recorded time is the tracer's own, and figures without it.

   Before a session begins, the tracer measures what recording one call costs and stores it in the
   capture's metadata. Part of that cost falls between the recorded begin and end of the call and
   counts as the function's self time; the rest counts as its caller's. This subtracts the cost
   again, path by path. The result is an estimate: it assumes that every call costs as much as the
   measured ones, and calls cost more in a program whose code is often out of cache. */
#ifndef KYMO_OWNCOST_H
#define KYMO_OWNCOST_H

#include "survey.h"

/* Nanoseconds per call, in total and between begin and end; all 0 if unknown. */
struct kymo_call_costs {
    double python, python_inside;
    double c, c_inside;
};

struct kymo_own_cost {
    struct kymo_call_costs call;
    bool known;
    kymo_ns own;          /* the tracer's share of the time in all calls, on all threads */
    kymo_ns *self;        /* by callable: its times without the tracer's share */
    kymo_ns *total, *sum; /* as in struct kymo_function_cost */
    kymo_ns *node_self;   /* by node of the tree */
    kymo_ns *node_total;
};

/* Estimate it for SURVEY of CAPTURE, which has a tree. Without FIGURES only `own`: the arrays stay
   NULL. Returns 0 or -ENOMEM; call fini in either case. */
int kymo__own_cost_init(struct kymo_own_cost *cost, const struct kymo_capture *capture,
                        const struct kymo_survey *survey, bool figures);
void kymo__own_cost_fini(struct kymo_own_cost *cost);

/* Replace the times of SURVEY, from which COST was made, with its figures. Times of single calls
   and of threads stay as recorded. */
void kymo__own_cost_take_out(const struct kymo_own_cost *cost, struct kymo_survey *survey);

#endif
