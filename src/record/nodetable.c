/* nodetable.c — see nodetable.h. A slot holds an id and, above it, bits of the hash, which rule out most
   other nodes without reading them. At most half of the slots are in use. */
#include "nodetable.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "hash.h"

enum { ID_BITS = 23, SLOTS_FIRST = 256 };
static_assert(KYMO__NODETABLE_MOST < UINT32_C(1) << ID_BITS, "ids fit into a slot");

/* Frames are numbered as they are met, so the next ones of a function are often called from the same
   node. They begin in the same line of the cache, of 16 slots. */
enum { LINE = 16, NEIGHBOURS = 16 };

static uint64_t line_hash(uint32_t parent, uint32_t frame)
{
    return kymo__hash_word(kymo__hash_word(frame / NEIGHBOURS) ^ parent);
}

static size_t first_slot(uint64_t hash, uint32_t frame)
{
    return (size_t)(hash >> 24) * LINE + frame % NEIGHBOURS;
}

static uint32_t tag_of(uint64_t hash, uint32_t frame)
{
    return ((uint32_t)(hash >> 55) ^ frame) << ID_BITS;
}

uint32_t kymo__nodetable_find(const struct kymo_nodetable *table, uint32_t parent, uint32_t frame)
{
    if (!table->slot_count)
        return 0;
    uint64_t hash = line_hash(parent, frame);
    uint32_t tag = tag_of(hash, frame), slot;
    for (size_t i = first_slot(hash, frame); (slot = table->slots[i & (table->slot_count - 1)]);
         i++) {
        uint32_t id = slot & ((UINT32_C(1) << ID_BITS) - 1);
        if ((slot ^ tag) >> ID_BITS == 0 && table->nodes[id - 1].parent == parent &&
            table->nodes[id - 1].frame == frame)
            return id;
    }
    return 0;
}

/* Put ID, which is not in SLOTS, there. */
static void place_node(const struct kymo_nodetable *table, uint32_t id)
{
    struct kymo_nodetable_node node = table->nodes[id - 1];
    uint64_t hash = line_hash(node.parent, node.frame);
    size_t i = first_slot(hash, node.frame), mask = table->slot_count - 1;
    while (table->slots[i & mask])
        i++;
    table->slots[i & mask] = tag_of(hash, node.frame) | id;
}

static int widen_table(struct kymo_nodetable *table)
{
    struct kymo_nodetable wider = *table;
    wider.slot_count = table->slot_count ? 2 * table->slot_count : SLOTS_FIRST;
    wider.slots = kymo__alloc(wider.slot_count * sizeof(*wider.slots));
    if (!wider.slots)
        return -ENOMEM;
    /* All of it will be used, and a page that is read first is mapped twice. */
    memset(wider.slots, 0, wider.slot_count * sizeof(*wider.slots));
    for (uint32_t id = 1; id <= wider.count; id++)
        place_node(&wider, id);
    kymo__free(table->slots);
    *table = wider;
    return 0;
}

int kymo__nodetable_reserve(struct kymo_nodetable *table)
{
    if (table->count >= KYMO__NODETABLE_MOST)
        return -ENOSPC;
    int rc = 2 * (table->count + 1) > table->slot_count ? widen_table(table) : 0;
    return rc < 0 ? rc
                  : kymo__array_grow(&table->nodes, &table->capacity, table->count,
                                     sizeof(*table->nodes));
}

uint32_t kymo__nodetable_add(struct kymo_nodetable *table, uint32_t parent, uint32_t frame)
{
    table->nodes[table->count++] = (struct kymo_nodetable_node){parent, frame};
    place_node(table, (uint32_t)table->count);
    return (uint32_t)table->count;
}

void kymo__nodetable_fini(struct kymo_nodetable *table)
{
    kymo__free(table->nodes);
    kymo__free(table->slots);
    *table = (struct kymo_nodetable){0};
}
