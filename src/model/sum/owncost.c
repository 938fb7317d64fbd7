/* owncost.c — see owncost.h. */
#include "owncost.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

static const char *text_of(const struct kymo_capture *capture, const char *wanted)
{
    const char *key, *value;
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &key, &value) == 0; i++)
        if (strcmp(key, wanted) == 0)
            return value;
    return NULL;
}

/* The process that made all calls of S, or -1 if there are several. */
static int64_t only_process(const struct kymo_capture *capture, const struct kymo_survey *s)
{
    int64_t only = -1;
    for (uint32_t i = 0; i < s->thread_count; i++) {
        struct kymo_thread_info thread = {.size = sizeof(thread)};
        if (s->threads[i].calls + s->threads[i].resumes == 0 ||
            kymo_capture_thread(capture, i, &thread) < 0)
            continue;
        if (only >= 0 && only != thread.process)
            return -1;
        only = thread.process;
    }
    return only;
}

/* The number of the merged capture that holds all calls of S, or -1. That is the number of its
   process if each of the merged captures had one process. */
static int64_t only_part(const struct kymo_capture *capture, const struct kymo_survey *s)
{
    struct kymo_info info = {.size = sizeof(info)};
    const char *merged = text_of(capture, "merged");
    if (!merged || kymo_capture_info(capture, &info) < 0 ||
        strtoull(merged, NULL, 10) != info.processes)
        return -1;
    return only_process(capture, s);
}

/* The time that KEY states: for the whole capture, or for PART of a merged one. */
static double metadata(const struct kymo_capture *capture, int64_t part, const char *key)
{
    char own[64];
    snprintf(own, sizeof(own), "%lld.%s", (long long)part, key);
    const char *value = text_of(capture, key);
    value = value ? value : text_of(capture, own);
    double number = value ? strtod(value, NULL) : 0;
    return number > 0 && number < 1e6 ? number : 0;
}

static bool is_c(uint32_t class)
{
    return class == KYMO_CLASS_NATIVE || class == KYMO_CLASS_METHOD || class == KYMO_CLASS_TYPE ||
           class == KYMO_CLASS_CALLABLE;
}

/* Estimate what recording the calls of NODE cost, inside and outside their begin and end. */
static void cost_of(const struct kymo_call_costs *call, const struct kymo_node *node,
                    uint32_t class, double *inside, double *outside)
{
    double calls = (double)node->calls, all = calls + (double)node->resumes;
    *inside = *outside = 0;
    if (is_c(class)) {
        *inside = all * call->c_inside;
        *outside = all * (call->c - call->c_inside);
    } else if (class == KYMO_CLASS_FUNCTION) {
        /* If C calls are recorded, a call is three events and a resumed one two. */
        double again = (call->c > 0 ? call->python * 2 / 3 : call->python) - call->python_inside;
        *inside = all * call->python_inside;
        *outside = calls * (call->python - call->python_inside) +
                   (double)node->resumes * (again > 0 ? again : 0);
    }
}

/* Parents come before children. */
static void estimate_nodes(struct kymo_own_cost *cost, const struct kymo_survey *s)
{
    const struct kymo_tree *tree = &s->tree;
    for (size_t i = 1; i < tree->count; i++) {
        const struct kymo_node *node = &tree->nodes[i];
        double inside, outside;
        cost_of(&cost->call, node, s->callables.all[node->callable].class, &inside, &outside);
        cost->node_self[i] = kymo__ns_add(cost->node_self[i], (kymo_ns)inside);
        if (node->parent)
            cost->node_self[node->parent] =
                kymo__ns_add(cost->node_self[node->parent], (kymo_ns)outside);
    }
    for (size_t i = tree->count; i-- > 1;) {
        const struct kymo_node *node = &tree->nodes[i];
        kymo_ns own = cost->node_self[i] < node->self ? cost->node_self[i] : node->self;
        own = own > 0 ? own : 0;
        cost->own = kymo__ns_add(cost->own, own);
        cost->node_self[i] = node->self - own;
        if (!cost->node_total)
            continue;
        cost->node_total[i] = kymo__ns_add(cost->node_total[i], cost->node_self[i]);
        if (node->parent)
            cost->node_total[node->parent] =
                kymo__ns_add(cost->node_total[node->parent], cost->node_total[i]);
    }
}

