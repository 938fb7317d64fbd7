/* shown_stats.c — where the time went in a part of a capture, and how often each name was called in
   all of it. */
#include <errno.h>
#include <stdlib.h>

#include "alloc.h"
#include "shown.h"
#include "survey.h"

enum { FUNCTIONS_MOST = 300, NODES_KEPT = 200000, NODES_MOST = 3000 };

static int stop_if_asked(void *arg, uint64_t done, uint64_t all)
{
    const struct kymo_shown_capture *shown = arg;
    (void)done, (void)all;
    return shown->stop ? shown->stop(shown->stop_arg) : 0;
}

static int compare_costs(const void *a, const void *b, void *arg)
{
    const struct kymo_functions *functions = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const struct kymo_function_cost *left = functions->of[x], *right = functions->of[y];
    if (left->self != right->self)
        return left->self < right->self ? 1 : -1;
    if (left->total != right->total)
        return left->total < right->total ? 1 : -1;
    return (x > y) - (x < y);
}

static void put_function(struct kymo_jsonout *json, uint32_t name,
                         const struct kymo_function_cost *cost, bool of_samples)
{
    uint64_t times = kymo__activations(cost);
    kymo__jsonout_object(json, NULL);
    kymo__jsonout_uint(json, "name", name);
    kymo__jsonout_uint(json, "calls", cost->calls);
    kymo__jsonout_uint(json, "resumes", cost->resumes);
    if (of_samples)
        kymo__jsonout_uint(json, "own", cost->primitive);
    kymo__jsonout_int(json, "self", cost->self);
    kymo__jsonout_int(json, "total", cost->total);
    kymo__jsonout_int(json, "mean", times ? cost->sum / (kymo_ns)times : 0);
    kymo__jsonout_int(json, "min", cost->least);
    kymo__jsonout_int(json, "max", cost->most);
    kymo__jsonout_int(json, "p50", kymo__histogram_at(&cost->lengths, 0.5));
    kymo__jsonout_int(json, "p90", kymo__histogram_at(&cost->lengths, 0.9));
    kymo__jsonout_int(json, "p99", kymo__histogram_at(&cost->lengths, 0.99));
    kymo__jsonout_end(json);
}

static int put_functions(struct kymo_jsonout *json, struct kymo_survey *survey)
{
    struct kymo_functions *functions = &survey->functions;
    size_t all = functions->callables->count, count = 0;
    uint32_t *order = kymo__alloc((all + 1) * sizeof *order);
    if (!order)
        return -ENOMEM;
    for (uint32_t i = 0; i < all; i++)
        if (functions->of[i])
            order[count++] = i;
    qsort_r(order, count, sizeof *order, compare_costs, functions);
    kymo__jsonout_uint(json, "functions_all", count);
    kymo__jsonout_array(json, "functions");
    for (size_t i = 0; i < count && i < FUNCTIONS_MOST; i++)
        put_function(json, order[i], functions->of[order[i]], survey->of_samples);
    kymo__jsonout_end(json);
    kymo__free(order);
    return 0;
}

static int compare_times(const void *a, const void *b)
{
    kymo_ns x = *(const kymo_ns *)a, y = *(const kymo_ns *)b;
    return (x < y) - (x > y);
}

/* Store the shortest node to show, so that there are not too many. Returns 0 or -ENOMEM. */
static int find_shortest(const struct kymo_tree *tree, kymo_ns *shortest)
{
    *shortest = 0;
    if (tree->count <= NODES_MOST)
        return 0;
    kymo_ns *times = kymo__alloc(tree->count * sizeof *times);
    if (!times)
        return -ENOMEM;
    for (size_t i = 0; i < tree->count; i++)
        times[i] = tree->nodes[i].total;
    qsort(times, tree->count, sizeof *times, compare_times);
    *shortest = times[NODES_MOST] + 1;
    kymo__free(times);
    return 0;
}

