/* diff_json.c — the output of `kymograph diff --json`: one object on one line. Its fields are
   documented in docs/diff.md and are stable. */
#include <stdio.h>

#include "comparison.h"
#include "jsonout.h"
#include "memory.h"
#include "naming.h"

enum { PATHS = 50, EXPLAINED = 20 };

static void write_side(struct kymo_jsonout *json, const struct cli_comparison *c, const char *key,
                       const struct kymo_diff_cost *cost, bool there, bool mean)
{
    if (!there) {
        kymo__jsonout_null(json, key);
        return;
    }
    kymo__jsonout_object(json, key);
    kymo__jsonout_uint(json, c->of_samples ? "samples" : "calls", cost->calls);
    if (!c->of_samples)
        kymo__jsonout_uint(json, "resumes", cost->resumes);
    kymo__jsonout_int(json, "self_ns", cost->self);
    kymo__jsonout_int(json, "total_ns", cost->total);
    if (mean && !c->of_samples)
        kymo__jsonout_int(json, "mean_ns", cost->mean);
    kymo__jsonout_end(json);
}

static void write_function(struct kymo_jsonout *json, const struct cli_comparison *c,
                           const struct kymo_diff_function *f)
{
    kymo__jsonout_object(json, NULL);
    kymo__jsonout_string(json, "name", f->as.name);
    kymo__jsonout_string(json, "class", kymo__cli_name_class(f->as.class));
    if (*f->as.file)
        kymo__jsonout_string(json, "file", f->as.file);
    if (f->as.line)
        kymo__jsonout_uint(json, "line", f->as.line);
    kymo__jsonout_string(json, "what", kymo__cli_compare_word(f));
    kymo__jsonout_int(json, "change_ns", kymo__diff_change(f->cost));
    if (f->in[0] && f->in[1] && f->cost[0].self > 0)
        kymo__jsonout_double(json, "ratio", (double)f->cost[1].self / (double)f->cost[0].self);
    else
        kymo__jsonout_null(json, "ratio");
    write_side(json, c, "before", &f->cost[0], f->in[0], true);
    write_side(json, c, "after", &f->cost[1], f->in[1], true);
    kymo__jsonout_end(json);
}

static void write_path(struct kymo_jsonout *json, const struct cli_comparison *c, uint32_t node)
{
    const struct kymo_node *nodes = c->diff.tree.nodes;
    const struct kymo_diff_cost *cost = c->diff.paths[node];
    size_t length = 0;
    for (uint32_t at = node; at; at = nodes[at].parent)
        length++;
    uint32_t *path = kymo__cli_array(length + 1, sizeof *path);
    size_t left = length;
    for (uint32_t at = node; at; at = nodes[at].parent)
        path[--left] = nodes[at].callable;
    kymo__jsonout_object(json, NULL);
    kymo__jsonout_array(json, "path");
    for (size_t i = 0; i < length; i++)
        kymo__jsonout_string(json, NULL, c->diff.callables[path[i]].name);
    kymo__jsonout_end(json);
    kymo__jsonout_int(json, "change_ns", kymo__diff_change(cost));
    write_side(json, c, "before", &cost[0], cost[0].calls + cost[0].resumes > 0, false);
    write_side(json, c, "after", &cost[1], cost[1].calls + cost[1].resumes > 0, false);
    kymo__jsonout_end(json);
    kymo__cli_free(path);
}

static void write_capture(struct kymo_jsonout *json, const struct cli_comparison *c, int side)
{
    const struct kymo_calls_counts *counts = &c->survey[side]->counts;
    kymo__jsonout_object(json, side ? "after" : "before");
    kymo__jsonout_string(json, "file", c->path[side]);
    kymo__jsonout_string(json, "ending", kymo__cli_name_ending(c->info[side].ending).word);
    kymo__jsonout_int(json, "duration_ns", c->info[side].end - c->info[side].start);
    if (c->of_samples) {
        kymo__jsonout_int(json, "time_in_samples_ns", c->diff.self[side]);
        kymo__jsonout_uint(json, "samples", c->survey[side]->calls);
    } else {
        kymo__jsonout_int(json, "time_in_calls_ns", c->diff.self[side]);
        kymo__jsonout_uint(json, "calls", c->diff.calls[side]);
    }
    kymo__jsonout_uint(json, "gaps", counts->gaps);
    kymo__jsonout_uint(json, "lost_records", counts->missing);
    kymo__jsonout_uint(json, "lost_leaves", counts->lost_leaves);
    kymo__jsonout_end(json);
}

static void write_summary(struct kymo_jsonout *json, const struct cli_comparison *c)
{
    kymo__jsonout_int(json, "change_ns", c->diff.self[1] - c->diff.self[0]);
    uint32_t functions[EXPLAINED];
    double share = 0;
    size_t count = kymo__cli_compare_explain(c, functions, EXPLAINED, &share);
    kymo__jsonout_object(json, "explained");
    kymo__jsonout_double(json, "share", share);
    kymo__jsonout_array(json, "functions");
    for (size_t i = 0; i < count; i++)
        kymo__jsonout_string(json, NULL, c->diff.functions[functions[i]].as.name);
    kymo__jsonout_end(json);
    kymo__jsonout_end(json);
    kymo__jsonout_uint(json, "slower", c->slower);
    kymo__jsonout_uint(json, "faster", c->faster);
    kymo__jsonout_uint(json, "new", c->fresh);
    kymo__jsonout_uint(json, "gone", c->gone);
    kymo__jsonout_uint(json, "same", c->same);
}

void kymo__cli_compare_json(const struct cli_comparison *c)
{
    struct kymo_jsonout json = {.out = stdout};
    kymo__jsonout_object(&json, NULL);
    kymo__jsonout_string(&json, "of", c->of_samples ? "samples" : "calls");
    write_capture(&json, c, 0);
    write_capture(&json, c, 1);
    write_summary(&json, c);
    kymo__jsonout_uint(&json, "function_count", c->function_count);
    kymo__jsonout_array(&json, "functions");
    for (size_t i = 0; i < c->function_count && i < c->limit; i++)
        write_function(&json, c, &c->diff.functions[c->functions[i]]);
    kymo__jsonout_end(&json);
    kymo__jsonout_array(&json, "paths");
    for (size_t i = 0; i < c->path_count && i < PATHS; i++)
        write_path(&json, c, c->paths[i]);
    kymo__jsonout_end(&json);
    kymo__jsonout_end(&json);
    putchar('\n');
}
