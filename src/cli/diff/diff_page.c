/* diff_page.c — the output of `kymograph diff --html`: a page with the table and the flame graphs
   of the comparison, in one file.

   The page (viewer/diff) reads one object of JSON:

       samples    1: samples are compared, and calls below count samples
       captures   {file, ending, duration, busy, calls, lost} of A and of B
       explained  {percent, functions}: indices of those that account for most of the change
       slower, faster, fresh, gone, same
       least      the smallest change of self time that counts
       listed     how many of the functions are in the table; they come first, sorted
       functions  [name, file, line, class, in A?, calls, resumes, self, total, mean,
                   in B?, ...] of each
       trees      {hidden, shortest, nodes} of A and of B

   Nodes are those of flame_nodes.h with total, self, calls and resumes in the tree's own
   capture, then the same in the other. Times are nanoseconds. */
#include <errno.h>
#include <string.h>

#include "comparison.h"
#include "flame_nodes.h"
#include "interrupt.h"
#include "memory.h"
#include "naming.h"
#include "pages.h"
#include "print.h"
#include "written.h"

enum { EXPLAINED = 5 };

static void write_number(struct kymo_outfile *out, const char *before, int64_t value)
{
    kymo__print(out, before);
    kymo__print_int(out, value);
}

static void write_capture(struct kymo_outfile *out, const struct cli_comparison *c, int side)
{
    kymo__print(out, "{\"file\":");
    kymo__print_json(out, c->path[side]);
    kymo__print(out, ",\"ending\":");
    kymo__print_json(out, kymo__cli_name_ending(c->info[side].ending).word);
    write_number(out, ",\"duration\":", c->info[side].end - c->info[side].start);
    write_number(out, ",\"busy\":", c->diff.self[side]);
    write_number(out, ",\"calls\":",
                 (int64_t)(c->of_samples ? c->survey[side]->calls : c->diff.calls[side]));
    write_number(out, ",\"lost\":", (int64_t)c->survey[side]->counts.missing);
    kymo__print(out, "}");
}

static void write_summary(struct kymo_outfile *out, const struct cli_comparison *c,
                          const uint32_t *number)
{
    uint32_t functions[EXPLAINED];
    double share = 0;
    size_t count = kymo__cli_compare_explain(c, functions, EXPLAINED, &share);
    write_number(out, "{\"samples\":", c->of_samples);
    kymo__print(out, ",\"captures\":[");
    write_capture(out, c, 0);
    kymo__print(out, ",");
    write_capture(out, c, 1);
    write_number(out, "],\n\"explained\":{\"percent\":", (int64_t)(100 * share + 0.5));
    kymo__print(out, ",\"functions\":[");
    for (size_t i = 0; i < count; i++)
        write_number(out, i > 0 ? "," : "", number[functions[i]]);
    write_number(out, "]},\n\"slower\":", (int64_t)c->slower);
    write_number(out, ",\"faster\":", (int64_t)c->faster);
    write_number(out, ",\"fresh\":", (int64_t)c->fresh);
    write_number(out, ",\"gone\":", (int64_t)c->gone);
    write_number(out, ",\"same\":", (int64_t)c->same);
    write_number(out, ",\"least\":", c->least);
    uint64_t listed = c->function_count < c->limit ? c->function_count : c->limit;
    write_number(out, ",\"listed\":", (int64_t)listed);
}

static void write_function(struct kymo_outfile *out, const struct kymo_diff_function *f)
{
    kymo__print(out, "[");
    kymo__print_json(out, f->as.name);
    kymo__print(out, ",");
    kymo__print_json(out, f->as.file);
    write_number(out, ",", f->as.line);
    write_number(out, ",", f->as.class);
    for (int side = 0; side < 2; side++) {
        const struct kymo_diff_cost *cost = &f->cost[side];
        write_number(out, ",", f->in[side]);
        write_number(out, ",", (int64_t)cost->calls);
        write_number(out, ",", (int64_t)cost->resumes);
        write_number(out, ",", cost->self);
        write_number(out, ",", cost->total);
        write_number(out, ",", cost->mean);
    }
    kymo__print(out, "]");
}

