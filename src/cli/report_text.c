/* report_text.c — what `kymo report` says to people: the answer first, then where it
   comes from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "naming.h"
#include "report.h"
#include "table.h"
#include "terminal.h"
#include "text.h"
#include "units.h"

enum { INDENT = 2, LABEL = 10, PATHS = 5, COUNTERS = 10, THREADS = 20 };

static void label(const char *name)
{
    printf("%*s%s%-*s%s", INDENT, "", kymo__cli_colour(CLI_DIM), LABEL, name,
           kymo__cli_colour(CLI_PLAIN));
}

static void heading(const char *title)
{
    printf("\n%s%s%s\n", kymo__cli_colour(CLI_BOLD), title, kymo__cli_colour(CLI_PLAIN));
}

/* The share of PART in WHOLE. */
static struct cli_text percent(kymo_ns part, kymo_ns whole)
{
    struct cli_text text;
    snprintf(text.text, sizeof text.text, "%.1f",
             whole > 0 ? 100.0 * (double)part / (double)whole : 0.0);
    return text;
}

/* The rest of a line, TEXT, from column USED on: cut to fit a terminal. */
static void print_rest(const char *text, int used)
{
    int width = kymo__cli_terminal_width();
    int length = (int)strlen(text);
    if (width > 0 && used + kymo__cli_cells(text) > width)
        length = kymo__cli_fit(text, width > used ? width - used - 1 : 0);
    printf("%.*s%s\n", length, text, text[length] ? "…" : "");
}

/* ------------------------------------------------------------- where it is --- */

/* The end of PATH that tells a reader which file it is: what follows the directory of
   installed packages, else the last two parts. */
static const char *short_path(const char *path)
{
    static const char *const packages[] = {"/site-packages/", "/dist-packages/"};
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        const char *found = strstr(path, packages[i]);
        if (found)
            return found + strlen(packages[i]);
    }
    const char *cut = path;
    int parts = 0;
    for (const char *at = path + strlen(path); at > path; at--)
        if (at[-1] == '/' && ++parts == 2) {
            cut = at;
            break;
        }
    return parts == 2 ? cut : path;
}

/* Where CALLABLE is defined, short; to be freed. */
static char *where(const struct kymo_callable *callable)
{
    switch (callable->class) {
    case KYMO_CLASS_NAME:
        return kymo__cli_format("(span)");
    case KYMO_CLASS_GC:
        return kymo__cli_format("(garbage collector)");
    case KYMO_CLASS_FUNCTION:
        break;
    default: {
        const char *what = callable->class == KYMO_CLASS_TYPE       ? "type"
                           : callable->class == KYMO_CLASS_CALLABLE ? "object"
                                                                    : "C";
        return *callable->file ? kymo__cli_format("(%s, %s)", what, callable->file)
                               : kymo__cli_format("(%s)", what);
    }
    }
    if (!*callable->file)
        return kymo__cli_format("-");
    return callable->line ? kymo__cli_format("%s:%u", short_path(callable->file), callable->line)
                          : kymo__cli_format("%s", short_path(callable->file));
}

/* ---------------------------------------------------------------- summary --- */

static void print_ending(const struct cli_report *report)
{
    const struct kymo_info *info = &report->info;
    bool clean = info->ending == KYMO_ENDED_CLEAN;
    label("ended");
    printf("%s%s%s%s%s\n", clean ? "" : kymo__cli_colour(CLI_YELLOW),
           kymo__cli_name_ending(info->ending).phrase, info->error ? ": " : "",
           info->error ? kymo_strerror(info->error) : "", clean ? "" : kymo__cli_colour(CLI_PLAIN));
}

