/* diff_text.c — the text output of `kymograph diff`: the overall change and what caused it, then
   functions and paths. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comparison.h"
#include "memory.h"
#include "report_words.h"
#include "table.h"
#include "terminal.h"
#include "text.h"

enum { PATHS = 10, NAMED = 5 };

/* +1.500 ms, -20 ns, ±0. */
static struct cli_text change_of(kymo_ns before, kymo_ns after)
{
    struct cli_text text;
    kymo_ns change = after - before;
    struct cli_text size = kymo__cli_duration(change < 0 ? -change : change);
    snprintf(text.text, sizeof text.text, "%s%.60s",
             change > 0   ? "+"
             : change < 0 ? "-"
                          : "",
             size.text);
    return text;
}

/* +25.0 %, or "" when there is nothing to compare with. */
static struct cli_text share_of(double before, double after)
{
    struct cli_text text = {""};
    if (before > 0)
        snprintf(text.text, sizeof text.text, " (%+.1f %%)", 100 * (after - before) / before);
    return text;
}

/* Prefixed with ~ when it is within the noise. */
static struct cli_text ratio_of(const struct cli_comparison *c,
                                const struct kymo_diff_function *function)
{
    struct cli_text text;
    const struct kymo_diff_cost *cost = function->cost;
    if (!function->in[0] || !function->in[1])
        snprintf(text.text, sizeof text.text, "%s", kymo__cli_compare_word(function));
    else if (cost[0].self <= 0)
        snprintf(text.text, sizeof text.text, "-");
    else
        snprintf(text.text, sizeof text.text, "%s×%.2f",
                 cost[0].calls == cost[1].calls &&
                         kymo__cli_compare_noise(c, cost[0].self, cost[1].self)
                     ? "~"
                     : "",
                 (double)cost[1].self / (double)cost[0].self);
    return text;
}

/* Did both make about as many calls? If not, even a small difference is not noise. */
static bool same_work(const struct cli_comparison *c)
{
    const double few = 0.01;
    double before = (double)c->all->calls[0], after = (double)c->all->calls[1];
    double change = after > before ? after - before : before - after;
    return c->of_samples || change <= few * before;
}

static void put_explanation(FILE *out, const struct cli_comparison *c)
{
    uint32_t functions[NAMED];
    double share = 0;
    size_t count = kymo__cli_compare_explain(c, functions, NAMED, &share);
    if (c->work[0] == c->work[1]) {
        fputs("no change overall", out);
    } else if (same_work(c) && kymo__cli_compare_all_noise(c)) {
        fprintf(out,
                "within the noise between two runs: functions called equally often differ by "
                "%+.0f %% to %+.0f %%",
                100 * (c->least_ratio - 1), 100 * (c->most_ratio - 1));
    } else if (count == 0) {
        fputs("no single function: changes cancel out", out);
    } else {
        for (size_t i = 0; i < count; i++) {
            const struct kymo_diff_function *function = &c->diff.functions[functions[i]];
            fputs(i > 0 ? ", " : "", out);
            kymo__cli_put_clean(out, function->as.name);
            fprintf(out, " %s", change_of(function->cost[0].self, function->cost[1].self).text);
            if (!function->in[0] || !function->in[1])
                fprintf(out, " (%s)", kymo__cli_compare_word(function));
        }
        /* Changes in the other direction can push this above 100 %. */
        fprintf(out, "; together %.0f %% of the change", 100 * share);
    }
}

static void print_explanation(const struct cli_comparison *c)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    kymo__cli_label("because");
    if (out) {
        put_explanation(out, c);
        fclose(out);
        int width = kymo__cli_terminal_width();
        kymo__cli_wrap(stdout, text, CLI_INDENT + CLI_LABEL, width ? width : INT_MAX,
                       CLI_INDENT + CLI_LABEL);
    }
    free(text);
}

static void print_waiting(const struct cli_comparison *c)
{
    if (!c->waited[0] && !c->waited[1])
        return;
    const struct kymo_diff_function *most = kymo__cli_compare_waits(c);
    kymo__cli_label("waiting");
    printf("%s → %s, %s", kymo__cli_duration(c->waited[0]).text,
           kymo__cli_duration(c->waited[1]).text, change_of(c->waited[0], c->waited[1]).text);
    if (most) {
        fputs("; ", stdout);
        kymo__cli_put_clean(stdout, most->as.name);
        printf(" %s", change_of(most->cost[0].self, most->cost[1].self).text);
    }
    putchar('\n');
}

