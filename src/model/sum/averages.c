/* averages.c — see kymo/averages.h.

   The survey's call tree has a node for every call path. A group is the set of nodes whose last few
   callables are equal; two nodes are compared by walking up from both. Without a stack, times and
   counts come from the survey itself, which is exact even where the tree had to fold paths. */
#include <errno.h>
#include <kymo/averages.h>
#include <kymo/lane.h>
#include <string.h>

#include "alloc.h"
#include "map.h"
#include "survey.h"

enum { NODES_MOST = 1 << 20 };

#define NO_GROUP UINT32_MAX

struct group {
    uint32_t node; /* its first node */
    uint32_t open; /* while summing: how many of its nodes are above */
    uint64_t calls, resumes;
    kymo_ns self, total;
    bool outermost;
};

struct kymo_averages {
    struct kymo_survey *survey;
    size_t stack;
    bool functions;
    struct group *groups;
    size_t count, capacity;
    uint32_t *group_of;      /* by node; NO_GROUP for functions that are left out */
    struct kymo_map by_hash; /* group numbers, plus 1 */
};

static const struct kymo_node *node_at(const struct kymo_averages *a, uint32_t node)
{
    return &a->survey->tree.nodes[node];
}

static uint64_t hash_of(const struct kymo_averages *a, uint32_t node)
{
    uint64_t hash = kymo__hash_word(node_at(a, node)->callable);
    for (size_t i = 0; i < a->stack && (node = node_at(a, node)->parent) != 0; i++)
        hash = kymo__hash_word(hash ^ node_at(a, node)->callable);
    return hash;
}

static bool alike(const struct kymo_averages *a, uint32_t x, uint32_t y)
{
    for (size_t i = 0;; i++) {
        if (x == y)
            return true;
        if (!x || !y || node_at(a, x)->callable != node_at(a, y)->callable)
            return false;
        if (i == a->stack)
            return true;
        x = node_at(a, x)->parent;
        y = node_at(a, y)->parent;
    }
}

/* Return the group of NODE, or -ENOMEM. If all callers are compared, each node is a group. */
static int64_t find_group(struct kymo_averages *a, uint32_t node)
{
    uint64_t hash = 0;
    if (a->stack != SIZE_MAX) {
        uint32_t group;
        hash = hash_of(a, node);
        for (size_t at = 0; (group = kymo__map_next(&a->by_hash, hash, &at)) != 0;)
            if (alike(a, a->groups[group - 1].node, node))
                return group - 1;
    }
    int rc = kymo__array_grow(&a->groups, &a->capacity, a->count, sizeof(*a->groups));
    if (rc < 0)
        return rc;
    a->groups[a->count++] = (struct group){.node = node};
    if (a->stack != SIZE_MAX)
        rc = kymo__map_add(&a->by_hash, hash, (uint32_t)a->count);
    return rc < 0 ? rc : (int64_t)a->count - 1;
}

static bool is_span(const struct kymo_averages *a, uint32_t node)
{
    const struct kymo_callables *callables = &a->survey->callables;
    return kymo__class_is_marked(callables->all[node_at(a, node)->callable].class);
}

static int make_groups(struct kymo_averages *a)
{
    const struct kymo_tree *tree = &a->survey->tree;
    a->group_of = kymo__alloc_zeroed(tree->count * sizeof(*a->group_of));
    if (!a->group_of)
        return -ENOMEM;
    for (size_t i = 1; i < tree->count; i++) {
        a->group_of[i] = NO_GROUP;
        if (!a->functions && !is_span(a, (uint32_t)i))
            continue;
        int64_t group = find_group(a, (uint32_t)i);
        if (group < 0)
            return (int)group;
        a->group_of[i] = (uint32_t)group;
    }
    return 0;
}

static void add_node(struct kymo_averages *a, uint32_t node, uint32_t spans)
{
    const struct kymo_node *n = node_at(a, node);
    if (a->group_of[node] == NO_GROUP)
        return;
    struct group *g = &a->groups[a->group_of[node]];
    g->calls += n->calls;
    g->resumes += n->resumes;
    g->self = kymo__ns_add(g->self, n->self);
    if (g->open == 0)
        g->total = kymo__ns_add(g->total, n->total);
    g->outermost |= spans == 0;
    g->open++;
}

