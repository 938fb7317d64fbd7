/* report_paths.c — the hottest call paths, and the call tree. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "naming.h"
#include "report.h"
#include "report_words.h"
#include "table.h"
#include "terminal.h"
#include "text.h"
#include "units.h"

enum { PATHS = 5 };

/* Print a note if the call tree reached its size limit. */
static void print_full(const struct cli_report *report)
{
    const struct kymo_tree *tree = &report->survey->tree;
    if (tree->folded)
        printf("%*s%s%s on paths beyond the first %s are counted as their callers'%s\n", CLI_INDENT,
               "", kymo__cli_colour(CLI_YELLOW),
               report->of_memory    ? kymo__cli_count(tree->folded, "block", "blocks").text
               : report->of_samples ? kymo__cli_count(tree->folded, "sample", "samples").text
                                    : kymo__cli_count(tree->folded, "call", "calls").text,
               kymo__cli_grouped(tree->most).text, kymo__cli_colour(CLI_PLAIN));
}

void kymo__cli_print_paths(const struct cli_report *report)
{
    uint32_t nodes[PATHS];
    size_t count = kymo__cli_report_hottest(report, nodes, PATHS);
    if (count == 0)
        return;
    kymo__cli_heading("Hottest call paths, by self time");
    for (size_t i = 0; i < count; i++) {
        const struct kymo_node *node = &report->shown->tree.nodes[nodes[i]];
        struct cli_text self = kymo__cli_duration(node->self);
        printf("%*s%5s %%  %s%*s%s%s  ", CLI_INDENT, "",
               kymo__cli_percent(node->self, report->whole).text, kymo__cli_colour(CLI_DIM),
               11 - kymo__cli_cells(self.text), "", self.text, kymo__cli_colour(CLI_PLAIN));
        char *path = NULL;
        size_t size;
        FILE *out = open_memstream(&path, &size);
        if (out) {
            kymo__cli_put_path(out, &report->shown->tree, report->shown->callables.all, nodes[i]);
            fclose(out);
        }
        kymo__cli_print_rest_end(path ? path : "", CLI_INDENT + 5 + 4 + 11 + 2);
        free(path);
    }
    print_full(report);
}

/* State while printing the tree. If only one callee of a function is shown, it is printed below
   its caller in the same column; only branches add a level. */
struct branches {
    const struct cli_report *report;
    kymo_ns work, waited; /* minimum of either for a line */
    uint32_t *level;      /* by node */
    bool *more;           /* by level: another branch follows */
    int figures;          /* how many of CALLS, SELF and WAITED fit: 0 to 3 */
};

/* The first shown node among NODE and its next siblings, or 0. Siblings are sorted by work. */
static uint32_t shown(const struct branches *b, uint32_t node)
{
    const struct kymo_node *nodes = b->report->shown->tree.nodes;
    for (; node; node = nodes[node].sibling)
        if (nodes[node].total >= b->work || b->report->fold->node_waited[node] >= b->waited)
            return node;
    return 0;
}

static void put_rails(FILE *out, const struct branches *b, uint32_t level, bool branch)
{
    enum { DEEPEST = 30 };
    for (uint32_t i = 1; i < level && i < DEEPEST; i++)
        fputs(b->more[i] ? "│ " : "  ", out);
    if (level > DEEPEST)
        fprintf(out, "(%u branches) ", level);
    else if (level > 0)
        fputs(b->more[level] ? (branch ? "├ " : "│ ") : (branch ? "└ " : "  "), out);
}

/* Print TEXT right-aligned in CELLS. printf's widths count bytes, which is wrong for µ. */
static int put_figure(const char *text, int cells)
{
    int used = kymo__cli_cells(text);
    printf("%*s%s  ", used < cells ? cells - used : 0, "", text);
    return (used < cells ? cells : used) + 2;
}

/* Print the figures of a line; returns how many cells they take. */
static int put_figures(const struct branches *b, const char *share, const char *total,
                       const char *waited, const char *self, const char *calls)
{
    printf("%*s", CLI_INDENT, "");
    int used = CLI_INDENT + put_figure(share, 5) + put_figure(total, 10);
    if (b->figures >= 1 && b->report->fold->waiting > 0)
        used += put_figure(waited, 10);
    if (b->figures >= 2)
        used += put_figure(self, 10);
    if (b->figures >= 3)
        used += put_figure(calls, 10);
    return used;
}

/* A figure of the tree: a time, or bytes. */
static struct cli_text figure(const struct cli_report *report, kymo_ns amount)
{
    return report->of_memory ? kymo__cli_bytes((uint64_t)amount) : kymo__cli_duration(amount);
}