static void print_losses(const struct cli_report *report)
{
    const struct kymo_calls_counts *counts = &report->survey->counts;
    const char *comma = "";
    label("lost");
    if (!counts->gaps && !counts->lost_leaves && !counts->orphan_leaves) {
        puts("nothing");
        return;
    }
    fputs(kymo__cli_colour(CLI_YELLOW), stdout);
    if (counts->gaps) {
        printf("%s in %s", kymo__cli_count(counts->missing, "record", "records").text,
               kymo__cli_count(counts->gaps, "gap", "gaps").text);
        comma = "; ";
    }
    if (counts->lost_leaves) {
        printf("%s%s", comma, kymo__cli_count(counts->lost_leaves, "call", "calls").text);
        fputs(" whose end was not recorded", stdout);
        comma = "; ";
    }
    if (counts->orphan_leaves)
        printf("%s%s whose begin was not recorded", comma,
               kymo__cli_count(counts->orphan_leaves, "call", "calls").text);
    printf("%s\n", kymo__cli_colour(CLI_PLAIN));
}

/* Functions that were not recorded to the end. */
static void print_off(const struct cli_report *report)
{
    enum { NAMED = 3 };
    const struct kymo_survey *s = report->survey;
    uint64_t count = 0;
    for (uint32_t i = 0; i < s->callables.count; i++)
        count += s->functions.of[i] && s->functions.of[i]->off;
    if (count == 0)
        return;
    label("budget");
    printf("%s not recorded to the end, to keep to the overhead budget: ",
           kymo__cli_count(count, "function was", "functions were").text);
    uint64_t named = 0;
    for (uint32_t i = 0; i < s->callables.count && named < NAMED; i++) {
        if (!s->functions.of[i] || !s->functions.of[i]->off)
            continue;
        fputs(named++ ? ", " : "", stdout);
        kymo__cli_put_clean(stdout, s->callables.all[i].name);
    }
    puts(count > NAMED ? ", ..." : "");
}

static void print_share(const char **comma, const char *name, kymo_ns part, kymo_ns whole)
{
    if (part <= 0)
        return;
    printf("%s%s %s %%", *comma, name, percent(part, whole).text);
    *comma = ", ";
}

static void print_shares(const struct cli_report *report)
{
    const kymo_ns *self = report->survey->self;
    const char *comma = "";
    if (report->inside <= 0)
        return;
    label("time");
    printf("%s in calls on all threads: ", kymo__cli_duration(report->inside).text);
    print_share(&comma, "Python", self[KYMO_CLASS_FUNCTION], report->inside);
    print_share(&comma, "C",
                kymo__ns_add(kymo__ns_add(self[KYMO_CLASS_NATIVE], self[KYMO_CLASS_METHOD]),
                             kymo__ns_add(self[KYMO_CLASS_TYPE], self[KYMO_CLASS_CALLABLE])),
                report->inside);
    print_share(&comma, "spans", self[KYMO_CLASS_NAME], report->inside);
    print_share(&comma, "garbage collection", self[KYMO_CLASS_GC], report->inside);
    print_share(&comma, "other", self[KYMO_CLASS_GC + 1], report->inside);
    putchar('\n');
}

static void print_summary(const struct cli_report *report)
{
    const struct kymo_survey *s = report->survey;
    uint64_t threads = 0;
    for (size_t i = 0; i < s->thread_count; i++)
        threads += s->threads[i].read;
    fputs(kymo__cli_colour(CLI_BOLD), stdout);
    kymo__cli_put_clean(stdout, report->path);
    printf("%s\n", kymo__cli_colour(CLI_PLAIN));
    print_ending(report);
    label("lasted");
    fputs(kymo__cli_duration(report->info.end - report->info.start).text, stdout);
    if (report->part.from > 0 || report->part.to < INT64_MAX)
        printf("; this is about %s from %s on",
               kymo__cli_duration(s->to > s->from ? s->to - s->from : 0).text,
               kymo__cli_duration(s->from - report->info.start).text);
    putchar('\n');
    label("calls");
    printf("%s on %s", kymo__cli_grouped(s->calls).text,
           kymo__cli_count(threads, "thread", "threads").text);
    if (s->resumes)
        printf(", %s of generators and coroutines",
               kymo__cli_count(s->resumes, "resume", "resumes").text);
    if (s->counts.deepest)
        printf("; at most %u deep", s->counts.deepest);
    putchar('\n');
    print_losses(report);
    print_off(report);
    print_shares(report);
}