/* Walk the tree, tracking which groups are open above the node. */
static void add_up(struct kymo_averages *a)
{
    uint32_t at = node_at(a, 0)->child, spans = 0;
    while (at) {
        add_node(a, at, spans);
        spans += is_span(a, at);
        if (node_at(a, at)->child) {
            at = node_at(a, at)->child;
            continue;
        }
        while (at) {
            if (a->group_of[at] != NO_GROUP)
                a->groups[a->group_of[at]].open--;
            spans -= is_span(a, at);
            if (node_at(a, at)->sibling)
                break;
            at = node_at(a, at)->parent;
        }
        at = at ? node_at(a, at)->sibling : 0;
    }
}

/* Time in functions that are left out is self time of the span around them. */
static void give_to_spans(struct kymo_averages *a)
{
    const struct kymo_tree *tree = &a->survey->tree;
    for (size_t i = 1; i < tree->count; i++) {
        const struct kymo_node *n = &tree->nodes[i];
        if (a->group_of[i] != NO_GROUP)
            continue;
        uint32_t above = n->parent;
        while (above && a->group_of[above] == NO_GROUP)
            above = node_at(a, above)->parent;
        if (above) {
            struct group *g = &a->groups[a->group_of[above]];
            g->self = kymo__ns_add(g->self, n->self);
        }
    }
}

/* Without a stack the survey's figures are more exact. */
static void take_costs(struct kymo_averages *a)
{
    for (size_t i = 0; i < a->count; i++) {
        struct group *g = &a->groups[i];
        const struct kymo_function_cost *cost =
            a->survey->functions.of[node_at(a, g->node)->callable];
        if (!cost)
            continue;
        g->calls = cost->calls;
        g->resumes = cost->resumes;
        g->self = cost->self;
        g->total = cost->total;
    }
}

int kymo_averages_new(struct kymo_capture *capture, kymo_ns from, kymo_ns to, size_t stack,
                      bool functions, struct kymo_averages **averages)
{
    struct kymo_averages *a = kymo__alloc_zeroed(sizeof(*a));
    if (!a)
        return -ENOMEM;
    a->stack = stack;
    a->functions = functions;
    const struct kymo_survey_options options = {
        .from = from, .to = to, .nodes = NODES_MOST, .until = capture->until};
    int rc = kymo__survey(capture, &options, &a->survey);
    if (rc == 0)
        rc = make_groups(a);
    if (rc < 0) {
        kymo_averages_free(a);
        return rc;
    }
    add_up(a);
    if (!functions)
        give_to_spans(a);
    else if (stack == 0)
        take_costs(a);
    *averages = a;
    return 0;
}

void kymo_averages_free(struct kymo_averages *a)
{
    if (!a)
        return;
    kymo__survey_free(a->survey);
    kymo__free(a->groups);
    kymo__free(a->group_of);
    kymo__map_fini(&a->by_hash);
    kymo__free(a);
}

bool kymo_averages_is_cut(const struct kymo_averages *a)
{
    return a->survey->cut;
}

size_t kymo_averages_count(const struct kymo_averages *a)
{
    return a->count;
}

static struct kymo_callee callee_of(const struct kymo_averages *a, uint32_t node)
{
    const struct kymo_callable *callable = &a->survey->callables.all[node_at(a, node)->callable];
    return (struct kymo_callee){
        .size = sizeof(struct kymo_callee),
        .name = callable->name,
        .file = callable->file,
        .line = callable->line,
        .class_ = callable->class,
    };
}

int kymo_averages_get(const struct kymo_averages *a, size_t index, struct kymo_average *average)
{
    if (index >= a->count || average->size < sizeof(size_t))
        return -EINVAL;
    const struct group *g = &a->groups[index];
    const struct kymo_average all = {
        .size = average->size,
        .callee = callee_of(a, g->node),
        .calls = g->calls,
        .resumes = g->resumes,
        .self = g->self,
        .total = g->total,
        .outermost = g->outermost,
    };
    memcpy(average, &all, average->size < sizeof(all) ? average->size : sizeof(all));
    return 0;
}

int kymo_averages_caller(const struct kymo_averages *a, size_t index, size_t level,
                         struct kymo_callee *caller)
{
    if (index >= a->count || level >= a->stack || caller->size < sizeof(size_t))
        return -ENOENT;
    uint32_t node = node_at(a, a->groups[index].node)->parent;
    while (node && level-- > 0)
        node = node_at(a, node)->parent;
    if (!node)
        return -ENOENT;
    struct kymo_callee all = callee_of(a, node);
    all.size = caller->size;
    memcpy(caller, &all, caller->size < sizeof(all) ? caller->size : sizeof(all));
    return 0;
}
