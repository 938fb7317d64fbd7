/* edges.h — who calls whom: the calls of a tree by caller and callee.

   As with a function's total, a call nested in another with the same caller and callee adds to the
   self time but not to the total. */
#ifndef KYMO_EDGES_H
#define KYMO_EDGES_H

#include "tree.h"

struct kymo_edge {
    uint32_t caller, callee; /* callables */
    uint64_t calls, resumes;
    uint64_t primitive; /* calls not nested in another of this edge */
    kymo_ns self, total;
    uint32_t active; /* private to edges.c */
};

struct kymo_edges {
    struct kymo_edge *all; /* ordered by caller, then callee */
    size_t count, capacity;
};

/* Find the edges of TREE, which must not be by thread. Returns 0 or -ENOMEM; call fini in either
   case. */
int kymo__edges_init(struct kymo_edges *edges, const struct kymo_tree *tree);
void kymo__edges_fini(struct kymo_edges *edges);

/* Order them by callee, then by caller. */
void kymo__edges_by_callee(struct kymo_edges *edges);

#endif
