/* path.h — from a stack to its node in the tree (stacktree.h).

   A thread remembers the path that it followed last. Most of the outer frames of the next stack are
   the same, and their nodes are known; only the rest is looked up. */
#ifndef KYMO_PATH_H
#define KYMO_PATH_H

#include "walker.h"

/* The word of FRAME (merge.h); 0 if it is not shown. */
uint64_t kymo__path_word(struct kymo_merged frame);

/* Store in *NODE the node of the stack that was walked last, NATIVE and MANAGED: 0 if none of its frames
   is shown. LOWEST: see merge.h. False if there is no room. */
bool kymo__path_follow(struct kymo_walker *own, const struct kymo_path_scope *scope,
                       const struct kymo_walk *native, const struct kymo_managed_walk *managed,
                       uint64_t lowest, kymo_stack *node);

#endif