/* -------------------------------------------------------------- functions --- */

static void print_functions(const struct cli_report *report)
{
    static const char *const order[] = {
        [CLI_BY_SELF] = "self time", [CLI_BY_TOTAL] = "total time", [CLI_BY_CALLS] = "calls",
        [CLI_BY_MEAN] = "mean time", [CLI_BY_P99] = "p99",          [CLI_BY_NAME] = "name",
    };
    static const struct cli_column columns[] = {
        {"SELF", true, false},     {"%", true, false},     {"TOTAL", true, false},
        {"CALLS", true, false},    {"MEAN", true, false},  {"P99", true, false},
        {"FUNCTION", false, true}, {"WHERE", false, true}, {0},
    };
    const struct kymo_survey *s = report->survey;
    char title[80];
    snprintf(title, sizeof title, "Functions by %s", order[report->sort]);
    heading(title);
    struct cli_table *table = kymo__cli_table_new(columns);
    size_t shown = 0;
    for (; shown < report->function_count && shown < report->limit; shown++) {
        uint32_t i = report->functions[shown];
        const struct kymo_function_cost *cost = s->functions.of[i];
        struct cli_text self = kymo__cli_duration(cost->self);
        struct cli_text share = percent(cost->self, report->inside);
        struct cli_text total = kymo__cli_duration(cost->total);
        struct cli_text calls = kymo__cli_grouped(cost->calls);
        struct cli_text mean = kymo__cli_duration(report->rows[i].mean);
        struct cli_text p99 = kymo__cli_duration(report->rows[i].p99);
        char *place = where(&s->callables.all[i]);
        const char *const cells[] = {self.text,
                                     share.text,
                                     total.text,
                                     calls.text,
                                     mean.text,
                                     p99.text,
                                     s->callables.all[i].name,
                                     place};
        kymo__cli_table_add(table, cells);
        kymo__cli_free(place);
    }
    if (shown > 0)
        kymo__cli_table_print(table, INDENT);
    else
        printf("%*snone\n", INDENT, "");
    kymo__cli_table_free(table);
    if (shown < report->function_count)
        printf("%*s%s… and %s more; --limit shows more, --filter others%s\n", INDENT, "",
               kymo__cli_colour(CLI_DIM), kymo__cli_grouped(report->function_count - shown).text,
               kymo__cli_colour(CLI_PLAIN));
}

/* ------------------------------------------------------------------ paths --- */

static void put_name(FILE *out, const struct cli_report *report, uint32_t callable)
{
    kymo__cli_put_clean(out, report->survey->callables.all[callable].name);
}

/* The path down to NODE: its beginning, its end, and a word for what is between. */
static void put_path(FILE *out, const struct cli_report *report, uint32_t node)
{
    enum { FIRST = 2, LAST = 5 };
    const struct kymo_tree *tree = &report->survey->tree;
    size_t length = 0;
    for (uint32_t at = node; at; at = tree->nodes[at].parent)
        length++;
    uint32_t *path = kymo__cli_array(length, sizeof *path);
    size_t left = length;
    for (uint32_t at = node; at; at = tree->nodes[at].parent)
        path[--left] = tree->nodes[at].callable;
    /* A function that calls itself takes one place, however often. */
    size_t *times = kymo__cli_array(length, sizeof *times), places = 0;
    for (size_t i = 0; i < length; i++) {
        if (places == 0 || path[places - 1] != path[i])
            path[places++] = path[i];
        times[places - 1]++;
    }
    for (size_t i = 0; i < places; i++) {
        fputs(i > 0 ? " > " : "", out);
        if (places > FIRST + LAST + 1 && i == FIRST) {
            fprintf(out, "(%zu more)", places - FIRST - LAST);
            i = places - LAST - 1;
            continue;
        }
        put_name(out, report, path[i]);
        if (times[i] > 1)
            fprintf(out, " (%zu times)", times[i]);
    }
    kymo__cli_free(times);
    kymo__cli_free(path);
}

