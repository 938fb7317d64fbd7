/* edges.c — see edges.h. */
#include "edges.h"

#include <errno.h>
#include <stdlib.h>

#include "alloc.h"
#include "map.h"

/* State while finding edges. */
struct search {
    struct kymo_edges *edges;
    struct kymo_map map; /* number of an edge + 1 by caller and callee */
    uint32_t *of_node;   /* number of an edge */
};

/* Return the number of the edge from CALLER to CALLEE, or -ENOMEM. */
static int64_t edge_of(struct search *s, uint32_t caller, uint32_t callee)
{
    uint64_t key = (uint64_t)caller << 32 | callee;
    uint32_t known = kymo__map_find(&s->map, key);
    if (known)
        return known - 1;
    struct kymo_edges *e = s->edges;
    if (kymo__map_reserve(&s->map) < 0 ||
        kymo__array_grow(&e->all, &e->capacity, e->count, sizeof(*e->all)) < 0)
        return -ENOMEM;
    e->all[e->count++] = (struct kymo_edge){.caller = caller, .callee = callee};
    kymo__map_set(&s->map, key, (uint32_t)e->count);
    return (int64_t)e->count - 1;
}

static void edge_enter(struct kymo_edge *edge, const struct kymo_node *node)
{
    edge->calls += node->calls;
    edge->resumes += node->resumes;
    edge->self = kymo__ns_add(edge->self, node->self);
    if (edge->active++ == 0) {
        edge->primitive += node->calls;
        edge->total = kymo__ns_add(edge->total, node->total);
    }
}

static int walk_tree(struct search *s, const struct kymo_tree *tree)
{
    const struct kymo_node *nodes = tree->nodes;
    uint32_t depth = 0, before = 0, depth_before = 0;
    for (uint32_t at = 0; (at = kymo__tree_next(tree, at, &depth)); before = at) {
        /* Leave the previous node, and those around it up to this one's level. */
        for (; depth_before >= depth && depth_before; depth_before--) {
            if (nodes[before].parent)
                s->edges->all[s->of_node[before]].active--;
            before = nodes[before].parent;
        }
        depth_before = depth;
        if (!nodes[at].parent)
            continue; /* it has no caller */
        int64_t edge = edge_of(s, nodes[nodes[at].parent].callable, nodes[at].callable);
        if (edge < 0)
            return (int)edge;
        s->of_node[at] = (uint32_t)edge;
        edge_enter(&s->edges->all[edge], &nodes[at]);
    }
    return 0;
}

static int order_numbers(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

static int by_caller(const void *a, const void *b)
{
    const struct kymo_edge *x = a, *y = b;
    int first = order_numbers(x->caller, y->caller);
    return first ? first : order_numbers(x->callee, y->callee);
}

static int by_callee(const void *a, const void *b)
{
    const struct kymo_edge *x = a, *y = b;
    int first = order_numbers(x->callee, y->callee);
    return first ? first : order_numbers(x->caller, y->caller);
}

int kymo__edges_init(struct kymo_edges *edges, const struct kymo_tree *tree)
{
    *edges = (struct kymo_edges){0};
    struct search s = {.edges = edges};
    s.of_node = kymo__alloc(tree->count * sizeof(*s.of_node));
    int rc = s.of_node ? walk_tree(&s, tree) : -ENOMEM;
    kymo__map_fini(&s.map);
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
