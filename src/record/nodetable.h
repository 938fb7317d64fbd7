/* nodetable.h — ids for nodes of stacks in a capture: a hash table from a parent's id and a frame to the id
   of the node, which are counted from 1. Twelve bytes for each, since a capture may have millions. One
   thread at a time. */
#ifndef KYMO_NODETABLE_H
#define KYMO_NODETABLE_H

#include <stddef.h>
#include <stdint.h>

#define KYMO__NODETABLE_MOST (UINT32_C(1) << 22)

struct kymo_nodetable {
    struct kymo_nodetable_node {
        uint32_t parent, frame;
    } * nodes; /* by id - 1 */
    size_t count, capacity;
    uint32_t *slots;
    size_t slot_count; /* a power of two, or 0 */
};

/* The id of the node of FRAME below PARENT, or 0. */
uint32_t kymo__nodetable_find(const struct kymo_nodetable *table, uint32_t parent, uint32_t frame);

/* Make room for one more, so that the next add cannot fail. 0, -ENOMEM, or -ENOSPC if there are
   KYMO__NODETABLE_MOST. */
int kymo__nodetable_reserve(struct kymo_nodetable *table);

/* Add a node that is not in the table; after a reserve. Returns its id. */
uint32_t kymo__nodetable_add(struct kymo_nodetable *table, uint32_t parent, uint32_t frame);
void kymo__nodetable_fini(struct kymo_nodetable *table);

#endif
