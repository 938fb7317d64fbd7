/* answer_stats.c — where the time went in a range: values capture, from, to, and threads, a list of
   indexes. And how often each name was called in all of a capture: value capture. */
#include <errno.h>
#include <stdlib.h>

#include "answers.h"
#include "atomic.h"
#include "memory.h"
#include "survey.h"

enum { FUNCTIONS_MOST = 300, NODES_KEPT = 200000, NODES_MOST = 3000 };

static int stop_if_asked(void *arg, uint64_t done, uint64_t all)
{
    const struct view *view = arg;
    (void)done, (void)all;
    return kymo__load_relaxed(&view->stopping) ? -ECANCELED : 0;
}

static const struct kymo_functions *compared; /* under view->surveying */

static int compare_costs(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    kymo_ns left = compared->of[x]->self, right = compared->of[y]->self;
    return left != right ? (left < right ? 1 : -1) : (x > y) - (x < y);
}

static void put_function(struct cli_json *json, uint32_t name,
                         const struct kymo_function_cost *cost)
{
    uint64_t times = kymo__activations(cost);
    kymo__cli_json_object(json, NULL);
    kymo__cli_json_uint(json, "name", name);
    kymo__cli_json_uint(json, "calls", cost->calls);
    kymo__cli_json_uint(json, "resumes", cost->resumes);
    kymo__cli_json_int(json, "self", cost->self);
    kymo__cli_json_int(json, "total", cost->total);
    kymo__cli_json_int(json, "mean", times ? cost->sum / (kymo_ns)times : 0);
    kymo__cli_json_int(json, "min", cost->least);
    kymo__cli_json_int(json, "max", cost->most);
    kymo__cli_json_int(json, "p50", kymo__histogram_at(&cost->lengths, 0.5));
    kymo__cli_json_int(json, "p90", kymo__histogram_at(&cost->lengths, 0.9));
    kymo__cli_json_int(json, "p99", kymo__histogram_at(&cost->lengths, 0.99));
    kymo__cli_json_end(json);
}

static void put_functions(struct cli_json *json, const struct kymo_survey *survey)
{
    const struct kymo_functions *functions = &survey->functions;
    size_t all = functions->callables->count, count = 0;
    uint32_t *order = kymo__cli_array(all + 1, sizeof *order);
    for (uint32_t i = 0; i < all; i++)
        if (functions->of[i])
            order[count++] = i;
    compared = functions;
    qsort(order, count, sizeof *order, compare_costs);
    kymo__cli_json_uint(json, "functions_all", count);
    kymo__cli_json_array(json, "functions");
    for (size_t i = 0; i < count && i < FUNCTIONS_MOST; i++)
        put_function(json, order[i], functions->of[order[i]]);
    kymo__cli_json_end(json);
    kymo__cli_free(order);
}

static int compare_times(const void *a, const void *b)
{
    kymo_ns x = *(const kymo_ns *)a, y = *(const kymo_ns *)b;
    return (x < y) - (x > y);
}

/* The shortest node to show, so that there are not too many. */
static kymo_ns shortest_shown(const struct kymo_tree *tree)
{
    if (tree->count <= NODES_MOST)
        return 0;
    kymo_ns *times = kymo__cli_array(tree->count, sizeof *times);
    for (size_t i = 0; i < tree->count; i++)
        times[i] = tree->nodes[i].total;
    qsort(times, tree->count, sizeof *times, compare_times);
    kymo_ns shortest = times[NODES_MOST] + 1;
    kymo__cli_free(times);
    return shortest;
}

/* Each node: name, index of its parent or -1, calls, self, total. Parents come first. */
static void put_tree(struct cli_json *json, const struct kymo_tree *tree)
{
    kymo_ns shortest = shortest_shown(tree);
    int64_t *place = kymo__cli_array(tree->count + 1, sizeof *place), next = 0;
    uint32_t depth = 0, node = 0;
    place[0] = -1;
    kymo__cli_json_array(json, "tree");
    while (tree->count && (node = kymo__tree_next(tree, node, &depth))) {
        const struct kymo_node *n = &tree->nodes[node];
        place[node] = -2;
        if (n->total < shortest || place[n->parent] == -2)
            continue;
        place[node] = next++;
        kymo__cli_json_array(json, NULL);
        kymo__cli_json_uint(json, NULL, n->callable);
        kymo__cli_json_int(json, NULL, place[n->parent]);
        kymo__cli_json_uint(json, NULL, n->calls + n->resumes);
        kymo__cli_json_int(json, NULL, n->self);
        kymo__cli_json_int(json, NULL, n->total);
        kymo__cli_json_end(json);
    }
    kymo__cli_json_end(json);
    kymo__cli_free(place);
}