/* The tree of calls was not large enough. */
static void print_full(const struct cli_report *report)
{
    const struct kymo_tree *tree = &report->survey->tree;
    if (tree->folded)
        printf("%*s%s%s on paths beyond the first %s count for their callers here%s\n", INDENT, "",
               kymo__cli_colour(CLI_YELLOW), kymo__cli_count(tree->folded, "call", "calls").text,
               kymo__cli_grouped(tree->most).text, kymo__cli_colour(CLI_PLAIN));
}

static void print_paths(const struct cli_report *report)
{
    uint32_t nodes[PATHS];
    size_t count = kymo__cli_report_hottest(report, nodes, PATHS);
    if (count == 0)
        return;
    heading("Hottest call paths, by self time at their end");
    for (size_t i = 0; i < count; i++) {
        const struct kymo_node *node = &report->survey->tree.nodes[nodes[i]];
        struct cli_text self = kymo__cli_duration(node->self);
        printf("%*s%5s %%  %s%*s%s%s  ", INDENT, "", percent(node->self, report->inside).text,
               kymo__cli_colour(CLI_DIM), 11 - kymo__cli_cells(self.text), "", self.text,
               kymo__cli_colour(CLI_PLAIN));
        char *path = NULL;
        size_t size;
        FILE *out = open_memstream(&path, &size);
        if (out) {
            put_path(out, report, nodes[i]);
            fclose(out);
        }
        print_rest(path ? path : "", INDENT + 5 + 4 + 11 + 2);
        free(path);
    }
    print_full(report);
}

/* ------------------------------------------------------------------- tree --- */

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
    printf("%*s%5s %%  ", INDENT, "", percent(node->total, report->inside).text);
    /* Not by printf's widths, which count the bytes of µ. */
    struct cli_text total = kymo__cli_duration(node->total), self = kymo__cli_duration(node->self);
    printf("%*s%s  ", 11 - kymo__cli_cells(total.text), "", total.text);
    printf("%*s%s  ", 11 - kymo__cli_cells(self.text), "", self.text);
    printf("%10s  ", kymo__cli_grouped(node->calls).text);
    char *line = NULL, *place = where(callable);
    size_t size;
    FILE *out = open_memstream(&line, &size);
    if (out) {
        put_rails(out, b, level, branch);
        put_name(out, report, node->callable);
        fputs("  ", out);
        kymo__cli_put_clean(out, place);
        fclose(out);
    }
    print_rest(line ? line : "", INDENT + 5 + 4 + 11 + 2 + 11 + 2 + 10 + 2);
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

static void print_tree(const struct cli_report *report)
{
    const struct kymo_tree *tree = &report->survey->tree;
    struct branches b = {
        .report = report,
        .least = (kymo_ns)(report->threshold * (double)report->inside),
        .level = kymo__cli_array(tree->count + 1, sizeof *b.level),
        .more = kymo__cli_array(tree->count + 2, sizeof *b.more),
    };
    heading("Call tree");
    printf("%*s%s%7s  %11s  %11s  %10s  %s%s\n", INDENT, "", kymo__cli_colour(CLI_DIM), "%",
           "TOTAL", "SELF", "CALLS", "FUNCTION", kymo__cli_colour(CLI_PLAIN));
    uint64_t count = 0;
    bool branch;
    for (uint32_t at = advance(&b, 0, &branch); at; at = advance(&b, at, &branch), count++)
        print_node(&b, &tree->nodes[at], b.level[at], branch);
    uint64_t folded = tree->count ? tree->count - 1 - count : 0;
    if (folded)
        printf("%*s%s%s below %.2g %% not shown; --threshold shows more%s\n", INDENT, "",
               kymo__cli_colour(CLI_DIM), kymo__cli_count(folded, "path", "paths").text,
               100 * report->threshold, kymo__cli_colour(CLI_PLAIN));
    print_full(report);
    kymo__cli_free(b.level);
    kymo__cli_free(b.more);
}

