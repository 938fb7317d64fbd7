/* report_samples.c — the section on samples, as text and JSON. Samples are estimates and are never
   added to the times of calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonout.h"
#include "memory.h"
#include "report.h"
#include "report_words.h"
#include "table.h"
#include "terminal.h"
#include "units.h"

/* "12 034 samples, one every 1.000 ms of CPU time". */
static void print_head(const struct cli_report *report)
{
    const struct kymo_tallies *t = &report->samples->tallies;
    printf("%*s%s", CLI_INDENT, "", kymo__cli_count(t->samples, "sample", "samples").text);
    if (!t->period_known) {
        puts("; the period is not known: times count a period as 1 ns.");
        return;
    }
    printf(", one every %s of %s: %s in all.\n", kymo__cli_duration(t->period).text,
           t->of_wall == 0            ? "CPU time"
           : t->of_wall == t->samples ? "time"
                                      : "CPU time or of time",
           kymo__cli_duration(report->sampled->inside).text);
    printf("%*sThese are estimates, separate from the times of calls.\n", CLI_INDENT, "");
}

static void print_list(const struct cli_report *report, const uint32_t *functions,
                       const char *title, uint64_t limit)
{
    static const struct cli_column columns[] = {
        {"SELF", true, CLI_KEEP},       {"%", true, CLI_KEEP},
        {"TOTAL", true, CLI_KEEP},      {"%", true, CLI_DROP(1)},
        {"SAMPLES", true, CLI_DROP(2)}, {"FUNCTION", false, CLI_CUT_LEFT},
        {"WHERE", false, CLI_CUT_LEFT}, {0},
    };
    const struct cli_report *sampled = report->sampled;
    const struct kymo_survey *s = sampled->shown;
    struct cli_table *table = kymo__cli_table_new(columns);
    printf("\n%*s%s%s%s\n", CLI_INDENT, "", kymo__cli_colour(CLI_BOLD), title,
           kymo__cli_colour(CLI_PLAIN));
    for (size_t i = 0; i < sampled->function_count && i < limit; i++) {
        uint32_t callable = functions[i];
        const struct kymo_function_cost *cost = s->functions.of[callable];
        struct cli_text self = kymo__cli_duration(cost->self);
        struct cli_text part = kymo__cli_percent(cost->self, sampled->whole);
        struct cli_text total = kymo__cli_duration(cost->total);
        struct cli_text share = kymo__cli_percent(cost->total, sampled->whole);
        struct cli_text count = kymo__cli_grouped(cost->primitive);
        char *place = kymo__cli_where(&s->callables.all[callable]);
        const char *const cells[] = {self.text,  part.text,  total.text,
                                     share.text, count.text, s->callables.all[callable].name,
                                     place};
        kymo__cli_table_add(table, cells);
        kymo__cli_free(place);
    }
    kymo__cli_table_print(table, CLI_INDENT);
    kymo__cli_table_free(table);
}

static void print_functions(const struct cli_report *report)
{
    enum { TOTALS = 10 };
    static const char *const titles[] = {
        [CLI_BY_SELF] = "Functions by own samples",
        [CLI_BY_TOTAL] = "Functions by samples, callees included",
        [CLI_BY_CALLS] = "Functions by number of samples",
        [CLI_BY_NAME] = "Functions by name",
    };
    const struct cli_report *sampled = report->sampled;
    if (!sampled->function_count) {
        printf("%*snone\n", CLI_INDENT, "");
        return;
    }
    print_list(report, sampled->functions, titles[sampled->sort], report->limit);
    if (report->limit < sampled->function_count)
        printf("%*s%s… and %s more; --limit shows more, --filter others%s\n", CLI_INDENT, "",
               kymo__cli_colour(CLI_DIM),
               kymo__cli_grouped(sampled->function_count - report->limit).text,
               kymo__cli_colour(CLI_PLAIN));
    if (sampled->fold->folded)
        kymo__cli_print_folded("Time");
    if (report->sorted)
        return;
    uint32_t *functions = kymo__cli_report_by(sampled, CLI_BY_TOTAL);
    print_list(report, functions, titles[CLI_BY_TOTAL],
               report->limit < TOTALS ? report->limit : TOTALS);
    kymo__cli_free(functions);
}