static void put_survey(struct view_answer *answer, const struct kymo_survey *survey, kymo_ns origin)
{
    struct cli_json json;
    if (!kymo__answer_json_begin(answer, &json))
        return;
    kymo_ns busy = 0;
    for (size_t i = 0; i < survey->thread_count; i++)
        busy = kymo__ns_add(busy, survey->threads[i].busy);
    kymo__cli_json_int(&json, "from", survey->from - origin);
    kymo__cli_json_int(&json, "to", survey->to - origin);
    kymo__cli_json_uint(&json, "calls", survey->calls);
    kymo__cli_json_int(&json, "busy", busy);
    put_functions(&json, survey);
    put_tree(&json, &survey->tree);
    kymo__answer_json_end(answer, &json);
}

void kymo__answer_stats(const struct view_request *request, struct view_answer *answer)
{
    struct view *view = request->view;
    struct view_lease lease;
    int64_t capture, from, to;
    if (!kymo__request_number(request, "capture", 0, VIEW_CAPTURES - 1, 0, &capture) ||
        !kymo__request_number(request, "from", 0, (int64_t)1 << 61, 0, &from) ||
        !kymo__request_number(request, "to", 0, (int64_t)1 << 61, (int64_t)1 << 61, &to) ||
        from >= to) {
        kymo__answer_problem(answer, 400, "stats needs from and to, the later one last");
        return;
    }
    if (kymo__view_lease(view, (unsigned)capture, &lease) < 0) {
        kymo__answer_problem(answer, 404, "there is no such capture");
        return;
    }
    bool *chosen = kymo__request_choice(request, "threads", lease.state->info.threads);
    kymo_ns origin = view->origin[capture];
    struct kymo_survey *survey = NULL;
    const struct kymo_survey_options options = {
        .from = from ? kymo__ns_add(origin, from) : INT64_MIN,
        .to = kymo__ns_add(origin, to),
        .chosen = chosen,
        .nodes = NODES_KEPT,
        .progress = stop_if_asked,
        .progress_arg = view,
    };
    pthread_mutex_lock(&view->surveying);
    int rc = chosen ? kymo__survey(lease.capture, &options, &survey) : -EINVAL;
    if (rc == 0)
        put_survey(answer, survey, origin);
    else
        kymo__answer_problem(answer, rc == -EINVAL ? 400 : 503,
                             chosen ? kymo_strerror(rc) : "there are no such threads");
    kymo__survey_free(survey);
    pthread_mutex_unlock(&view->surveying);
    kymo__cli_free(chosen);
    kymo__view_give_back(view, &lease);
}

void kymo__answer_counts(const struct view_request *request, struct view_answer *answer)
{
    struct view *view = request->view;
    struct view_lease lease;
    int64_t capture;
    if (!kymo__request_number(request, "capture", 0, VIEW_CAPTURES - 1, 0, &capture) ||
        kymo__view_lease(view, (unsigned)capture, &lease) < 0) {
        kymo__answer_problem(answer, 404, "there is no such capture");
        return;
    }
    struct kymo_survey *survey = NULL;
    struct cli_json json;
    const struct kymo_survey_options options = {
        .from = INT64_MIN, .to = INT64_MAX, .progress = stop_if_asked, .progress_arg = view};
    pthread_mutex_lock(&view->surveying);
    int rc = kymo__survey(lease.capture, &options, &survey);
    pthread_mutex_unlock(&view->surveying);
    if (rc < 0) {
        kymo__answer_problem(answer, 503, kymo_strerror(rc));
    } else if (kymo__answer_json_begin(answer, &json)) {
        kymo__cli_json_array(&json, "counts");
        for (uint32_t i = 0; i < survey->callables.count; i++) {
            if (!survey->functions.of[i])
                continue;
            kymo__cli_json_array(&json, NULL);
            kymo__cli_json_uint(&json, NULL, i);
            kymo__cli_json_uint(&json, NULL, kymo__activations(survey->functions.of[i]));
            kymo__cli_json_end(&json);
        }
        kymo__cli_json_end(&json);
        kymo__answer_json_end(answer, &json);
    }
    kymo__survey_free(survey);
    kymo__view_give_back(view, &lease);
}
