/* tree.h — calls by call path.

   A node is a callable called from the node above it. The number of nodes is bounded: when the
   bound is reached, calls on new paths count as part of the nearest existing node above them, and
   `folded` says how many did. */
#ifndef KYMO_TREE_H
#define KYMO_TREE_H

#include "calls.h"

struct kymo_node {
    uint32_t parent; /* 0, the root, for outermost calls */
    uint32_t callable;
    uint32_t child, sibling; /* first child, next sibling; 0 if none */
    uint64_t calls, resumes;
    kymo_ns self, total;
};

struct kymo_tree {
    struct kymo_node *nodes; /* parents come before their children; 0 is the root */
    size_t count, capacity, most;
    uint32_t *slots; /* hash table of the nodes with many siblings, by parent and callable, which
                        are compared in the nodes: a map with keys would be as large as those */
    size_t slot_count, slot_used;
    uint64_t folded;
};

/* Create an empty tree of at most MOST nodes. Returns 0 or -ENOMEM. */
int kymo__tree_init(struct kymo_tree *tree, size_t most);
void kymo__tree_fini(struct kymo_tree *tree);

/* Return the node of CALLABLE called from node PARENT, or -ENOMEM. If the tree is full, returns
   PARENT and sets FOLDED, which must be passed to kymo__tree_leave. */
int64_t kymo__tree_enter(struct kymo_tree *tree, uint32_t parent, uint32_t callable, bool *folded);

/* A call on NODE has ended. */
void kymo__tree_leave(struct kymo_tree *tree, uint32_t node, bool folded,
                      const struct kymo_slice *slice);

/* Add the contents of OTHER. Returns 0 or -ENOMEM. */
int kymo__tree_merge(struct kymo_tree *tree, struct kymo_tree *other);

/* The tree is complete: sort every node's children by decreasing total, and free what is needed
   only to add to it. */
void kymo__tree_sort(struct kymo_tree *tree);

/* Return the next node in pre-order, or 0 after the last. *DEPTH is NODE's depth and becomes the
   next one's; the root has depth 0. */
static inline uint32_t kymo__tree_next(const struct kymo_tree *tree, uint32_t node, uint32_t *depth)
{
    const struct kymo_node *nodes = tree->nodes;
    if (nodes[node].child) {
        ++*depth;
        return nodes[node].child;
    }
    while (node && !nodes[node].sibling) {
        node = nodes[node].parent;
        --*depth;
    }
    return nodes[node].sibling;
}

#endif
