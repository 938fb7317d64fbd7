/* edges.c — see edges.h. */
#include "edges.h"

#include <errno.h>
#include <stdlib.h>

#include "alloc.h"
#include "hash.h"

enum { SLOTS_FIRST = 1024 };

/* While edges are being found. */
struct search {
    struct kymo_edges *edges;
    uint32_t *slots; /* number of an edge + 1, 0 for free */
    size_t slot_count;
    uint32_t *of_node; /* number of an edge */
};

static size_t slot_of(const struct search *s, uint32_t caller, uint32_t callee)
{
    uint64_t hash = kymo__hash_word(kymo__hash_word(caller) ^ callee);
    size_t at = (size_t)(hash >> 24) & (s->slot_count - 1);
    for (; s->slots[at]; at = (at + 1) & (s->slot_count - 1)) {
        const struct kymo_edge *edge = &s->edges->all[s->slots[at] - 1];
        if (edge->caller == caller && edge->callee == callee)
            break;
    }
    return at;
}

/* Twice as many slots. */
static int widen(struct search *s)
{
    uint32_t *old = s->slots, *slots = kymo__alloc_zeroed(2 * s->slot_count * sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    s->slots = slots;
    s->slot_count *= 2;
    for (size_t i = 0; i < s->edges->count; i++) {
        const struct kymo_edge *edge = &s->edges->all[i];
        slots[slot_of(s, edge->caller, edge->callee)] = (uint32_t)i + 1;
    }
    kymo__free(old);
    return 0;
}

/* The number of the edge from CALLER to CALLEE, or -ENOMEM. */
static int64_t edge_of(struct search *s, uint32_t caller, uint32_t callee)
{
    size_t at = slot_of(s, caller, callee);
    if (s->slots[at])
        return s->slots[at] - 1;
    struct kymo_edges *e = s->edges;
    int rc = kymo__array_grow(&e->all, &e->capacity, e->count, sizeof(*e->all));
    if (rc < 0)
        return rc;
    e->all[e->count++] = (struct kymo_edge){.caller = caller, .callee = callee};
    s->slots[at] = (uint32_t)e->count;
    if (2 * e->count > s->slot_count && (rc = widen(s)) < 0)
        return rc;
    return (int64_t)e->count - 1;
}

static void enter(struct kymo_edge *edge, const struct kymo_node *node)
{
    edge->calls += node->calls;
    edge->resumes += node->resumes;
    edge->self = kymo__ns_add(edge->self, node->self);
    if (edge->active++ == 0) {
        edge->primitive += node->calls;
        edge->total = kymo__ns_add(edge->total, node->total);
    }
}

static int walk(struct search *s, const struct kymo_tree *tree)
{
    const struct kymo_node *nodes = tree->nodes;
    uint32_t depth = 0, before = 0, depth_before = 0;
    for (uint32_t at = 0; (at = kymo__tree_next(tree, at, &depth)); before = at) {
        /* Leave the node before, and those around it up to where this one is. */
        for (; depth_before >= depth && depth_before; depth_before--) {
            if (nodes[before].parent)
                s->edges->all[s->of_node[before]].active--;
            before = nodes[before].parent;
        }
        depth_before = depth;
        if (!nodes[at].parent)
            continue; /* nobody calls it */
        int64_t edge = edge_of(s, nodes[nodes[at].parent].callable, nodes[at].callable);
        if (edge < 0)
            return (int)edge;
        s->of_node[at] = (uint32_t)edge;
        enter(&s->edges->all[edge], &nodes[at]);
    }
    return 0;
}

static int order(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

static int by_caller(const void *a, const void *b)
{
    const struct kymo_edge *x = a, *y = b;
    int first = order(x->caller, y->caller);
    return first ? first : order(x->callee, y->callee);
}

static int by_callee(const void *a, const void *b)
{
    const struct kymo_edge *x = a, *y = b;
    int first = order(x->callee, y->callee);
    return first ? first : order(x->caller, y->caller);
}

int kymo__edges_init(struct kymo_edges *edges, const struct kymo_tree *tree)
{
    *edges = (struct kymo_edges){0};
    struct search s = {.edges = edges, .slot_count = SLOTS_FIRST};
    s.slots = kymo__alloc_zeroed(s.slot_count * sizeof(*s.slots));
    s.of_node = kymo__alloc(tree->count * sizeof(*s.of_node));
    int rc = s.slots && s.of_node ? walk(&s, tree) : -ENOMEM;
    kymo__free(s.slots);
    kymo__free(s.of_node);
    if (rc == 0 && edges->count)
        qsort(edges->all, edges->count, sizeof(*edges->all), by_caller);
    return rc;
}

void kymo__edges_fini(struct kymo_edges *edges)
{
    kymo__free(edges->all);
    *edges = (struct kymo_edges){0};
}

void kymo__edges_by_callee(struct kymo_edges *edges)
{
    if (edges->count)
        qsort(edges->all, edges->count, sizeof(*edges->all), by_callee);
}
