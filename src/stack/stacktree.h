/* stacktree.h — the stacks of a session as a tree: a node is a frame and the node that called it, and
   names the whole stack down to that frame.

   A stack that differs from an earlier one in its inner frames costs those frames alone, in memory
   and in the capture. Nodes are only added, and forgotten together when the next session begins.
   Nothing here takes a lock or waits. Ids of nodes are odd, those of bycontent.h even, so that both
   may be in one capture. */
#ifndef KYMO_STACKTREE_H
#define KYMO_STACKTREE_H

#include <kymo/stack.h>
#include <stdbool.h>

static inline bool kymo__stacktree_has(kymo_stack stack)
{
    return stack & 1;
}

/* How many nodes there may be, from the next session on: 96 MiB of them. For tests. */
extern uint32_t kymo__stacktree_most;

/* Forget everything, when no thread can be adding. */
void kymo__stacktree_begin(void);

/* The node of the frame WORD (merge.h, not 0) called from PARENT; 0 is the outermost's. Two threads
   that add the same frame at the same moment may get two nodes. Returns 0 if there is no room. */
kymo_stack kymo__stacktree_child(kymo_stack parent, uint64_t word);

/* The frame of NODE, and the node that called it. The word is 0 while the node is being added. */
uint64_t kymo__stacktree_word(kymo_stack node);
kymo_stack kymo__stacktree_parent(kymo_stack node);

/* NODE is used as a stack; true the first time. */
bool kymo__stacktree_use(kymo_stack node);

/* Take one of the nodes that have been used since; 0 if there is none. One thread at a time. */
kymo_stack kymo__stacktree_used(void);
bool kymo__stacktree_has_used(void);

/* The last node. All before it, and no others, are in the tree; a parent comes before its
   children. */
kymo_stack kymo__stacktree_last(void);

void kymo__stacktree_stats(struct kymo_stack_stats *stats);

#endif