/* Does the callable of NODE also occur further up its path? */
static bool is_nested(const struct kymo_tree *tree, uint32_t node)
{
    for (uint32_t up = tree->nodes[node].parent; up; up = tree->nodes[up].parent)
        if (tree->nodes[up].callable == tree->nodes[node].callable)
            return true;
    return false;
}

static void add_up(struct kymo_own_cost *cost, const struct kymo_survey *s)
{
    for (uint32_t i = 1; i < s->tree.count; i++) {
        uint32_t callable = s->tree.nodes[i].callable;
        cost->self[callable] = kymo__ns_add(cost->self[callable], cost->node_self[i]);
        cost->sum[callable] = kymo__ns_add(cost->sum[callable], cost->node_total[i]);
        if (!is_nested(&s->tree, i))
            cost->total[callable] = kymo__ns_add(cost->total[callable], cost->node_total[i]);
    }
}

int kymo__own_cost_init(struct kymo_own_cost *cost, const struct kymo_capture *capture,
                        const struct kymo_survey *s, bool figures)
{
    int64_t part = only_part(capture, s);
    *cost = (struct kymo_own_cost){
        .call = {.python = metadata(capture, part, "trace.python_call_ns"),
                 .python_inside = metadata(capture, part, "trace.python_call_inside_ns"),
                 .c = metadata(capture, part, "trace.c_call_ns"),
                 .c_inside = metadata(capture, part, "trace.c_call_inside_ns")},
    };
    cost->known = cost->call.python > 0 && s->tree.count > 1;
    if (!cost->known)
        return 0;
    kymo_ns **by_callable[] = {&cost->self, &cost->total, &cost->sum};
    kymo_ns **by_node[] = {&cost->node_self, &cost->node_total};
    bool there = true;
    for (size_t i = 0; figures && i < 3; i++)
        there &=
            (*by_callable[i] = kymo__alloc_zeroed(s->callables.count * sizeof(kymo_ns))) != NULL;
    for (size_t i = 0; i < (figures ? 2 : 1); i++)
        there &= (*by_node[i] = kymo__alloc_zeroed(s->tree.count * sizeof(kymo_ns))) != NULL;
    if (!there)
        return -ENOMEM;
    estimate_nodes(cost, s);
    if (figures) {
        add_up(cost, s);
    } else {
        kymo__free(cost->node_self);
        cost->node_self = NULL;
    }
    return 0;
}

void kymo__own_cost_fini(struct kymo_own_cost *cost)
{
    kymo__free(cost->self);
    kymo__free(cost->total);
    kymo__free(cost->sum);
    kymo__free(cost->node_self);
    kymo__free(cost->node_total);
    *cost = (struct kymo_own_cost){0};
}

void kymo__own_cost_take_out(const struct kymo_own_cost *cost, struct kymo_survey *s)
{
    if (!cost->known)
        return;
    for (uint32_t i = 0; i < s->callables.count; i++) {
        struct kymo_function_cost *of = s->functions.of[i];
        if (!of)
            continue;
        s->self[kymo__class_known(s->callables.all[i].class)] -= of->self - cost->self[i];
        of->self = cost->self[i];
        of->total = cost->total[i];
        of->sum = cost->sum[i];
    }
    for (size_t i = 1; i < s->tree.count; i++) {
        s->tree.nodes[i].self = cost->node_self[i];
        s->tree.nodes[i].total = cost->node_total[i];
    }
    kymo__tree_sort(&s->tree);
}
