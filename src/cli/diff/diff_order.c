/* diff_order.c — chooses and sorts the functions and paths that a comparison shows. */
#include <stdlib.h>
#include <string.h>

#include "comparison.h"
#include "memory.h"
#include "origin.h"

static kymo_ns magnitude(kymo_ns change)
{
    return change < 0 ? -change : change;
}

/* The ratio, in either direction; new and gone functions come first. */
static double factor(const struct kymo_diff_cost *cost)
{
    double before = (double)cost[0].self, after = (double)cost[1].self;
    if (before <= 0 || after <= 0)
        return before == after ? 1 : 1e300;
    return after > before ? after / before : before / after;
}

static double figure(const struct cli_comparison *c, const struct kymo_diff_cost *cost)
{
    switch (c->sort) {
    case CLI_CHANGE_SELF:
        return (double)magnitude(kymo__diff_change(cost));
    case CLI_CHANGE_TOTAL:
        return (double)magnitude(cost[1].total - cost[0].total);
    case CLI_CHANGE_CALLS:
        return (double)magnitude((kymo_ns)(cost[1].calls - cost[0].calls));
    case CLI_CHANGE_MEAN:
        return (double)magnitude(cost[1].mean - cost[0].mean);
    case CLI_CHANGE_RATIO:
        return factor(cost);
    default:
        return 0;
    }
}