static void write_costs(struct kymo_outfile *out, const struct kymo_diff_cost *cost)
{
    write_number(out, ",", cost->total);
    write_number(out, ",", cost->self);
    write_number(out, ",", (int64_t)cost->calls);
    write_number(out, ",", (int64_t)cost->resumes);
}

/* The paths of one capture, sorted by the time they took in it. */
static int write_tree(struct kymo_outfile *out, struct cli_comparison *c, const uint32_t *number,
                      int side)
{
    struct kymo_tree *tree = &c->diff.tree;
    const struct kymo_diff_cost(*paths)[2] = (const struct kymo_diff_cost(*)[2])c->diff.paths;
    for (size_t i = 1; i < tree->count; i++) {
        const struct kymo_diff_cost *cost = &paths[i][side];
        bool there = cost->calls || cost->resumes || cost->total;
        tree->nodes[i].total = there ? cost->total : -1;
    }
    kymo__tree_sort(tree);
    struct kymo_flame_nodes nodes;
    int rc = kymo__flame_nodes_init(&nodes, tree);
    if (rc < 0)
        return rc;
    write_number(out, "\n{\"hidden\":", (int64_t)nodes.hidden);
    write_number(out, ",\"shortest\":", nodes.shortest);
    kymo__print(out, ",\"nodes\":[");
    uint32_t depth = 0;
    for (uint32_t at = 0; (at = kymo__tree_next(tree, at, &depth));) {
        if (!kymo__flame_nodes_next(&nodes, out, &tree->nodes[at], number[tree->nodes[at].callable],
                                    depth))
            continue;
        write_costs(out, &paths[at][side]);
        write_costs(out, &paths[at][!side]);
        if (out->error || kymo__cli_interrupted())
            return out->error ? out->error : -ECANCELED;
    }
    kymo__print(out, "]}");
    return 0;
}

static int write_page(struct kymo_outfile *out, struct cli_comparison *c)
{
    const struct kymo_diff *d = &c->diff;
    /* Listed functions come first, in their order; then those that only the nodes refer to. */
    uint32_t *number = kymo__cli_array(d->count + 1, sizeof *number);
    uint32_t *order = kymo__cli_array(d->count + 1, sizeof *order);
    bool *taken = kymo__cli_array(d->count + 1, sizeof *taken);
    memset(taken, 0, (d->count + 1) * sizeof *taken);
    uint32_t count = 0;
    for (size_t i = 0; i < c->function_count; i++) {
        order[count++] = c->functions[i];
        taken[c->functions[i]] = true;
    }
    for (uint32_t i = 0; i < d->count; i++)
        if (!taken[i])
            order[count++] = i;
    for (uint32_t i = 0; i < count; i++)
        number[order[i]] = i;
    kymo__print(out, kymo__diff_before);
    write_summary(out, c, number);
    kymo__print(out, ",\n\"functions\":[");
    for (uint32_t i = 0; i < count; i++) {
        struct kymo_diff_function f = d->functions[order[i]];
        f.as = d->callables[order[i]]; /* includes the placeholder for unknown functions */
        kymo__print(out, i > 0 ? ",\n" : "\n");
        write_function(out, &f);
    }
    kymo__print(out, "],\n\"trees\":[");
    int rc = write_tree(out, c, number, 0);
    kymo__print(out, ",");
    if (rc == 0)
        rc = write_tree(out, c, number, 1);
    kymo__print(out, "]}");
    kymo__print(out, kymo__diff_after);
    kymo__cli_free(number);
    kymo__cli_free(order);
    kymo__cli_free(taken);
    return rc;
}

int kymo__cli_compare_page(struct cli_comparison *c, const char *output)
{
    struct kymo_outfile out;
    if (strcmp(output, "-") != 0)
        kymo__cli_interrupt_watch();
    mode_t mode = kymo__outfile_mode_of(c->capture[0]->reader->fd) &
                  kymo__outfile_mode_of(c->capture[1]->reader->fd);
    int error = kymo__outfile_open(&out, output, mode);
    if (error == 0) {
        error = write_page(&out, c);
        int closed = kymo__outfile_close(&out, error == 0);
        error = error < 0 ? error : closed;
    }
    kymo__cli_interrupt_obey();
    return kymo__cli_written(output, error);
}
