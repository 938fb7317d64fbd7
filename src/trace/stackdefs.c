/* stackdefs.c — see stackdefs.h.

   A recorder may use any 32-bit ids: they are looked up, not used as positions, so that memory use
   depends on how much a file defines and not on the numbers it uses. */
#include "stackdefs.h"

#include <errno.h>
#include <kymo/kymo.h>

#include "alloc.h"
#include "defs.h"
#include "varint.h"

/* ---- ids ---- */

/* The position of ID, 0 if it has none. */
static uint32_t find_position(const struct kymo_map *map, uint64_t id)
{
    return id <= UINT32_MAX ? kymo__map_find(map, id) : 0;
}

/* Map ID to AT, which is not 0. */
static int set_position(struct kymo_map *map, uint32_t id, size_t at)
{
    return at > UINT32_MAX ? KYMO_EBLOCK : kymo__map_set(map, id, (uint32_t)at);
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
    return set_position(&s->module_of, (uint32_t)n[0], s->module_count);
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
        /* An address in an unknown module says nothing. */
        frame.module = find_position(&s->module_of, n[2]);
        frame.kind = n[2] && !frame.module ? KYMO_FRAME_UNKNOWN : KYMO_FRAME_NATIVE;
        frame.address = n[3];
    } else if (n[1] == 1 && n[2] <= UINT32_MAX) {
        frame.kind = KYMO_FRAME_MANAGED;
        frame.key = (uint32_t)n[2];
        frame.line = n[3] <= UINT32_MAX ? (uint32_t)n[3] : 0;
    }
    int rc = push_frame(s, frame);
    return rc < 0 ? rc : set_position(&s->frame_of, (uint32_t)n[0], s->frame_count - 1);
}

static int push_node(struct kymo_reader_stacks *s, uint32_t parent, uint32_t frame, uint32_t depth)
{
    int rc = kymo__array_grow(&s->nodes, &s->node_capacity, s->node_count, sizeof(*s->nodes));
    if (rc == 0)
        s->nodes[s->node_count++] = (struct kymo_reader_node){parent, frame, depth};
    return rc;
}

static int add_node(struct kymo_reader_stacks *s, uint32_t id, uint64_t caller, uint64_t frame)
{
    uint32_t parent = caller ? find_position(&s->node_of, caller) : KYMO__NODE_NONE;
    if ((caller && !parent) || s->nodes[parent].depth >= KYMO__STACK_DEEPEST)
        parent = KYMO__NODE_UNKNOWN;
    int rc = push_node(s, parent, find_position(&s->frame_of, frame), s->nodes[parent].depth + 1);
    return rc < 0 ? rc : set_position(&s->node_of, id, s->node_count - 1);
}

static int add_nodes(struct kymo_reader_stacks *s, const struct kymo_def *def)
{
    uint32_t id = (uint32_t)def->number[0];
    int rc = add_node(s, id, def->number[1], def->number[2]);
    const uint8_t *at = def->text, *end = def->text + def->text_len;
    uint64_t frame;
    for (; rc == 0 && at < end && id < UINT32_MAX; id++, s->further++) {
        at = kymo__varint_get(at, end, &frame);
        if (!at)
            break;
        rc = add_node(s, id + 1, id, frame);
    }
    return rc;
}

static int add_stack(struct kymo_reader_stacks *s, const uint64_t *n)
{
    uint32_t node = find_position(&s->node_of, n[1]), known = find_position(&s->stack_of, n[0]);
    node = node ? node : KYMO__NODE_UNKNOWN;
    if (known) { /* defined again: the last definition counts */
        s->stacks[known - 1].node = node;
        return 0;
    }
    int rc = kymo__array_grow(&s->stacks, &s->stack_capacity, s->stack_count, sizeof(*s->stacks));
    if (rc < 0)
        return rc;
    s->stacks[s->stack_count++] = (struct kymo_reader_stack){(uint32_t)n[0], node};
    return set_position(&s->stack_of, (uint32_t)n[0], s->stack_count);
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
        return KYMO_EBLOCK;
    switch (def->type) {
    case KYMO__DEF_MODULE:
        return add_module(s, n);
    case KYMO__DEF_FRAME:
        return add_frame(s, n);
    case KYMO__DEF_NODE:
        return add_nodes(s, def);
    case KYMO__DEF_STACK:
        return add_stack(s, n);
    }
    return 0;
}

uint32_t kymo__stackdefs_find(const struct kymo_reader_stacks *s, uint32_t id)
{
    uint32_t at = find_position(&s->stack_of, id);
    return at ? s->stacks[at - 1].node : KYMO__NODE_UNKNOWN;
}

void kymo__stackdefs_fini(struct kymo_reader_stacks *s)
{
    kymo__free(s->modules);
    kymo__free(s->frames);
    kymo__free(s->nodes);
    kymo__free(s->stacks);
    kymo__map_fini(&s->module_of);
    kymo__map_fini(&s->frame_of);
    kymo__map_fini(&s->node_of);
    kymo__map_fini(&s->stack_of);
}