static int by_busy(const void *a, const void *b, void *arg)
{
    const struct kymo_survey *s = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    kymo_ns left = s->threads[x].busy, right = s->threads[y].busy;
    return left != right ? (left > right ? -1 : 1) : (x > y) - (x < y);
}

static void print_threads(const struct cli_report *report)
{
    enum { THREADS = 20 };
    static const struct cli_column columns[] = {
        {"THREAD", true, CLI_KEEP},
        {"TID", true, CLI_DROP(1)},
        {"NAME", false, CLI_CUT},
        {"SAMPLES", true, CLI_KEEP},
        {"TIME", true, CLI_KEEP},
        {"%", true, CLI_KEEP},
        {0},
    };
    struct kymo_survey *s = report->sampled->survey;
    uint32_t *order = kymo__cli_array(s->thread_count + 1, sizeof *order);
    size_t count = 0;
    for (uint32_t i = 0; i < s->thread_count; i++)
        if (s->threads[i].counts.slices)
            order[count++] = i;
    qsort_r(order, count, sizeof *order, by_busy, s);
    struct cli_table *table = kymo__cli_table_new(columns);
    for (size_t i = 0; i < count && i < THREADS; i++) {
        struct kymo_thread_info thread = {.size = sizeof thread};
        kymo_capture_thread(report->capture, order[i], &thread);
        char index[16], tid[24];
        snprintf(index, sizeof index, "%u", order[i]);
        snprintf(tid, sizeof tid, "%lld", (long long)thread.tid);
        struct cli_text samples = kymo__cli_grouped(s->threads[order[i]].counts.slices);
        struct cli_text time = kymo__cli_duration(s->threads[order[i]].busy);
        struct cli_text share =
            kymo__cli_percent(s->threads[order[i]].busy, report->sampled->inside);
        const char *const cells[] = {index, tid, thread.name, samples.text, time.text, share.text};
        kymo__cli_table_add(table, cells);
    }
    printf("\n%*s%sThreads by samples%s\n", CLI_INDENT, "", kymo__cli_colour(CLI_BOLD),
           kymo__cli_colour(CLI_PLAIN));
    kymo__cli_table_print(table, CLI_INDENT);
    kymo__cli_left_out(count, THREADS);
    kymo__cli_table_free(table);
    kymo__cli_free(order);
}

void kymo__cli_print_samples(const struct cli_report *report)
{
    if (!report->samples)
        return;
    kymo__cli_heading("Samples");
    print_head(report);
    if (report->callers) {
        kymo__cli_print_callers(report->sampled);
        return;
    }
    if (report->tree) {
        kymo__cli_print_tree(report->sampled);
        return;
    }
    print_functions(report);
    if (!report->filter)
        kymo__cli_print_lines(report);
    print_threads(report);
}

/* ------------------------------------------------------------------- json --- */

