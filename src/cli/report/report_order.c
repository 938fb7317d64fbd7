/* report_order.c — chooses and sorts the functions, paths and callers of a report. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "report.h"

bool kymo__cli_report_fits(const char *pattern, const struct kymo_callable *callable)
{
    if (!pattern)
        return true;
    if (!strpbrk(pattern, "*?["))
        return strstr(callable->name, pattern) || strstr(callable->file, pattern);
    return fnmatch(pattern, callable->name, 0) == 0 || fnmatch(pattern, callable->file, 0) == 0;
}

/* Largest first; ties by name, so that the order is stable. */
static int by_name(const struct kymo_callable *a, const struct kymo_callable *b)
{
    int order = strcmp(a->name, b->name);
    order = order ? order : strcmp(a->file, b->file);
    order = order ? order : (a->line > b->line) - (a->line < b->line);
    return order ? order : (a->class > b->class) - (a->class < b->class);
}

static int64_t figure(const struct cli_report *report, uint32_t callable)
{
    const struct kymo_function_cost *cost = report->shown->functions.of[callable];
    switch (report->sort) {
    case CLI_BY_SELF:
        return cost->self;
    case CLI_BY_TOTAL:
        return cost->total;
    case CLI_BY_CALLS:
        return (int64_t)cost->calls;
    case CLI_BY_MEAN:
        return report->rows[callable].mean;
    case CLI_BY_P99:
        return report->rows[callable].p99;
    default:
        return 0;
    }
}

static int by_figure(const void *a, const void *b, void *arg)
{
    const struct cli_report *report = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int64_t left = figure(report, x), right = figure(report, y);
    const struct kymo_callable *all = report->shown->callables.all;
    return left != right ? (left > right ? -1 : 1) : by_name(&all[x], &all[y]);
}

int kymo__cli_report_look(struct cli_report *report, bool for_programs)
{
    for (int i = 0; i < KYMO__CLASSES; i++)
        report->inside = kymo__ns_add(report->inside, report->survey->self[i]);
    report->shown = report->survey;
    report->whole = report->inside;
    if (for_programs)
        return 0;
    /* A pattern may match any function. */
    bool unfold = report->unfold || report->filter || report->callers;
    int rc = kymo__fold(report->survey, unfold, &report->fold);
    if (rc < 0)
        return rc;
    report->shown = &report->fold->shown;
    report->whole = report->fold->work;
    return 0;
}

/* The middle of a bucket may lie outside the observed range. */
static kymo_ns percentile(const struct kymo_function_cost *cost, double fraction)
{
    kymo_ns at = kymo__histogram_at(&cost->lengths, fraction);
    return at > cost->most ? cost->most : at < cost->least ? cost->least : at;
}

/* Folding does not change single activations. */
struct cli_row kymo__cli_report_row(const struct cli_report *report, uint32_t callable)
{
    const struct kymo_survey *s = report->survey;
    const struct kymo_function_cost *cost =
        callable < s->callables.count ? s->functions.of[callable] : NULL;
    if (!cost || !kymo__activations(cost))
        return (struct cli_row){0};
    return (struct cli_row){
        .mean = kymo__mean(cost, s->callables.all[callable].class),
        .p50 = percentile(cost, 0.50),
        .p99 = percentile(cost, 0.99),
    };
}

void kymo__cli_report_arrange(struct cli_report *report)
{
    const struct kymo_survey *s = report->shown;
    report->functions = kymo__cli_array(s->callables.count + 1, sizeof *report->functions);
    if (report->sort == CLI_BY_MEAN || report->sort == CLI_BY_P99)
        report->rows = kymo__cli_array(s->callables.count + 1, sizeof *report->rows);
    for (uint32_t i = 0; i < s->callables.count; i++) {
        const struct kymo_function_cost *cost = s->functions.of[i];
        if (!cost || !kymo__activations(cost) ||
            !kymo__cli_report_fits(report->filter, &s->callables.all[i]))
            continue;
        if (report->rows)
            report->rows[i] = kymo__cli_report_row(report, i);
        report->functions[report->function_count++] = i;
    }
    qsort_r(report->functions, report->function_count, sizeof *report->functions, by_figure,
            report);
}

uint32_t *kymo__cli_report_by(const struct cli_report *report, enum cli_sort sort)
{
    struct cli_report other = *report;
    other.sort = sort;
    uint32_t *functions = kymo__cli_array(report->function_count + 1, sizeof *functions);
    memcpy(functions, report->functions, report->function_count * sizeof *functions);
    qsort_r(functions, report->function_count, sizeof *functions, by_figure, &other);
    return functions;
}

