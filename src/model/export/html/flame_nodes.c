/* flame_nodes.c — see flame_nodes.h. */
#include "flame_nodes.h"

#include <errno.h>
#include <stdlib.h>

#include "alloc.h"
#include "print.h"

enum { NODES_MOST = 200000 };

static int longest_first(const void *a, const void *b)
{
    kymo_ns x = *(const kymo_ns *)a, y = *(const kymo_ns *)b;
    return x > y ? -1 : x < y;
}

int kymo__flame_nodes_init(struct kymo_flame_nodes *nodes, const struct kymo_tree *tree)
{
    *nodes = (struct kymo_flame_nodes){0};
    if (tree->count - 1 <= NODES_MOST) /* not counting the root */
        return 0;
    kymo_ns *totals = kymo__alloc(tree->count * sizeof(*totals));
    if (!totals)
        return -ENOMEM;
    size_t count = 0;
    for (size_t i = 1; i < tree->count; i++)
        if (tree->nodes[i].total >= 0)
            totals[count++] = tree->nodes[i].total;
    if (count > NODES_MOST) {
        qsort(totals, count, sizeof(*totals), longest_first);
        nodes->hidden = count - NODES_MOST;
        nodes->shortest = totals[NODES_MOST - 1];
        nodes->shortest_left = NODES_MOST;
        for (size_t i = 0; totals[i] > nodes->shortest; i++)
            nodes->shortest_left--;
    }
    kymo__free(totals);
    return 0;
}

void kymo__flame_nodes_below(struct kymo_flame_nodes *nodes, uint32_t depth)
{
    nodes->above = depth;
    nodes->more = false;
}

/* Should a node of TOTAL be written? Once one is left out, so are all of the same length, and
   therefore everything below it. */
static bool wanted(struct kymo_flame_nodes *nodes, kymo_ns total)
{
    if (total == nodes->shortest && nodes->hidden)
        return nodes->shortest_left && nodes->shortest_left--;
    return total >= nodes->shortest;
}

bool kymo__flame_nodes_next(struct kymo_flame_nodes *nodes, struct kymo_outfile *out,
                            const struct kymo_node *node, uint32_t function, uint32_t depth)
{
    if (!wanted(nodes, node->total))
        return false;
    kymo__print(out, nodes->more ? "," : "");
    kymo__print_uint(out, function);
    kymo__print(out, ",");
    kymo__print_uint(out, nodes->above + 1 - depth);
    nodes->above = depth;
    nodes->more = true;
    return true;
}
