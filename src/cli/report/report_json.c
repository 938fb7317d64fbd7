/* report_json.c — the output of `kymograph report --json`: one object on one line. Its fields are
   documented in docs/report.md and are stable. */
#include <stdio.h>

#include "jsonout.h"
#include "memory.h"
#include "naming.h"
#include "report.h"

enum { PATHS = 20 };

void kymo__cli_write_callable(struct kymo_jsonout *json, const struct kymo_callable *callable)
{
    kymo__jsonout_string(json, "name", callable->name);
    kymo__jsonout_string(json, "class", kymo__cli_name_class(callable->class));
    if (*callable->file)
        kymo__jsonout_string(json, "file", callable->file);
    if (callable->line)
        kymo__jsonout_uint(json, "line", callable->line);
    kymo__jsonout_string(json, "origin", kymo__origin_word(kymo__origin(callable)));
    kymo__jsonout_bool(json, "waits", kymo__waits(callable));
}

static void write_losses(struct kymo_jsonout *json, const struct kymo_calls_counts *counts)
{
    kymo__jsonout_uint(json, "gaps", counts->gaps);
    kymo__jsonout_uint(json, "lost_records", counts->missing);
    kymo__jsonout_uint(json, "lost_leaves", counts->lost_leaves);
    kymo__jsonout_uint(json, "orphan_leaves", counts->orphan_leaves);
    kymo__jsonout_uint(json, "lost_args", counts->lost_args);
}

