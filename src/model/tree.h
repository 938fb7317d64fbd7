/* tree.h — calls by the path on which they were made.

   A node is a callable called from the node above it. The number of nodes is bounded:
   when the bound is reached, calls on paths not seen before count as part of the nearest
   node above them that there is, and `folded` says how many did. */
#ifndef KYMO_TREE_H
#define KYMO_TREE_H

#include "calls.h"

struct kymo_node {
    uint32_t parent; /* 0, the root, for outermost calls */
    uint32_t callable;
    uint32_t child, sibling; /* the first below, the next beside; 0 none */
    uint64_t calls, resumes;
    kymo_ns self, total;
};

struct kymo_tree {
    struct kymo_node *nodes; /* parents stand before their children; 0 is the root */
    size_t count, capacity, most;
    struct kymo_tree_slot {
        uint64_t path; /* parent << 32 | callable: the node itself need not be looked at */
        uint32_t node; /* 0 for free */
    } * slots;
    size_t slot_count; /* a power of two */
    uint64_t folded;
};

/* An empty tree that grows to MOST nodes. Returns 0 or -ENOMEM. */
int kymo__tree_init(struct kymo_tree *tree, size_t most);
void kymo__tree_fini(struct kymo_tree *tree);

/* The node of CALLABLE called from node PARENT, or -ENOMEM. PARENT itself when the tree is
   full: then kymo__tree_leave must be told that the call is FOLDED. */
int64_t kymo__tree_enter(struct kymo_tree *tree, uint32_t parent, uint32_t callable, bool *folded);

/* A call on NODE has ended. */
void kymo__tree_leave(struct kymo_tree *tree, uint32_t node, bool folded,
                      const struct kymo_slice *slice);

/* Add what OTHER holds. Returns 0 or -ENOMEM. */
int kymo__tree_merge(struct kymo_tree *tree, const struct kymo_tree *other);

/* Order every node's children, those with the greatest total first. */
void kymo__tree_sort(struct kymo_tree *tree);

/* The node after NODE when every node comes before its children and these before its next
   sibling; 0 after the last. *DEPTH is NODE's and becomes the next one's, the root's being 0. */
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