static void print_summary(const struct cli_comparison *c)
{
    const struct kymo_diff *d = c->all;
    fputs(kymo__cli_colour(CLI_BOLD), stdout);
    kymo__cli_put_clean(stdout, c->path[0]);
    fputs(" → ", stdout);
    kymo__cli_put_clean(stdout, c->path[1]);
    printf("%s\n", kymo__cli_colour(CLI_PLAIN));
    kymo__cli_label("time");
    printf("%s → %s of work, %s%s\n", kymo__cli_duration(c->work[0]).text,
           kymo__cli_duration(c->work[1]).text, change_of(c->work[0], c->work[1]).text,
           share_of((double)c->work[0], (double)c->work[1]).text);
    print_explanation(c);
    print_waiting(c);
    kymo__cli_label("lasted");
    kymo_ns lasted[2];
    for (int i = 0; i < 2; i++)
        lasted[i] = kymo__cli_lasted(c->capture[i], &c->info[i]);
    printf("%s → %s, %s\n", kymo__cli_duration(lasted[0]).text, kymo__cli_duration(lasted[1]).text,
           change_of(lasted[0], lasted[1]).text);
    uint64_t before = c->of_samples ? c->survey[0]->calls : d->calls[0];
    uint64_t after = c->of_samples ? c->survey[1]->calls : d->calls[1];
    kymo__cli_label(c->of_samples ? "samples" : "calls");
    printf("%s → %s%s\n", kymo__cli_grouped(before).text, kymo__cli_grouped(after).text,
           share_of((double)before, (double)after).text);
    kymo__cli_label("functions");
    printf("%s slower, %s faster, %s new, %s gone, %s the same\n",
           kymo__cli_grouped(c->slower).text, kymo__cli_grouped(c->faster).text,
           kymo__cli_grouped(c->fresh).text, kymo__cli_grouped(c->gone).text,
           kymo__cli_grouped(c->same).text);
    for (int i = 0; i < 2; i++) {
        const struct kymo_calls_counts *counts = &c->survey[i]->counts;
        if (!counts->gaps && !counts->lost_leaves)
            continue;
        kymo__cli_label("lost");
        fputs(kymo__cli_colour(CLI_YELLOW), stdout);
        kymo__cli_put_clean(stdout, c->path[i]);
        printf(" lacks %s and the end of %s%s\n",
               kymo__cli_count(counts->missing, "record", "records").text,
               kymo__cli_count(counts->lost_leaves, "call", "calls").text,
               kymo__cli_colour(CLI_PLAIN));
    }
}

static bool changed(const struct kymo_diff_function *f)
{
    return f->in[0] != f->in[1] || kymo__diff_change(f->cost) ||
           f->cost[0].total != f->cost[1].total || f->cost[0].calls != f->cost[1].calls;
}

