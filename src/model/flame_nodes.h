/* flame_nodes.h — a call tree as the numbers from which a page draws a flame graph.

   Each node begins with its function and with how many levels up from the node before lies
   its sibling, 0 for a child of that; figures follow. Callers come before what they call, and
   siblings by their total.

   A browser should not get more nodes than it can hold: of too many the shortest are left out,
   which leaves no node without its caller, as nothing takes longer than that. */
#ifndef KYMO_FLAME_NODES_H
#define KYMO_FLAME_NODES_H

#include "outfile.h"
#include "tree.h"

struct kymo_flame_nodes {
    uint64_t hidden;      /* nodes that are left out */
    kymo_ns shortest;     /* that is written */
    size_t shortest_left; /* how many of those that are just as short may still be written */
    uint32_t above;       /* depth of the node written last */
    bool more;            /* there was one */
};

/* Decide what of TREE is too short. Nodes of a negative total do not count. 0 or -ENOMEM. */
int kymo__flame_nodes_init(struct kymo_flame_nodes *nodes, const struct kymo_tree *tree);

/* Begin a list of nodes below something at DEPTH. */
void kymo__flame_nodes_below(struct kymo_flame_nodes *nodes, uint32_t depth);

/* Begin the next node, which is FUNCTION's and at DEPTH, unless it is too short: then false is
   returned and nothing written. Every figure that follows begins with a comma. */
bool kymo__flame_nodes_next(struct kymo_flame_nodes *nodes, struct kymo_outfile *out,
                            const struct kymo_node *node, uint32_t function, uint32_t depth);

#endif
