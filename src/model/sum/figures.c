/* figures.c — the survey's results, for programs that link the library. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "handout.h"
#include "survey.h"

struct kymo_figures {
    struct kymo_survey *survey;
    uint32_t *order; /* callables that were called, in order of decreasing self time */
    uint64_t *place; /* by callable: its position in `order` */
    size_t count;
};

static int by_self(const void *a, const void *b, void *arg)
{
    const struct kymo_survey *s = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    kymo_ns left = s->functions.of[x]->self, right = s->functions.of[y]->self;
    return left != right ? (left > right ? -1 : 1) : x < y ? -1 : x > y;
}

static int arrange_functions(struct kymo_figures *f)
{
    const struct kymo_survey *s = f->survey;
    f->order = kymo__alloc((s->callables.count + 1) * sizeof(*f->order));
    f->place = kymo__alloc_zeroed((s->callables.count + 1) * sizeof(*f->place));
    if (!f->order || !f->place)
        return -ENOMEM;
    for (uint32_t i = 0; i < s->callables.count; i++)
        if (s->functions.of[i] && kymo__activations(s->functions.of[i]))
            f->order[f->count++] = i;
    qsort_r(f->order, f->count, sizeof(*f->order), by_self, f->survey);
    for (size_t i = 0; i < f->count; i++)
        f->place[f->order[i]] = i;
    return 0;
}

static int survey(struct kymo_figures *f, struct kymo_capture *capture,
                  const struct kymo_figures_options *o)
{
    size_t threads = capture->reader->thread_count;
    if (o->thread < -1 || o->thread >= (int64_t)threads)
        return -EINVAL;
    bool *chosen = NULL;
    if (o->thread >= 0) {
        chosen = kymo__alloc_zeroed((threads + 1) * sizeof(*chosen));
        if (!chosen)
            return -ENOMEM;
        chosen[o->thread] = true;
    }
    /* Without the number of samples, for which everything would be read. */
    struct kymo_info info = {.size = offsetof(struct kymo_info, samples)};
    kymo_capture_info(capture, &info);
    const struct kymo_survey_options options = {
        .from = o->from > info.start ? o->from : INT64_MIN,
        .to = o->to,
        .chosen = chosen,
        .nodes = o->paths ? (size_t)o->paths + 1 : 0, /* plus the root */
        .progress = o->progress,
        .progress_arg = o->progress_arg,
    };
    int rc = kymo__survey(capture, &options, &f->survey);
    kymo__free(chosen);
    return rc;
}

int kymo_figures_new(struct kymo_capture *capture, const struct kymo_figures_options *options,
                     struct kymo_figures **figures)
{
    struct kymo_figures_options all = {.to = INT64_MAX, .thread = -1};
    if (options)
        memcpy(&all, options, options->size < sizeof(all) ? options->size : sizeof(all));
    struct kymo_figures *f = kymo__alloc_zeroed(sizeof(*f));
    if (!f)
        return -ENOMEM;
    int rc = survey(f, capture, &all);
    if (rc == 0)
        rc = arrange_functions(f);
    if (rc < 0)
        kymo_figures_free(f);
    else
        *figures = f;
    return rc;
}

void kymo_figures_free(struct kymo_figures *figures)
{
    if (!figures)
        return;
    kymo__survey_free(figures->survey);
    kymo__free(figures->order);
    kymo__free(figures->place);
    kymo__free(figures);
}

/* Clamped: the middle of a bucket may lie outside the values seen. */
static kymo_ns percentile(const struct kymo_function_cost *cost, double fraction)
{
    kymo_ns at = kymo__histogram_at(&cost->lengths, fraction);
    return at > cost->most ? cost->most : at < cost->least ? cost->least : at;
}

int kymo_figures_function(const struct kymo_figures *figures, uint64_t index,
                          struct kymo_function_figures *function)
{
    if (index >= figures->count)
        return -ENOENT;
    const struct kymo_survey *s = figures->survey;
    uint32_t i = figures->order[index];
    const struct kymo_function_cost *cost = s->functions.of[i];
    const struct kymo_callable *callable = &s->callables.all[i];
    const struct kymo_function_figures full = {
        .name = callable->name,
        .file = callable->file,
        .line = callable->line,
        .class_ = callable->class,
        .calls = cost->calls,
        .resumes = cost->resumes,
        .self = cost->self,
        .total = cost->total,
        .mean = kymo__mean(cost, callable->class),
        .least = cost->least,
        .most = cost->most,
        .p50 = percentile(cost, 0.50),
        .p99 = percentile(cost, 0.99),
    };
    return kymo__hand_out(function, &full, sizeof(full));
}

int kymo_figures_path(const struct kymo_figures *figures, uint64_t index,
                      struct kymo_path_figures *path)
{
    const struct kymo_tree *tree = &figures->survey->tree;
    if (index + 1 >= tree->count || index == UINT64_MAX)
        return -ENOENT;
    const struct kymo_node *node = &tree->nodes[index + 1];
    const struct kymo_path_figures full = {
        .parent = (int64_t)node->parent - 1,
        .function = figures->place[node->callable],
        .calls = node->calls,
        .resumes = node->resumes,
        .self = node->self,
        .total = node->total,
    };
    return kymo__hand_out(path, &full, sizeof(full));
}