void kymo__cli_report_free(struct cli_report *report)
{
    kymo__cli_report_sample_free(report);
    kymo__cli_report_cost_free(report);
    kymo__fold_free(report->fold);
    kymo__cli_free(report->functions);
    kymo__cli_free(report->rows);
    kymo__survey_free(report->survey);
}

/* Does path A come before path B? Do not use the order of nodes: threads are read in parallel, so
   it varies between runs. */
static bool hotter(const struct kymo_survey *s, uint32_t a, uint32_t b)
{
    const struct kymo_node *nodes = s->tree.nodes;
    if (nodes[a].self != nodes[b].self)
        return nodes[a].self > nodes[b].self;
    for (; a && b; a = nodes[a].parent, b = nodes[b].parent) {
        int order =
            by_name(&s->callables.all[nodes[a].callable], &s->callables.all[nodes[b].callable]);
        if (order)
            return order < 0;
    }
    return !a && b;
}

size_t kymo__cli_report_hottest(const struct cli_report *report, uint32_t *nodes, size_t most)
{
    const struct kymo_survey *s = report->shown;
    size_t count = 0;
    for (uint32_t i = 1; i < s->tree.count; i++) {
        if (s->tree.nodes[i].self <= 0 || (count == most && !hotter(s, i, nodes[count - 1])))
            continue;
        size_t at = count < most ? count++ : count - 1;
        for (; at > 0 && hotter(s, i, nodes[at - 1]); at--)
            nodes[at] = nodes[at - 1];
        nodes[at] = i;
    }
    return count;
}

static int by_pair(const void *a, const void *b)
{
    const struct cli_caller *x = a, *y = b;
    if (x->callable != y->callable)
        return x->callable < y->callable ? -1 : 1;
    if (x->root != y->root)
        return x->root ? -1 : 1;
    return x->caller < y->caller ? -1 : x->caller > y->caller;
}

static int by_total(const void *a, const void *b)
{
    const struct cli_caller *x = a, *y = b;
    if (x->callable != y->callable)
        return x->callable < y->callable ? -1 : 1;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return x->calls > y->calls ? -1 : x->calls < y->calls;
}

/* Add up the entries of ALL that have the same callable and caller. */
static size_t add_up(struct cli_caller *all, size_t count)
{
    size_t kept = 0;
    if (count)
        qsort(all, count, sizeof *all, by_pair);
    for (size_t i = 0; i < count; i++) {
        if (kept && by_pair(&all[kept - 1], &all[i]) == 0) {
            all[kept - 1].calls += all[i].calls;
            all[kept - 1].resumes += all[i].resumes;
            all[kept - 1].self = kymo__ns_add(all[kept - 1].self, all[i].self);
            all[kept - 1].total = kymo__ns_add(all[kept - 1].total, all[i].total);
        } else {
            all[kept++] = all[i];
        }
    }
    if (kept)
        qsort(all, kept, sizeof *all, by_total);
    return kept;
}

/* Does the callable of NODE also occur further up its path? */
static bool recursive(const struct kymo_tree *tree, uint32_t node)
{
    for (uint32_t up = tree->nodes[node].parent; up; up = tree->nodes[up].parent)
        if (tree->nodes[up].callable == tree->nodes[node].callable)
            return true;
    return false;
}

size_t kymo__cli_report_callers(const struct cli_report *report, struct cli_caller **callers)
{
    const struct kymo_survey *s = report->survey;
    const struct kymo_tree *tree = &s->tree;
    /* Prefer a full match to a partial one. */
    bool exact = false;
    for (uint32_t i = 1; i < tree->count; i++)
        exact |= strcmp(s->callables.all[tree->nodes[i].callable].name, report->callers) == 0;
    struct cli_caller *all = kymo__cli_array(tree->count + 1, sizeof *all);
    size_t count = 0;
    for (uint32_t i = 1; i < tree->count; i++) {
        const struct kymo_node *node = &tree->nodes[i];
        const struct kymo_callable *callable = &s->callables.all[node->callable];
        if (exact ? strcmp(callable->name, report->callers) != 0
                  : !kymo__cli_report_fits(report->callers, callable))
            continue;
        all[count++] = (struct cli_caller){
            .callable = node->callable,
            .caller = node->parent ? tree->nodes[node->parent].callable : 0,
            .root = !node->parent,
            .calls = node->calls,
            .resumes = node->resumes,
            .self = node->self,
            /* Only the outermost call counts towards the total. */
            .total = recursive(tree, i) ? 0 : node->total,
        };
    }
    *callers = all;
    return add_up(all, count);
}
