/* nodechain.h — definitions of nodes, several in one: a new stack usually adds a few nodes, each called
   from the one before, with consecutive ids. One NODE with all their frames takes a quarter of the space
   of one for each. One thread at a time. */
#ifndef KYMO_NODECHAIN_H
#define KYMO_NODECHAIN_H

#include "names.h"

enum { KYMO__NODECHAIN_MOST = 64 };

/* Nodes that are not written yet, with ids from `first` on. */
struct kymo_nodechain {
    uint32_t first, parent;
    uint32_t count;
    uint32_t frames[KYMO__NODECHAIN_MOST];
};

/* Define node ID of FRAME called from PARENT, sooner or later. 0, or negative errno with nothing
   added. */
int kymo__nodechain_add(struct kymo_nodechain *chain, struct kymo_names *names, uint32_t id,
                        uint32_t parent, uint32_t frame);

/* Write what is not written: before any definition that refers to a node. 0 or negative errno; then it
   can be tried again. */
int kymo__nodechain_flush(struct kymo_nodechain *chain, struct kymo_names *names);

#endif
