/* flame_nodes.h — a call tree as the list of numbers from which a page draws a flame graph.

   Each node starts with its function and the number of levels to go up from the previous node to
   reach its sibling (0: it is a child of that node); figures follow. Callers come before callees,
   siblings in order of total.

   To spare the browser, the shortest nodes of a large tree are left out. No node loses its caller,
   because a callee never takes longer than its caller. */
#ifndef KYMO_FLAME_NODES_H
#define KYMO_FLAME_NODES_H

#include "outfile.h"
#include "tree.h"

struct kymo_flame_nodes {
    uint64_t hidden;      /* nodes left out */
    kymo_ns shortest;     /* the shortest node written */
    size_t shortest_left; /* how many nodes of exactly that length may still be written */
    uint32_t above;       /* depth of the previous node */
    bool more;            /* there is a previous node */
};

/* Decide which nodes of TREE are too short. Nodes with a negative total do not count. Returns 0 or
   -ENOMEM. */
int kymo__flame_nodes_init(struct kymo_flame_nodes *nodes, const struct kymo_tree *tree);

/* Start a list of nodes below something at DEPTH. */
void kymo__flame_nodes_below(struct kymo_flame_nodes *nodes, uint32_t depth);

/* Start the next node, for FUNCTION at DEPTH. Returns false and writes nothing if it is too short.
   Every figure that follows must start with a comma. */
bool kymo__flame_nodes_next(struct kymo_flame_nodes *nodes, struct kymo_outfile *out,
                            const struct kymo_node *node, uint32_t function, uint32_t depth);

#endif