static void write_functions(struct kymo_jsonout *json, const struct cli_report *report)
{
    const struct cli_report *sampled = report->sampled;
    const struct kymo_survey *s = sampled->survey;
    kymo__jsonout_uint(json, "function_count", sampled->function_count);
    kymo__jsonout_array(json, "functions");
    for (size_t i = 0; i < sampled->function_count && i < report->limit; i++) {
        const struct kymo_function_cost *cost = s->functions.of[sampled->functions[i]];
        kymo__jsonout_object(json, NULL);
        kymo__cli_write_callable(json, &s->callables.all[sampled->functions[i]]);
        kymo__jsonout_uint(json, "self_samples", cost->primitive);
        kymo__jsonout_uint(json, "samples", cost->calls);
        kymo__jsonout_int(json, "self_ns", cost->self);
        kymo__jsonout_int(json, "total_ns", cost->total);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

static void write_tree(struct kymo_jsonout *json, const struct cli_report *report)
{
    const struct kymo_survey *s = report->sampled->survey;
    const struct kymo_tree *tree = &s->tree;
    kymo_ns least = (kymo_ns)(report->threshold * (double)report->sampled->inside);
    uint64_t *position = kymo__cli_array(tree->count + 1, sizeof *position);
    uint64_t written = 0;
    uint32_t at = 0, depth = 0;
    kymo__jsonout_array(json, "tree");
    while ((at = kymo__tree_next(tree, at, &depth))) {
        const struct kymo_node *node = &tree->nodes[at];
        if (node->total < least)
            continue;
        position[at] = written++;
        kymo__jsonout_object(json, NULL);
        if (node->parent)
            kymo__jsonout_uint(json, "parent", position[node->parent]);
        else
            kymo__jsonout_null(json, "parent");
        kymo__cli_write_callable(json, &s->callables.all[node->callable]);
        kymo__jsonout_uint(json, "samples", node->calls);
        kymo__jsonout_int(json, "self_ns", node->self);
        kymo__jsonout_int(json, "total_ns", node->total);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
    kymo__cli_free(position);
}

static void write_threads(struct kymo_jsonout *json, const struct kymo_survey *s)
{
    kymo__jsonout_array(json, "threads");
    for (uint32_t i = 0; i < s->thread_count; i++) {
        if (!s->threads[i].counts.slices)
            continue;
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_uint(json, "index", i);
        kymo__jsonout_uint(json, "samples", s->threads[i].counts.slices);
        kymo__jsonout_int(json, "time_ns", s->threads[i].busy);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

void kymo__cli_write_samples(struct kymo_jsonout *json, const struct cli_report *report)
{
    if (!report->samples) {
        kymo__jsonout_null(json, "samples");
        return;
    }
    const struct kymo_tallies *t = &report->samples->tallies;
    kymo__jsonout_object(json, "samples");
    kymo__jsonout_uint(json, "count", t->samples);
    kymo__jsonout_uint(json, "cpu", t->samples - t->of_wall);
    kymo__jsonout_uint(json, "wall", t->of_wall);
    kymo__jsonout_uint(json, "periods", t->periods);
    if (t->period_known)
        kymo__jsonout_int(json, "period_ns", t->period);
    else
        kymo__jsonout_null(json, "period_ns");
    kymo__jsonout_int(json, "time_ns", report->sampled->inside);
    write_functions(json, report);
    if (report->tree)
        write_tree(json, report);
    if (report->callers)
        kymo__cli_write_callers(json, report->sampled);
    write_threads(json, report->sampled->survey);
    kymo__jsonout_end(json);
}

/* ---------------------------------------------------------------- reading --- */

int kymo__cli_report_sample(struct cli_report *report, const struct kymo_samples_options *options,
                            bool for_programs)
{
    if (!report->info.samples)
        return 0;
    int rc = kymo__samples(report->capture, options, &report->samples);
    if (rc < 0)
        return rc;
    struct cli_report *sampled = kymo__cli_array(1, sizeof *sampled);
    *sampled = *report;
    sampled->survey = report->samples->survey;
    sampled->of_samples = true;
    sampled->inside = 0;
    /* Samples do not measure how long a call took. */
    if (sampled->sort == CLI_BY_MEAN || sampled->sort == CLI_BY_P99)
        sampled->sort = CLI_BY_SELF;
    sampled->fold = NULL;
    report->sampled = sampled;
    rc = kymo__cli_report_look(sampled, for_programs);
    if (rc == 0)
        kymo__cli_report_arrange(sampled);
    return rc;
}

void kymo__cli_report_sample_free(struct cli_report *report)
{
    if (!report->sampled)
        return;
    kymo__fold_free(report->sampled->fold);
    kymo__cli_free(report->sampled->functions);
    kymo__cli_free(report->sampled->rows);
    kymo__cli_free(report->sampled);
    kymo__samples_free(report->samples);
}