static int by_name(const struct kymo_callable *a, const struct kymo_callable *b)
{
    int order = strcmp(a->name, b->name);
    order = order ? order : strcmp(a->file, b->file);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int by_figure(const void *a, const void *b, void *arg)
{
    const struct cli_comparison *c = arg;
    const struct kymo_diff_function *x = &c->diff.functions[*(const uint32_t *)a];
    const struct kymo_diff_function *y = &c->diff.functions[*(const uint32_t *)b];
    double left = figure(c, x->cost), right = figure(c, y->cost);
    return left != right ? (left > right ? -1 : 1) : by_name(&x->as, &y->as);
}

static int by_path_change(const void *a, const void *b, void *arg)
{
    const struct cli_comparison *c = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    kymo_ns left = magnitude(kymo__diff_change(c->diff.paths[x]));
    kymo_ns right = magnitude(kymo__diff_change(c->diff.paths[y]));
    return left != right ? (left > right ? -1 : 1) : x < y ? -1 : x > y;
}

const char *kymo__cli_compare_word(const struct kymo_diff_function *function)
{
    kymo_ns change = kymo__diff_change(function->cost);
    return !function->in[0]   ? "new"
           : !function->in[1] ? "gone"
           : change > 0       ? "slower"
           : change < 0       ? "faster"
                              : "same";
}

static void count_function(struct cli_comparison *c, const struct kymo_diff_function *function)
{
    kymo_ns change = kymo__diff_change(function->cost);
    c->fresh += !function->in[0];
    c->gone += !function->in[1];
    if (function->in[0] && function->in[1]) {
        c->slower += change > 0;
        c->faster += change < 0;
        c->same += change == 0;
    }
}

/* Is CALLABLE left out because it only waits? */
static bool left_out(const struct cli_comparison *c, const struct kymo_callable *callable)
{
    return c->apart && kymo__waits(callable);
}

static int by_ratio(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Ratios that are noise in any case. */
#define LEAST_NOISE 0.95
#define MOST_NOISE 1.05

/* Two runs of one program never take exactly the same time. Functions called equally often did the
   same work, so their ratios measure the noise: take the middle 80 % of them, and always treat a
   change of 5 % or less as noise. */
static void measure_noise(struct cli_comparison *c)
{
    enum { FEWEST = 8 };
    const double least = LEAST_NOISE, most = MOST_NOISE, worth = 0.002;
    const struct kymo_diff *d = c->all; /* the more functions, the better is the estimate */
    double *ratios = kymo__cli_array(d->count + 1, sizeof *ratios);
    size_t count = 0;
    for (uint32_t i = 1; i < d->count; i++) {
        const struct kymo_diff_function *f = &d->functions[i];
        if (f->in[0] && f->in[1] && f->cost[0].calls == f->cost[1].calls && !kymo__waits(&f->as) &&
            (double)f->cost[0].self > worth * (double)c->work[0] && f->cost[1].self > 0)
            ratios[count++] = (double)f->cost[1].self / (double)f->cost[0].self;
    }
    c->least_ratio = least;
    c->most_ratio = most;
    if (count >= FEWEST) {
        qsort(ratios, count, sizeof *ratios, by_ratio);
        double low = ratios[count / 10], high = ratios[count - 1 - count / 10];
        c->least_ratio = low < least ? low : least;
        c->most_ratio = high > most ? high : most;
    }
    kymo__cli_free(ratios);
}

/* Is the ratio of AFTER to BEFORE between LEAST and MOST? */
static bool is_between(double least, double most, kymo_ns before, kymo_ns after)
{
    return (double)after >= least * (double)before && (double)after <= most * (double)before;
}

bool kymo__cli_compare_noise(const struct cli_comparison *c, kymo_ns before, kymo_ns after)
{
    return is_between(c->least_ratio, c->most_ratio, before, after);
}

/* Did one function change more than all others together, and far more than by noise? */
static bool one_stands_out(const struct cli_comparison *c)
{
    const struct kymo_diff *d = &c->diff;
    const struct kymo_diff_function *most = NULL;
    double moved = 0, farthest = 0;
    for (uint32_t i = 1; i < d->count; i++) {
        const struct kymo_diff_function *f = &d->functions[i];
        double change = (double)magnitude(kymo__diff_change(f->cost));
        if (left_out(c, &f->as))
            continue;
        moved += change;
        if (change > farthest) {
            farthest = change;
            most = f;
        }
    }
    return most && 2 * farthest > moved &&
           !is_between(c->least_ratio * c->least_ratio, c->most_ratio * c->most_ratio,
                       most->cost[0].self, most->cost[1].self);
}

bool kymo__cli_compare_all_noise(const struct cli_comparison *c)
{
    const kymo_ns *work = c->work;
    return kymo__cli_compare_noise(c, work[0], work[1]) &&
           (is_between(LEAST_NOISE, MOST_NOISE, work[0], work[1]) || !one_stands_out(c));
}

const struct kymo_diff_function *kymo__cli_compare_waits(const struct cli_comparison *c)
{
    const struct kymo_diff_function *best = NULL;
    for (uint32_t i = 1; i < c->all->count; i++) {
        const struct kymo_diff_function *f = &c->all->functions[i];
        if (kymo__waits(&f->as) && kymo__diff_change(f->cost) &&
            (!best ||
             magnitude(kymo__diff_change(f->cost)) > magnitude(kymo__diff_change(best->cost))))
            best = f;
    }
    return best;
}

int kymo__cli_compare_surveys(struct cli_comparison *c, bool folded)
{
    struct kymo_diff *all = folded ? &c->unfolded : &c->diff;
    int rc = kymo__diff_init(all, c->survey[0], c->survey[1]);
    c->all = all;
    for (int side = 0; folded && side < 2 && rc == 0; side++)
        rc = kymo__fold(c->survey[side], false, &c->fold[side]);
    if (folded && rc == 0)
        rc = kymo__diff_init(&c->diff, &c->fold[0]->shown, &c->fold[1]->shown);
    return rc;
}

static void sum_up(struct cli_comparison *c)
{
    for (uint32_t i = 1; i < c->all->count; i++) {
        const struct kymo_diff_function *function = &c->all->functions[i];
        kymo_ns *sums = kymo__waits(&function->as) ? c->waited : c->work;
        for (int side = 0; side < 2; side++)
            sums[side] = kymo__ns_add(sums[side], function->cost[side].self);
    }
}

void kymo__cli_compare_arrange(struct cli_comparison *c)
{
    const struct kymo_diff *d = &c->diff;
    c->functions = kymo__cli_array(d->count + 1, sizeof *c->functions);
    c->paths = kymo__cli_array(d->tree.count + 1, sizeof *c->paths);
    for (uint32_t i = 1; i < d->count; i++) {
        const struct kymo_diff_function *function = &d->functions[i];
        count_function(c, function);
        if (!left_out(c, &function->as) &&
            magnitude(kymo__diff_change(d->functions[i].cost)) >= c->least)
            c->functions[c->function_count++] = i;
    }
    sum_up(c);
    measure_noise(c);
    kymo_ns least = c->least > 0 ? c->least : 1;
    for (uint32_t i = 1; i < d->tree.count; i++)
        if (!left_out(c, &d->callables[d->tree.nodes[i].callable]) &&
            magnitude(kymo__diff_change(d->paths[i])) >= least)
            c->paths[c->path_count++] = i;
    qsort_r(c->functions, c->function_count, sizeof *c->functions, by_figure, c);
    qsort_r(c->paths, c->path_count, sizeof *c->paths, by_path_change, c);
}

void kymo__cli_compare_free(struct cli_comparison *c)
{
    kymo__cli_free(c->functions);
    kymo__cli_free(c->paths);
    kymo__diff_fini(&c->diff);
    kymo__diff_fini(&c->unfolded);
    for (int side = 0; side < 2; side++)
        kymo__fold_free(c->fold[side]);
}

size_t kymo__cli_compare_explain(const struct cli_comparison *c, uint32_t *functions, size_t most,
                                 double *share)
{
    const double enough = 0.8, hardly = 0.02;
    const struct kymo_diff *d = &c->diff;
    kymo_ns whole = c->apart ? c->work[1] - c->work[0] : d->self[1] - d->self[0];
    double moved = 0;
    size_t count = 0;
    for (uint32_t i = 1; i < d->count; i++) {
        kymo_ns change = kymo__diff_change(d->functions[i].cost);
        if (left_out(c, &d->functions[i].as))
            continue;
        moved += (double)magnitude(change);
        /* Only changes in the same direction as the total explain it. */
        if (change == 0 || (change > 0) != (whole > 0))
            continue;
        size_t at = count;
        while (at > 0 && magnitude(kymo__diff_change(d->functions[functions[at - 1]].cost)) <
                             magnitude(change))
            at--;
        if (at == most)
            continue;
        count += count < most;
        memmove(functions + at + 1, functions + at, (count - at - 1) * sizeof *functions);
        functions[at] = i;
    }
    if (whole == 0 || (double)magnitude(whole) < hardly * moved)
        return 0;
    double explained = 0;
    for (size_t i = 0; i < count; i++) {
        explained += (double)kymo__diff_change(d->functions[functions[i]].cost) / (double)whole;
        if (explained >= enough)
            count = i + 1;
    }
    *share = explained;
    return count;
}