static void write_functions(struct kymo_jsonout *json, const struct cli_report *report)
{
    const struct kymo_survey *s = report->survey;
    kymo__jsonout_uint(json, "function_count", report->function_count);
    kymo__jsonout_array(json, "functions");
    for (size_t shown = 0; shown < report->function_count && shown < report->limit; shown++) {
        uint32_t i = report->functions[shown];
        const struct kymo_function_cost *cost = s->functions.of[i];
        const struct cli_row row = kymo__cli_report_row(report, i);
        kymo__jsonout_object(json, NULL);
        kymo__cli_write_callable(json, &s->callables.all[i]);
        kymo__jsonout_uint(json, "calls", cost->calls);
        kymo__jsonout_uint(json, "resumes", cost->resumes);
        kymo__jsonout_int(json, "self_ns", cost->self);
        kymo__jsonout_int(json, "total_ns", cost->total);
        kymo__jsonout_int(json, "min_ns", cost->least);
        kymo__jsonout_int(json, "mean_ns", row.mean);
        kymo__jsonout_int(json, "max_ns", cost->most);
        kymo__jsonout_int(json, "p50_ns", row.p50);
        kymo__jsonout_int(json, "p99_ns", row.p99);
        kymo__jsonout_uint(json, "lost_leaves", cost->lost_leaves);
        if (cost->off)
            kymo__jsonout_int(json, "off_ns", cost->off_when - report->info.start);
        kymo__cli_write_function_cost(json, report, i);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

static void write_cost(struct kymo_jsonout *json, uint64_t calls, uint64_t resumes, kymo_ns self,
                       kymo_ns total)
{
    kymo__jsonout_uint(json, "calls", calls);
    kymo__jsonout_uint(json, "resumes", resumes);
    kymo__jsonout_int(json, "self_ns", self);
    kymo__jsonout_int(json, "total_ns", total);
}

static void write_paths(struct kymo_jsonout *json, const struct cli_report *report)
{
    const struct kymo_survey *s = report->survey;
    uint32_t nodes[PATHS];
    size_t count = kymo__cli_report_hottest(report, nodes, PATHS);
    kymo__jsonout_array(json, "paths");
    for (size_t i = 0; i < count; i++) {
        const struct kymo_node *node = &s->tree.nodes[nodes[i]];
        size_t length = 0;
        for (uint32_t at = nodes[i]; at; at = s->tree.nodes[at].parent)
            length++;
        uint32_t *path = kymo__cli_array(length, sizeof *path);
        size_t left = length;
        for (uint32_t at = nodes[i]; at; at = s->tree.nodes[at].parent)
            path[--left] = s->tree.nodes[at].callable;
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_array(json, "path");
        for (size_t j = 0; j < length; j++)
            kymo__jsonout_string(json, NULL, s->callables.all[path[j]].name);
        kymo__jsonout_end(json);
        write_cost(json, node->calls, node->resumes, node->self, node->total);
        kymo__jsonout_end(json);
        kymo__cli_free(path);
    }
    kymo__jsonout_end(json);
}

/* The tree in pre-order; `parent` is the position of the caller in this list. */
static void write_tree(struct kymo_jsonout *json, const struct cli_report *report)
{
    const struct kymo_survey *s = report->survey;
    const struct kymo_tree *tree = &s->tree;
    kymo_ns least = (kymo_ns)(report->threshold * (double)report->inside);
    uint64_t *position = kymo__cli_array(tree->count + 1, sizeof *position);
    uint64_t written = 0;
    kymo__jsonout_array(json, "tree");
    uint32_t at = tree->count ? tree->nodes[0].child : 0;
    while (at) {
        const struct kymo_node *node = &tree->nodes[at];
        bool shown = node->total >= least;
        if (shown) {
            position[at] = written++;
            kymo__jsonout_object(json, NULL);
            if (node->parent)
                kymo__jsonout_uint(json, "parent", position[node->parent]);
            else
                kymo__jsonout_null(json, "parent");
            kymo__cli_write_callable(json, &s->callables.all[node->callable]);
            write_cost(json, node->calls, node->resumes, node->self, node->total);
            kymo__jsonout_end(json);
        }
        if (shown && node->child) {
            at = node->child;
            continue;
        }
        while (at && !tree->nodes[at].sibling)
            at = tree->nodes[at].parent;
        at = at ? tree->nodes[at].sibling : 0;
    }
    kymo__jsonout_end(json);
    kymo__jsonout_uint(json, "tree_folded_calls", tree->folded);
    kymo__cli_free(position);
}

void kymo__cli_write_callers(struct kymo_jsonout *json, const struct cli_report *report)
{
    const struct kymo_survey *s = report->survey;
    struct cli_caller *callers;
    size_t count = kymo__cli_report_callers(report, &callers);
    kymo__jsonout_array(json, "callers");
    for (size_t i = 0; i < count; i++) {
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_object(json, "function");
        kymo__cli_write_callable(json, &s->callables.all[callers[i].callable]);
        kymo__jsonout_end(json);
        if (callers[i].root) {
            kymo__jsonout_null(json, "caller");
        } else {
            kymo__jsonout_object(json, "caller");
            kymo__cli_write_callable(json, &s->callables.all[callers[i].caller]);
            kymo__jsonout_end(json);
        }
        if (report->of_samples) {
            kymo__jsonout_uint(json, "samples", callers[i].calls);
            kymo__jsonout_int(json, "self_ns", callers[i].self);
            kymo__jsonout_int(json, "total_ns", callers[i].total);
        } else {
            write_cost(json, callers[i].calls, callers[i].resumes, callers[i].self,
                       callers[i].total);
        }
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
    kymo__cli_free(callers);
}

static void write_threads(struct kymo_jsonout *json, const struct cli_report *report)
{
    const struct kymo_survey *s = report->survey;
    kymo__jsonout_array(json, "threads");
    for (uint32_t i = 0; i < s->thread_count; i++) {
        struct kymo_thread_info thread = {.size = sizeof thread};
        if (!s->threads[i].read || kymo_capture_thread(report->capture, i, &thread) < 0)
            continue;
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_uint(json, "index", i);
        kymo__jsonout_int(json, "tid", thread.tid);
        kymo__jsonout_string(json, "name", thread.name);
        kymo__jsonout_uint(json, "records", s->threads[i].counts.events);
        kymo__jsonout_uint(json, "calls", s->threads[i].calls);
        kymo__jsonout_uint(json, "resumes", s->threads[i].resumes);
        kymo__jsonout_int(json, "busy_ns", s->threads[i].busy);
        kymo__jsonout_int(json, "waiting_ns", s->threads[i].waiting);
        kymo__jsonout_uint(json, "deepest", s->threads[i].counts.deepest);
        write_losses(json, &s->threads[i].counts);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

static void write_classes(struct kymo_jsonout *json, const struct kymo_survey *s)
{
    kymo__jsonout_array(json, "classes");
    for (uint32_t i = 0; i < KYMO__CLASSES; i++) {
        if (!s->called[i] && !s->self[i])
            continue;
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_string(json, "class", kymo__cli_name_class(i));
        kymo__jsonout_uint(json, "calls", s->called[i]);
        kymo__jsonout_int(json, "self_ns", s->self[i]);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

static void write_gc(struct kymo_jsonout *json, const struct kymo_survey_gc *gc)
{
    kymo__jsonout_object(json, "gc");
    kymo__jsonout_array(json, "generations");
    for (uint32_t i = 0; i < KYMO__GENERATIONS; i++) {
        if (!gc->count[i])
            continue;
        kymo__jsonout_object(json, NULL);
        if (i < KYMO__GENERATIONS - 1)
            kymo__jsonout_uint(json, "generation", i);
        else
            kymo__jsonout_null(json, "generation");
        kymo__jsonout_uint(json, "collections", gc->count[i]);
        kymo__jsonout_int(json, "time_ns", gc->time[i]);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
    kymo__jsonout_int(json, "longest_ns", gc->longest);
    kymo__jsonout_uint(json, "collected", gc->collected);
    kymo__jsonout_uint(json, "uncollectable", gc->uncollectable);
    kymo__jsonout_end(json);
}

static void write_counters(struct kymo_jsonout *json, const struct kymo_survey *s)
{
    kymo__jsonout_array(json, "counters");
    for (uint32_t i = 0; i < s->callables.count; i++) {
        const struct kymo_survey_counter *counter = s->counters[i];
        if (!counter)
            continue;
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_string(json, "name", s->callables.all[i].name);
        kymo__jsonout_double(json, "last", counter->last);
        kymo__jsonout_double(json, "least", counter->least);
        kymo__jsonout_double(json, "most", counter->most);
        kymo__jsonout_uint(json, "changes", counter->changes);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

static kymo_ns waiting_time(const struct kymo_survey *s)
{
    kymo_ns time = 0;
    for (size_t i = 0; i < s->thread_count; i++)
        time = kymo__ns_add(time, s->threads[i].waiting);
    return time;
}

void kymo__cli_report_json(const struct cli_report *report)
{
    const struct kymo_survey *s = report->survey;
    struct kymo_jsonout json = {.out = stdout};
    kymo__jsonout_object(&json, NULL);
    kymo__jsonout_string(&json, "file", report->path);
    kymo__jsonout_string(&json, "ending", kymo__cli_name_ending(report->info.ending).word);
    kymo__jsonout_int(&json, "duration_ns", report->info.end - report->info.start);
    kymo__jsonout_int(&json, "from_ns", s->from - report->info.start);
    kymo__jsonout_int(&json, "to_ns", s->to - report->info.start);
    kymo__jsonout_uint(&json, "records", s->counts.events);
    kymo__jsonout_uint(&json, "calls", s->calls);
    kymo__jsonout_uint(&json, "resumes", s->resumes);
    kymo__jsonout_uint(&json, "deepest", s->counts.deepest);
    kymo__jsonout_int(&json, "time_in_calls_ns", report->inside);
    kymo__jsonout_int(&json, "waiting_ns", waiting_time(s));
    write_losses(&json, &s->counts);
    kymo__cli_write_cost(&json, report);
    write_classes(&json, s);
    write_functions(&json, report);
    write_paths(&json, report);
    if (report->tree)
        write_tree(&json, report);
    if (report->callers)
        kymo__cli_write_callers(&json, report);
    kymo__cli_write_samples(&json, report);
    write_gc(&json, &s->gc);
    kymo__cli_write_asyncs(&json, report);
    kymo__cli_write_blocked(&json, report);
    write_counters(&json, s);
    write_threads(&json, report);
    kymo__cli_write_gaps(&json, report);
    kymo__jsonout_end(&json);
    putchar('\n');
}
