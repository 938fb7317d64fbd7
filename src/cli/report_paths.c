/* report_paths.c — the hottest call paths, and the whole call tree. */
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

/* The tree of calls was not large enough. */
static void print_full(const struct cli_report *report)
{
    const struct kymo_tree *tree = &report->survey->tree;
    if (tree->folded)
        printf("%*s%s%s on paths beyond the first %s count for their callers here%s\n", CLI_INDENT,
               "", kymo__cli_colour(CLI_YELLOW),
               report->of_samples ? kymo__cli_count(tree->folded, "sample", "samples").text
                                  : kymo__cli_count(tree->folded, "call", "calls").text,
               kymo__cli_grouped(tree->most).text, kymo__cli_colour(CLI_PLAIN));
}

void kymo__cli_print_paths(const struct cli_report *report)
{
    uint32_t nodes[PATHS];
    size_t count = kymo__cli_report_hottest(report, nodes, PATHS);
    if (count == 0)
        return;
    kymo__cli_heading("Hottest call paths, by self time at their end");
    for (size_t i = 0; i < count; i++) {
        const struct kymo_node *node = &report->survey->tree.nodes[nodes[i]];
        struct cli_text self = kymo__cli_duration(node->self);
        printf("%*s%5s %%  %s%*s%s%s  ", CLI_INDENT, "",
               kymo__cli_percent(node->self, report->inside).text, kymo__cli_colour(CLI_DIM),
               11 - kymo__cli_cells(self.text), "", self.text, kymo__cli_colour(CLI_PLAIN));
        char *path = NULL;
        size_t size;
        FILE *out = open_memstream(&path, &size);
        if (out) {
            kymo__cli_put_path(out, &report->survey->tree, report->survey->callables.all, nodes[i]);
            fclose(out);
        }
        kymo__cli_print_rest(path ? path : "", CLI_INDENT + 5 + 4 + 11 + 2);
        free(path);
    }
    print_full(report);
}

/* Lines of the tree being printed. A call that is the only one of its caller worth showing
   stands below it in the same column; only where calls part is there a new level. */
struct branches {
    const struct cli_report *report;
    kymo_ns least;   /* total time of what is shown */
    uint32_t *level; /* by node */
    bool *more;      /* by level: another branch follows */
};

/* The first of NODE and the nodes beside it that is shown, or 0. They are in order. */
static uint32_t shown(const struct branches *b, uint32_t node)
{
    return node && b->report->survey->tree.nodes[node].total >= b->least ? node : 0;
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

static void print_node(const struct branches *b, const struct kymo_node *node, uint32_t level,
                       bool branch)
{
    const struct cli_report *report = b->report;
    const struct kymo_callable *callable = &report->survey->callables.all[node->callable];
    printf("%*s%5s %%  ", CLI_INDENT, "", kymo__cli_percent(node->total, report->inside).text);
    /* Not by printf's widths, which count the bytes of µ. */
    struct cli_text total = kymo__cli_duration(node->total), self = kymo__cli_duration(node->self);
    printf("%*s%s  ", 11 - kymo__cli_cells(total.text), "", total.text);
    printf("%*s%s  ", 11 - kymo__cli_cells(self.text), "", self.text);
    printf("%10s  ", kymo__cli_grouped(node->calls).text);
    char *line = NULL, *place = kymo__cli_where(callable);
    size_t size;
    FILE *out = open_memstream(&line, &size);
    if (out) {
        put_rails(out, b, level, branch);
        kymo__cli_put_clean(out, callable->name);
        fputs("  ", out);
        kymo__cli_put_clean(out, place);
        fclose(out);
    }
    kymo__cli_print_rest(line ? line : "", CLI_INDENT + 5 + 4 + 11 + 2 + 11 + 2 + 10 + 2);
    free(line);
    kymo__cli_free(place);
}

/* The node after NODE in pre-order, among those shown; 0 at the end. Levels are kept. */
static uint32_t advance(struct branches *b, uint32_t node, bool *branch)
{
    const struct kymo_node *nodes = b->report->survey->tree.nodes;
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
    uint32_t beside = nodes[node].sibling;
    *branch = true;
    b->level[beside] = b->level[node];
    b->more[b->level[beside]] = shown(b, nodes[beside].sibling) != 0;
    return beside;
}

void kymo__cli_print_tree(const struct cli_report *report)
{
    const struct kymo_tree *tree = &report->survey->tree;
    struct branches b = {
        .report = report,
        .least = (kymo_ns)(report->threshold * (double)report->inside),
        .level = kymo__cli_array(tree->count + 1, sizeof *b.level),
        .more = kymo__cli_array(tree->count + 2, sizeof *b.more),
    };
    kymo__cli_heading(report->of_samples ? "Tree of samples" : "Call tree");
    printf("%*s%s%7s  %11s  %11s  %10s  %s%s\n", CLI_INDENT, "", kymo__cli_colour(CLI_DIM), "%",
           "TOTAL", "SELF", report->of_samples ? "SAMPLES" : "CALLS", "FUNCTION",
           kymo__cli_colour(CLI_PLAIN));
    uint64_t count = 0;
    bool branch;
    for (uint32_t at = advance(&b, 0, &branch); at; at = advance(&b, at, &branch), count++)
        print_node(&b, &tree->nodes[at], b.level[at], branch);
    uint64_t folded = tree->count ? tree->count - 1 - count : 0;
    if (folded)
        printf("%*s%s%s below %.2g %% not shown; --threshold shows more%s\n", CLI_INDENT, "",
               kymo__cli_colour(CLI_DIM), kymo__cli_count(folded, "path", "paths").text,
               100 * report->threshold, kymo__cli_colour(CLI_PLAIN));
    print_full(report);
    kymo__cli_free(b.level);
    kymo__cli_free(b.more);
}