static void print_node(const struct branches *b, uint32_t at, uint32_t level, bool branch)
{
    const struct cli_report *report = b->report;
    const struct kymo_node *node = &report->shown->tree.nodes[at];
    const struct kymo_callable *callable = &report->shown->callables.all[node->callable];
    kymo_ns waited = report->fold->node_waited[at];
    struct cli_text wait = figure(report, waited);
    int used = put_figures(b, kymo__cli_percent(node->total, report->whole).text,
                           figure(report, node->total).text, waited ? wait.text : "-",
                           figure(report, node->self).text, kymo__cli_grouped(node->calls).text);
    char *line = NULL, *raw = kymo__cli_where(callable), *place = kymo__cli_clean(raw);
    size_t size;
    FILE *out = open_memstream(&line, &size);
    if (out) {
        put_rails(out, b, level, branch);
        kymo__cli_put_clean(out, callable->name);
        fclose(out);
    }
    int width = kymo__cli_terminal_width();
    kymo__cli_put_placed(line ? line : "", place, width ? width - used : INT_MAX / 2);
    putchar('\n');
    free(line);
    kymo__cli_free(place);
    kymo__cli_free(raw);
}

/* The next shown node after NODE in pre-order, or 0 at the end. Updates the levels. */
static uint32_t advance_branch(struct branches *b, uint32_t node, bool *branch)
{
    const struct kymo_node *nodes = b->report->shown->tree.nodes;
    uint32_t below = shown(b, nodes[node].child);
    if (below) {
        *branch = shown(b, nodes[below].sibling) != 0;
        b->level[below] = b->level[node] + *branch;
        if (*branch)
            b->more[b->level[below]] = true;
        return below;
    }
    while (node && !shown(b, nodes[node].sibling))
        node = nodes[node].parent;
    if (!node)
        return 0;
    uint32_t beside = shown(b, nodes[node].sibling);
    *branch = true;
    b->level[beside] = b->level[node];
    b->more[b->level[beside]] = shown(b, nodes[beside].sibling) != 0;
    return beside;
}

/* How many of the optional figures leave room for names. */
static int figures_for(int width)
{
    return width == 0 || width >= 110 ? 3 : width >= 96 ? 2 : 1;
}

static void print_left_out(const struct cli_report *report, uint64_t small, uint64_t beyond)
{
    if (beyond)
        printf("%*s%s… and %s; --limit shows more%s\n", CLI_INDENT, "", kymo__cli_colour(CLI_DIM),
               kymo__cli_count(beyond, "more line", "more lines").text,
               kymo__cli_colour(CLI_PLAIN));
    if (small)
        printf("%*s%s%s below %.2g %% not shown; --threshold shows more%s\n", CLI_INDENT, "",
               kymo__cli_colour(CLI_DIM), kymo__cli_count(small, "path", "paths").text,
               100 * report->threshold, kymo__cli_colour(CLI_PLAIN));
}

void kymo__cli_print_tree(const struct cli_report *report)
{
    const struct kymo_tree *tree = &report->shown->tree;
    struct branches b = {
        .report = report,
        .work = (kymo_ns)(report->threshold * (double)report->whole),
        /* Not for a program that never waits. */
        .waited = 1 + (kymo_ns)(report->threshold * (double)report->inside),
        .level = kymo__cli_array(tree->count + 1, sizeof *b.level),
        .more = kymo__cli_array(tree->count + 2, sizeof *b.more),
        .figures = figures_for(kymo__cli_terminal_width()),
    };
    kymo__cli_heading(report->of_memory    ? "Memory by call path"
                      : report->of_samples ? "Sample tree"
                                           : "Call tree");
    fputs(kymo__cli_colour(CLI_DIM), stdout);
    put_figures(&b, "%", "TOTAL", "WAITED", "SELF",
                report->of_memory    ? "BLOCKS"
                : report->of_samples ? "SAMPLES"
                                     : "CALLS");
    printf("%s%s\n", "FUNCTION", kymo__cli_colour(CLI_PLAIN));
    uint64_t count = 0;
    bool branch;
    for (uint32_t at = advance_branch(&b, 0, &branch); at; at = advance_branch(&b, at, &branch))
        if (count++ < report->limit)
            print_node(&b, at, b.level[at], branch);
    print_left_out(report, tree->count ? tree->count - 1 - count : 0,
                   count > report->limit ? count - report->limit : 0);
    if (report->fold->folded)
        kymo__cli_print_folded(report->of_memory ? "Memory" : "Time");
    print_full(report);
    kymo__cli_free(b.level);
    kymo__cli_free(b.more);
}