/* Each node: name, index of its parent or -1, calls, self, total. Parents come first. */
static int put_tree(struct kymo_jsonout *json, const struct kymo_tree *tree)
{
    kymo_ns shortest;
    int64_t *place = kymo__alloc((tree->count + 1) * sizeof *place), next = 0;
    uint32_t depth = 0, node = 0;
    if (!place || find_shortest(tree, &shortest) < 0) {
        kymo__free(place);
        return -ENOMEM;
    }
    place[0] = -1;
    kymo__jsonout_array(json, "tree");
    while (tree->count && (node = kymo__tree_next(tree, node, &depth))) {
        const struct kymo_node *n = &tree->nodes[node];
        place[node] = -2;
        if (n->total < shortest || place[n->parent] == -2)
            continue;
        place[node] = next++;
        kymo__jsonout_array(json, NULL);
        kymo__jsonout_uint(json, NULL, n->callable);
        kymo__jsonout_int(json, NULL, place[n->parent]);
        kymo__jsonout_uint(json, NULL, n->calls + n->resumes);
        kymo__jsonout_int(json, NULL, n->self);
        kymo__jsonout_int(json, NULL, n->total);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
    kymo__free(place);
    return 0;
}

static void put_counts(struct kymo_jsonout *json, const struct kymo_survey *survey)
{
    kymo__jsonout_array(json, "counts");
    for (uint32_t i = 0; i < survey->callables.count; i++) {
        if (!survey->functions.of[i])
            continue;
        kymo__jsonout_array(json, NULL);
        kymo__jsonout_uint(json, NULL, i);
        kymo__jsonout_uint(json, NULL, kymo__activations(survey->functions.of[i]));
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

static int put_survey(struct kymo_jsonout *json, struct kymo_survey *survey, kymo_ns origin)
{
    kymo_ns busy = 0;
    for (size_t i = 0; i < survey->thread_count; i++)
        busy = kymo__ns_add(busy, survey->threads[i].busy);
    kymo__jsonout_int(json, "from", survey->from - origin);
    kymo__jsonout_int(json, "to", survey->to - origin);
    kymo__jsonout_uint(json, "calls", survey->calls);
    kymo__jsonout_int(json, "busy", busy);
    int rc = put_functions(json, survey);
    return rc < 0 ? rc : put_tree(json, &survey->tree);
}

int kymo__shown_stats(const struct kymo_shown_capture *shown, bool counts,
                      struct kymo_jsonout *json)
{
    struct kymo_survey *survey = NULL;
    const struct kymo_survey_options options = {
        .from = shown->from ? kymo__ns_add(shown->origin, shown->from) : INT64_MIN,
        .to = kymo__ns_add(shown->origin, shown->to),
        .chosen = shown->chosen,
        .nodes = NODES_KEPT,
        .together = true,
        .progress = stop_if_asked,
        .progress_arg = (void *)(uintptr_t)shown,
    };
    int rc = kymo__survey(shown->capture, &options, &survey);
    rc = rc < 0 ? rc : put_survey(json, survey, shown->origin);
    if (rc == 0 && counts)
        put_counts(json, survey);
    kymo__survey_free(survey);
    return rc;
}

int kymo__shown_counts(const struct kymo_shown_capture *shown, struct kymo_jsonout *json)
{
    struct kymo_survey *survey = NULL;
    const struct kymo_survey_options options = {
        .from = INT64_MIN,
        .to = INT64_MAX,
        .chosen = shown->chosen,
        .together = true,
        .progress = stop_if_asked,
        .progress_arg = (void *)(uintptr_t)shown,
    };
    int rc = kymo__survey(shown->capture, &options, &survey);
    if (rc == 0)
        put_counts(json, survey);
    kymo__survey_free(survey);
    return rc;
}

int kymo__shown_sample_stats(const struct kymo_shown_capture *shown,
                             const struct kymo_samplebook *book, struct kymo_jsonout *json)
{
    struct kymo_samples *samples = NULL;
    const struct kymo_samples_options options = {
        .tally = {.from = shown->from ? kymo__ns_add(shown->origin, shown->from) : INT64_MIN,
                  .to = kymo__ns_add(shown->origin, shown->to),
                  .chosen = shown->chosen,
                  .progress = stop_if_asked,
                  .progress_arg = (void *)(uintptr_t)shown,
                  .quick = true},
        .nodes = NODES_KEPT,
        .like = book->samples,
    };
    int rc = kymo__samples(shown->capture, &options, &samples);
    rc = rc < 0 ? rc : put_survey(json, samples->survey, shown->origin);
    kymo__samples_free(samples);
    return rc;
}
