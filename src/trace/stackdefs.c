/* stackdefs.c — see stackdefs.h.

   A recorder may give any 32-bit ids: they are looked up, not used as positions, so that what
   a file takes depends on how much it defines and not on the numbers it gives. */
#include "stackdefs.h"

#include <errno.h>
#include <kymo/kymo.h>

#include "alloc.h"
#include "defs.h"
#include "hash.h"

/* ---- ids ---- */

static size_t slot_of(const struct kymo_id_map *map, uint32_t id)
{
    size_t mask = map->slot_count - 1, i = (size_t)(kymo__hash_word(id) >> 32) & mask;
    while (map->slots[i].at && map->slots[i].id != id)
        i = (i + 1) & mask;
    return i;
}

/* The position of ID, 0 when it has none. */
static uint32_t find(const struct kymo_id_map *map, uint64_t id)
{
    return map->slot_count && id <= UINT32_MAX ? map->slots[slot_of(map, (uint32_t)id)].at : 0;
}

static int grow(struct kymo_id_map *map)
{
    struct kymo_id_map more = {.slot_count = map->slot_count ? 2 * map->slot_count : 64};
    more.slots = kymo__alloc_zeroed(more.slot_count * sizeof(*more.slots));
    if (!more.slots)
        return -ENOMEM;
    for (size_t i = 0; i < map->slot_count; i++)
        if (map->slots[i].at)
            more.slots[slot_of(&more, map->slots[i].id)] = map->slots[i];
    more.count = map->count;
    kymo__free(map->slots);
    *map = more;
    return 0;
}

/* Let ID stand for AT, not 0, from now on. */
static int set(struct kymo_id_map *map, uint32_t id, size_t at)
{
    if (at > UINT32_MAX)
        return -KYMO_EBLOCK;
    if (2 * (map->count + 1) > map->slot_count) {
        int rc = grow(map);
        if (rc < 0)
            return rc;
    }
    struct kymo_id_slot *slot = &map->slots[slot_of(map, id)];
    map->count += !slot->at;
    *slot = (struct kymo_id_slot){id, (uint32_t)at};
    return 0;
}

/* ---- definitions ---- */

static int add_module(struct kymo_reader_stacks *s, const uint64_t *n)
{
    int rc =
        kymo__array_grow(&s->modules, &s->module_capacity, s->module_count, sizeof(*s->modules));
    if (rc < 0)
        return rc;
    s->modules[s->module_count++] = (struct kymo_reader_module){.base = n[1],
                                                                .low = n[2],
                                                                .high = n[3],
                                                                .path = (uint32_t)n[4],
                                                                .build_id = (uint32_t)n[5]};
    return set(&s->module_of, (uint32_t)n[0], s->module_count);
}

static int push_frame(struct kymo_reader_stacks *s, struct kymo_reader_frame frame)
{
    int rc = kymo__array_grow(&s->frames, &s->frame_capacity, s->frame_count, sizeof(*s->frames));
    if (rc == 0)
        s->frames[s->frame_count++] = frame;
    return rc;
}

static int add_frame(struct kymo_reader_stacks *s, const uint64_t *n)
{
    struct kymo_reader_frame frame = {0};
    if (n[1] == 0) {
        /* Of a module that is not known nothing can be said by an address in it. */
        frame.module = find(&s->module_of, n[2]);
        frame.kind = n[2] && !frame.module ? KYMO_FRAME_UNKNOWN : KYMO_FRAME_NATIVE;
        frame.address = n[3];
    } else if (n[1] == 1 && n[2] <= UINT32_MAX) {
        frame.kind = KYMO_FRAME_MANAGED;
        frame.key = (uint32_t)n[2];
        frame.line = n[3] <= UINT32_MAX ? (uint32_t)n[3] : 0;
    }
    int rc = push_frame(s, frame);
    return rc < 0 ? rc : set(&s->frame_of, (uint32_t)n[0], s->frame_count - 1);
}

static int push_node(struct kymo_reader_stacks *s, uint32_t parent, uint32_t frame, uint32_t depth)
{
    int rc = kymo__array_grow(&s->nodes, &s->node_capacity, s->node_count, sizeof(*s->nodes));
    if (rc == 0)
        s->nodes[s->node_count++] = (struct kymo_reader_node){parent, frame, depth};
    return rc;
}

static int add_node(struct kymo_reader_stacks *s, const uint64_t *n)
{
    uint32_t parent = n[1] ? find(&s->node_of, n[1]) : KYMO__NODE_NONE;
    if ((n[1] && !parent) || s->nodes[parent].depth >= KYMO__STACK_DEEPEST)
        parent = KYMO__NODE_UNKNOWN;
    int rc = push_node(s, parent, find(&s->frame_of, n[2]), s->nodes[parent].depth + 1);
    return rc < 0 ? rc : set(&s->node_of, (uint32_t)n[0], s->node_count - 1);
}

static int add_stack(struct kymo_reader_stacks *s, const uint64_t *n)
{
    uint32_t node = find(&s->node_of, n[1]), known = find(&s->stack_of, n[0]);
    node = node ? node : KYMO__NODE_UNKNOWN;
    if (known) { /* said again: the last time counts */
        s->stacks[known - 1].node = node;
        return 0;
    }
    int rc = kymo__array_grow(&s->stacks, &s->stack_capacity, s->stack_count, sizeof(*s->stacks));
    if (rc < 0)
        return rc;
    s->stacks[s->stack_count++] = (struct kymo_reader_stack){(uint32_t)n[0], node};
    return set(&s->stack_of, (uint32_t)n[0], s->stack_count);
}

int kymo__stackdefs_init(struct kymo_reader_stacks *s)
{
    int rc = push_frame(s, (struct kymo_reader_frame){0});
    while (rc == 0 && s->node_count <= KYMO__NODE_UNKNOWN)
        rc = push_node(s, KYMO__NODE_NONE, KYMO__FRAME_UNKNOWN, (uint32_t)s->node_count);
    return rc;
}

int kymo__stackdefs_apply(struct kymo_reader_stacks *s, const struct kymo_def *def)
{
    const uint64_t *n = def->number;
    if (n[0] > UINT32_MAX)
        return -KYMO_EBLOCK;
    switch (def->type) {
    case KYMO__DEF_MODULE:
        return add_module(s, n);
    case KYMO__DEF_FRAME:
        return add_frame(s, n);
    case KYMO__DEF_NODE:
        return add_node(s, n);
    case KYMO__DEF_STACK:
        return add_stack(s, n);
    }
    return 0;
}

uint32_t kymo__stackdefs_find(const struct kymo_reader_stacks *s, uint32_t id)
{
    uint32_t at = find(&s->stack_of, id);
    return at ? s->stacks[at - 1].node : KYMO__NODE_UNKNOWN;
}

void kymo__stackdefs_fini(struct kymo_reader_stacks *s)
{
    kymo__free(s->modules);
    kymo__free(s->frames);
    kymo__free(s->nodes);
    kymo__free(s->stacks);
    kymo__free(s->module_of.slots);
    kymo__free(s->frame_of.slots);
    kymo__free(s->node_of.slots);
    kymo__free(s->stack_of.slots);
}