/* ---------------------------------------------------------------- callers --- */

static void print_callers(const struct cli_report *report)
{
    static const struct cli_column columns[] = {
        {"TOTAL", true, false},     {"SELF", true, false},  {"CALLS", true, false},
        {"CALLED BY", false, true}, {"WHERE", false, true}, {0},
    };
    const struct kymo_survey *s = report->survey;
    struct cli_caller *callers;
    size_t count = kymo__cli_report_callers(report, &callers);
    for (size_t i = 0; i < count;) {
        const struct kymo_callable *callable = &s->callables.all[callers[i].callable];
        char *place = where(callable);
        printf("\n%sCallers of ", kymo__cli_colour(CLI_BOLD));
        kymo__cli_put_clean(stdout, callable->name);
        printf("%s  %s", kymo__cli_colour(CLI_PLAIN), kymo__cli_colour(CLI_DIM));
        kymo__cli_put_clean(stdout, place);
        printf("%s\n", kymo__cli_colour(CLI_PLAIN));
        kymo__cli_free(place);
        struct cli_table *table = kymo__cli_table_new(columns);
        uint32_t now = callers[i].callable;
        for (; i < count && callers[i].callable == now; i++) {
            const struct kymo_callable *caller = &s->callables.all[callers[i].caller];
            struct cli_text total = kymo__cli_duration(callers[i].total);
            struct cli_text self = kymo__cli_duration(callers[i].self);
            struct cli_text calls = kymo__cli_grouped(callers[i].calls);
            char *from = callers[i].root ? kymo__cli_format("-") : where(caller);
            const char *const cells[] = {total.text, self.text, calls.text,
                                         callers[i].root ? "(nobody: outermost)" : caller->name,
                                         from};
            kymo__cli_table_add(table, cells);
            kymo__cli_free(from);
        }
        kymo__cli_table_print(table, INDENT);
        kymo__cli_table_free(table);
    }
    kymo__cli_free(callers);
}

/* ------------------------------------------------------------ the small ones --- */

static int by_busy(const void *a, const void *b, void *arg)
{
    const struct kymo_survey *s = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    kymo_ns left = s->threads[x].busy, right = s->threads[y].busy;
    return left != right ? (left > right ? -1 : 1) : x < y ? -1 : x > y;
}

static void add_thread(struct cli_table *table, const struct cli_report *report, uint32_t i)
{
    const struct kymo_survey *s = report->survey;
    struct kymo_thread_info thread = {.size = sizeof thread};
    if (kymo_capture_thread(report->capture, i, &thread) < 0)
        return;
    char index[16], tid[24];
    snprintf(index, sizeof index, "%u", i);
    snprintf(tid, sizeof tid, "%lld", (long long)thread.tid);
    struct cli_text calls = kymo__cli_grouped(s->threads[i].calls);
    struct cli_text busy = kymo__cli_duration(s->threads[i].busy);
    struct cli_text share = percent(s->threads[i].busy, s->to - s->from);
    struct cli_text first = {"-"}, last = {"-"};
    if (thread.records > 0) {
        first = kymo__cli_duration(thread.first - report->info.start);
        last = kymo__cli_duration(thread.last - report->info.start);
    }
    const char *const cells[] = {index,     tid,        thread.name, calls.text,
                                 busy.text, share.text, first.text,  last.text};
    kymo__cli_table_add(table, cells);
}

