/* edges.h — who calls whom: the calls of a tree by caller and callee.

   As with a function's total, a call inside another by the same caller of the same callee adds
   to the self time but not to the total. */
#ifndef KYMO_EDGES_H
#define KYMO_EDGES_H

#include "tree.h"

struct kymo_edge {
    uint32_t caller, callee; /* callables */
    uint64_t calls, resumes;
    uint64_t primitive; /* of the calls, those not inside another of this edge */
    kymo_ns self, total;
    uint32_t active; /* the file's own */
};

struct kymo_edges {
    struct kymo_edge *all; /* by caller, then by callee */
    size_t count, capacity;
};

/* The edges of TREE, which is not one by thread. Returns 0 or -ENOMEM; fini in any case. */
int kymo__edges_init(struct kymo_edges *edges, const struct kymo_tree *tree);
void kymo__edges_fini(struct kymo_edges *edges);

/* Order them by callee, then by caller. */
void kymo__edges_by_callee(struct kymo_edges *edges);

#endif
