/* smallpaths.c — see smallpaths.h. */
#include "smallpaths.h"

#include <errno.h>

#include "alloc.h"

/* Four classes of time for each power of two. */
enum { CLASSES = 4 * 64, MOST_BYTES = 64 << 20 };

/* The class of TOTAL, and the least time in a class. */
static unsigned class_of(kymo_ns total)
{
    if (total < 4)
        return total > 0 ? (unsigned)total : 0;
    unsigned bits = 63 - (unsigned)__builtin_clzll((uint64_t)total);
    return 4 * bits + (unsigned)((uint64_t)total >> (bits - 2) & 3);
}

/* What the lines of all paths need. */
struct need {
    uint64_t all; /* if no path is small */
    uint64_t class
        [CLASSES]; /* of the paths of a class, at most: each with a line for small calls */
};

/* Paths longer than KYMO__PATH_MOST share lines and are not counted. */
static int measure_paths(const struct kymo_survey *survey, bool in_lines,
                         size_t (*cells)(const struct kymo_callable *), struct need *need)
{
    const struct kymo_tree *tree = &survey->tree;
    uint32_t *length = kymo__alloc_zeroed((tree->count + 1) * sizeof(*length));
    uint32_t *depth = kymo__alloc_zeroed((tree->count + 1) * sizeof(*depth));
    for (size_t i = 1; length && depth && i < tree->count; i++) {
        const struct kymo_node *node = &tree->nodes[i];
        depth[i] = depth[node->parent] + 1;
        length[i] = 16; /* a thread's name, about */
        if (depth[i] == 1 || depth[i] > KYMO__PATH_MOST + 1)
            continue;
        length[i] = length[node->parent];
        length[i] += (uint32_t)cells(&survey->callables.all[node->callable]);
        uint64_t line = in_lines ? 1 : length[i] + 12; /* with its number */
        unsigned class = depth[i] == 2 ? CLASSES - 1 : class_of(node->total);
        need->all += node->self ? line : 0;
        need->class[class] += node->child ? 2 * line : line;
    }
    bool done = length && depth;
    kymo__free(length);
    kymo__free(depth);
    return done ? 0 : -ENOMEM;
}

/* The classes below this one do not fit. */
static unsigned least_class(const struct need *need, uint64_t limit)
{
    uint64_t sum = 0;
    unsigned class = CLASSES;
    while (class > 0 && (sum += need->class[class - 1]) <= limit)
        class --;
    return class;
}

/* Callees come after their callers: forwards to know that callees of small paths are small, too,
   backwards to sum up. */
static int sum_up(struct kymo_small_paths *small, struct kymo_tree *tree, unsigned least)
{
    bool *is_small = kymo__alloc_zeroed(tree->count + 1);
    small->below = kymo__alloc_zeroed((tree->count + 1) * sizeof(*small->below));
    if (!is_small || !small->below) {
        kymo__free(is_small);
        return -ENOMEM;
    }
    for (size_t i = 1; i < tree->count; i++) {
        const struct kymo_node *node = &tree->nodes[i];
        /* Threads and their outermost calls stay. */
        bool inner = node->parent && tree->nodes[node->parent].parent;
        is_small[i] = inner && (is_small[node->parent] || class_of(node->total) < least);
    }
    for (size_t i = tree->count; i-- > 1;) {
        struct kymo_node *node = &tree->nodes[i];
        if (!is_small[i])
            continue;
        kymo_ns *below = &small->below[node->parent];
        *below = kymo__ns_add(*below, kymo__ns_add(node->self, small->below[i]));
        small->below[i] = node->self = 0;
    }
    kymo__free(is_small);
    return 0;
}

int kymo__small_paths(struct kymo_small_paths *small, struct kymo_survey *survey, uint64_t entries,
                      size_t (*cells)(const struct kymo_callable *callable))
{
    *small = (struct kymo_small_paths){.nodes = survey->tree.nodes, .count = survey->tree.count};
    struct need need = {0};
    uint64_t limit = entries ? entries : MOST_BYTES;
    int rc = measure_paths(survey, entries != 0, cells, &need);
    if (rc < 0 || need.all <= limit)
        return rc;
    return sum_up(small, &survey->tree, least_class(&need, limit));
}

void kymo__small_paths_fini(struct kymo_small_paths *small)
{
    kymo__free(small->below);
}

kymo_ns kymo__small_below(const struct kymo_small_paths *small, const struct kymo_node *node)
{
    /* The sum of paths that are too long is no node of the tree. */
    bool there = node >= small->nodes && node < small->nodes + small->count;
    return small->below && there ? small->below[node - small->nodes] : 0;
}