static void print_threads(const struct cli_report *report)
{
    static const struct cli_column columns[] = {
        {"THREAD", true, false}, {"TID", true, false},  {"NAME", false, true},
        {"CALLS", true, false},  {"BUSY", true, false}, {"%", true, false},
        {"FIRST", true, false},  {"LAST", true, false}, {0},
    };
    struct kymo_survey *s = report->survey;
    uint32_t *order = kymo__cli_array(s->thread_count + 1, sizeof *order);
    size_t count = 0;
    for (uint32_t i = 0; i < s->thread_count; i++)
        if (s->threads[i].read)
            order[count++] = i;
    if (count > THREADS)
        qsort_r(order, count, sizeof *order, by_busy, s);
    struct cli_table *table = kymo__cli_table_new(columns);
    for (size_t i = 0; i < count && i < THREADS; i++)
        add_thread(table, report, order[i]);
    if (count > 0) {
        heading(count > THREADS ? "Threads, the busiest first" : "Threads");
        kymo__cli_table_print(table, INDENT);
    }
    if (count > THREADS)
        printf("%*s%s… and %s more; --json has them all%s\n", INDENT, "", kymo__cli_colour(CLI_DIM),
               kymo__cli_grouped(count - THREADS).text, kymo__cli_colour(CLI_PLAIN));
    kymo__cli_table_free(table);
    kymo__cli_free(order);
}

static void print_gc(const struct cli_report *report)
{
    const struct kymo_survey_gc *gc = &report->survey->gc;
    uint64_t count = 0;
    kymo_ns time = 0;
    for (int i = 0; i < KYMO__GENERATIONS; i++) {
        count += gc->count[i];
        time = kymo__ns_add(time, gc->time[i]);
    }
    if (count == 0)
        return;
    heading("Garbage collection");
    printf("%*s%s, %s in all, the longest %s; %s", INDENT, "",
           kymo__cli_count(count, "collection", "collections").text, kymo__cli_duration(time).text,
           kymo__cli_duration(gc->longest).text,
           kymo__cli_count(gc->collected, "object collected", "objects collected").text);
    if (gc->uncollectable)
        printf(", %s uncollectable", kymo__cli_grouped(gc->uncollectable).text);
    putchar('\n');
    for (int i = 0; i < KYMO__GENERATIONS; i++) {
        if (gc->count[i] == 0)
            continue;
        char name[24];
        snprintf(name, sizeof name, i < KYMO__GENERATIONS - 1 ? "generation %d" : "unknown", i);
        printf("%*s%-14s  %s, %s\n", INDENT, "", name,
               kymo__cli_count(gc->count[i], "collection", "collections").text,
               kymo__cli_duration(gc->time[i]).text);
    }
}

static void print_counters(const struct cli_report *report)
{
    static const struct cli_column columns[] = {
        {"COUNTER", false, true}, {"LAST", true, false},    {"LEAST", true, false},
        {"MOST", true, false},    {"CHANGES", true, false}, {0},
    };
    const struct kymo_survey *s = report->survey;
    struct cli_table *table = kymo__cli_table_new(columns);
    size_t rows = 0;
    for (uint32_t i = 0; i < s->callables.count; i++) {
        const struct kymo_survey_counter *counter = s->counters[i];
        if (!counter || rows++ >= COUNTERS)
            continue;
        char last[40], least[40], most[40];
        snprintf(last, sizeof last, "%.10g", counter->last);
        snprintf(least, sizeof least, "%.10g", counter->least);
        snprintf(most, sizeof most, "%.10g", counter->most);
        struct cli_text changes = kymo__cli_grouped(counter->changes);
        const char *const cells[] = {s->callables.all[i].name, last, least, most, changes.text};
        kymo__cli_table_add(table, cells);
    }
    if (rows > 0) {
        heading("Counters");
        kymo__cli_table_print(table, INDENT);
        if (rows > COUNTERS)
            printf("%*s%s… and %zu more%s\n", INDENT, "", kymo__cli_colour(CLI_DIM),
                   rows - COUNTERS, kymo__cli_colour(CLI_PLAIN));
    }
    kymo__cli_table_free(table);
}

void kymo__cli_report_text(const struct cli_report *report)
{
    print_summary(report);
    if (report->callers) {
        print_callers(report);
        return;
    }
    if (report->tree) {
        print_tree(report);
        return;
    }
    print_functions(report);
    print_paths(report);
    print_gc(report);
    print_counters(report);
    print_threads(report);
}