static void print_functions(const struct cli_comparison *c)
{
    static const char *const order[] = {
        [CLI_CHANGE_SELF] = "change of self time",  [CLI_CHANGE_TOTAL] = "change of total time",
        [CLI_CHANGE_CALLS] = "change of calls",     [CLI_CHANGE_MEAN] = "change of mean time",
        [CLI_CHANGE_RATIO] = "ratio of self times", [CLI_CHANGE_NAME] = "name",
    };
    enum { MEANS = 8, AFTER_MEANS = 10, COLUMNS = 13 };
    struct cli_column columns[COLUMNS] = {
        {"CHANGE", true, CLI_KEEP},
        {"RATIO", true, CLI_KEEP},
        {"SELF A", true, CLI_DROP(1)},
        {"SELF B", true, CLI_DROP(2)},
        {"TOTAL A", true, CLI_DROP(5)},
        {"TOTAL B", true, CLI_DROP(6)},
        {"CALLS A", true, CLI_DROP(3)},
        {"CALLS B", true, CLI_DROP(4)},
        {"MEAN A", true, CLI_DROP(7)},
        {"MEAN B", true, CLI_DROP(8)},
        {"FUNCTION", false, CLI_CUT_LEFT},
        {"WHERE", false, CLI_CUT_LEFT},
        {0},
    };
    if (c->of_samples) { /* samples do not measure single calls */
        columns[6].title = "SAMPLES A";
        columns[7].title = "SAMPLES B";
        memmove(columns + MEANS, columns + AFTER_MEANS, (COLUMNS - AFTER_MEANS) * sizeof *columns);
    }
    char title[80];
    snprintf(title, sizeof title, "Functions by %s; A is the first file, B the second",
             c->of_samples && c->sort == CLI_CHANGE_CALLS ? "change of samples" : order[c->sort]);
    kymo__cli_heading(title);
    struct cli_table *table = kymo__cli_table_new(columns);
    size_t shown = 0, all = 0;
    for (size_t at = 0; at < c->function_count; at++) {
        const struct kymo_diff_function *f = &c->diff.functions[c->functions[at]];
        all += changed(f);
        if (!changed(f) || shown == c->limit)
            continue;
        shown++;
        struct cli_text change = change_of(f->cost[0].self, f->cost[1].self),
                        ratio = ratio_of(c, f);
        struct cli_text self[2], total[2], calls[2], mean[2];
        for (int i = 0; i < 2; i++) {
            const struct cli_text none = {"-"};
            self[i] = f->in[i] ? kymo__cli_duration(f->cost[i].self) : none;
            total[i] = f->in[i] ? kymo__cli_duration(f->cost[i].total) : none;
            calls[i] = f->in[i] ? kymo__cli_grouped(f->cost[i].calls) : none;
            mean[i] = f->in[i] ? kymo__cli_duration(f->cost[i].mean) : none;
        }
        char *place = kymo__cli_where(&f->as);
        const char *cells[] = {change.text,   ratio.text,    self[0].text,  self[1].text,
                               total[0].text, total[1].text, calls[0].text, calls[1].text,
                               mean[0].text,  mean[1].text,  f->as.name,    place};
        if (c->of_samples) {
            cells[MEANS] = f->as.name;
            cells[MEANS + 1] = place;
        }
        kymo__cli_table_add(table, cells);
        kymo__cli_free(place);
    }
    if (shown > 0)
        kymo__cli_table_print(table, CLI_INDENT);
    else
        printf("%*snone\n", CLI_INDENT, "");
    kymo__cli_table_free(table);
    if (shown > 0)
        printf("%*s%s~ within the noise between two runs%s\n", CLI_INDENT, "",
               kymo__cli_colour(CLI_DIM), kymo__cli_colour(CLI_PLAIN));
    if (shown < all)
        printf("%*s%s… and %s more; --limit shows more%s\n", CLI_INDENT, "",
               kymo__cli_colour(CLI_DIM), kymo__cli_grouped(all - shown).text,
               kymo__cli_colour(CLI_PLAIN));
    if (c->fold[0] && (c->fold[0]->folded || c->fold[1]->folded))
        kymo__cli_print_folded("Time");
}

static void print_paths(const struct cli_comparison *c)
{
    enum { CHANGE = 11, TIMES = 23 };
    if (c->path_count == 0)
        return;
    kymo__cli_heading(c->of_samples ? "Sampled call paths by change of self time"
                                    : "Call paths by change of self time");
    for (size_t i = 0; i < c->path_count && i < PATHS; i++) {
        const struct kymo_diff_cost *cost = c->diff.paths[c->paths[i]];
        struct cli_text change = change_of(cost[0].self, cost[1].self);
        char *times = kymo__cli_format("%s → %s", kymo__cli_duration(cost[0].self).text,
                                       kymo__cli_duration(cost[1].self).text);
        printf("%*s%s  %s%*s%s%s  ", CLI_INDENT + CHANGE - kymo__cli_cells(change.text), "",
               change.text, kymo__cli_colour(CLI_DIM), TIMES - kymo__cli_cells(times), "", times,
               kymo__cli_colour(CLI_PLAIN));
        kymo__cli_free(times);
        char *path = NULL;
        size_t size;
        FILE *out = open_memstream(&path, &size);
        if (out) {
            kymo__cli_put_path(out, &c->diff.tree, c->diff.callables, c->paths[i]);
            fclose(out);
        }
        kymo__cli_print_rest_end(path ? path : "", CLI_INDENT + CHANGE + 2 + TIMES + 2);
        free(path);
    }
}

void kymo__cli_compare_text(const struct cli_comparison *c)
{
    print_summary(c);
    print_functions(c);
    print_paths(c);
}
