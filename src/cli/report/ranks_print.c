/* ranks_print.c — the text and the JSON of `kymograph report DIRECTORY`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock_words.h"
#include "jsonout.h"
#include "memory.h"
#include "ranks.h"
#include "report_words.h"
#include "table.h"
#include "terminal.h"
#include "text.h"
#include "units.h"

enum { SHOWN = 64 };

static int by_figure(const void *a, const void *b)
{
    const struct cli_rank *const *x = a, *const *y = b;
    return (*x)->figure > (*y)->figure ? -1 : (*x)->figure < (*y)->figure;
}

/* "rank 3", or the name of a process that has none. */
static char *label_of(const struct cli_rank *rank)
{
    return rank->rank >= 0 ? kymo__cli_format("rank %lld", (long long)rank->rank)
                           : kymo__cli_format("%s (pid %lld)", rank->name, (long long)rank->pid);
}

static void print_summary(const struct cli_ranks *ranks)
{
    printf("%s%s%s\n", kymo__cli_colour(CLI_BOLD), ranks->folder, kymo__cli_colour(CLI_PLAIN));
    kymo__cli_label("processes");
    fputs(kymo__cli_grouped(ranks->count).text, stdout);
    if (ranks->unreadable)
        printf("; %s%s cannot be read%s", kymo__cli_colour(CLI_YELLOW),
               kymo__cli_count(ranks->unreadable, "capture", "captures").text,
               kymo__cli_colour(CLI_PLAIN));
    putchar('\n');
    kymo__cli_label("compared");
    printf("by %s; the median is %s\n",
           ranks->by_step ? "the mean time of a step" : "how long they lasted: not all have steps",
           kymo__cli_duration(ranks->median).text);
    kymo__cli_label("clocks");
    char *order = kymo__cli_order_words(&ranks->order);
    puts(order);
    kymo__cli_free(order);
    size_t slow = 0;
    for (size_t i = 0; i < ranks->count; i++)
        slow += ranks->all[i].straggles;
    kymo__cli_label("slow");
    if (!slow)
        fputs("none", stdout);
    for (size_t i = 0, named = 0; i < ranks->count && named < 8; i++) {
        if (!ranks->all[i].straggles)
            continue;
        char *label = label_of(&ranks->all[i]);
        printf("%s", named++ ? ", " : "");
        kymo__cli_put_clean(stdout, label);
        printf(" (%+.0f %%)", 100.0 * (double)(ranks->all[i].figure - ranks->median) /
                                  (double)(ranks->median ? ranks->median : 1));
        kymo__cli_free(label);
    }
    puts(slow > 8 ? ", ..." : "");
}

static void add_rank(struct cli_table *table, const struct cli_rank *rank, kymo_ns median)
{
    char number[24] = "-", pid[24], more[32] = "";
    if (rank->rank >= 0)
        snprintf(number, sizeof number, "%lld", (long long)rank->rank);
    snprintf(pid, sizeof pid, "%lld", (long long)rank->pid);
    if (median > 0)
        snprintf(more, sizeof more, "%+.1f %%%s",
                 100.0 * (double)(rank->figure - median) / (double)median,
                 rank->straggles ? " !" : "");
    const struct kymo_relation *relation = &rank->relation;
    struct cli_text start = kymo__cli_duration(rank->start), error = {"exact"};
    if (relation->error < 0)
        error = (struct cli_text){"unknown"};
    else if (relation->how != KYMO__RELATED_MONOTONIC)
        error = kymo__cli_duration(relation->error);
    struct cli_text lasted = kymo__cli_duration(rank->lasted);
    struct cli_text calls = kymo__cli_grouped(rank->calls);
    struct cli_text steps = kymo__cli_grouped(rank->steps), mean = {"-"}, most = {"-"};
    if (rank->steps) {
        mean = kymo__cli_duration(rank->step_total / (kymo_ns)rank->steps);
        most = kymo__cli_duration(rank->step_most);
    }
    const char *const cells[] = {number,     rank->host, pid,         rank->name,
                                 start.text, error.text, lasted.text, calls.text,
                                 steps.text, mean.text,  most.text,   more};
    kymo__cli_table_add(table, cells);
}

static void print_ranks(const struct cli_ranks *ranks)
{
    static const struct cli_column columns[] = {
        {"RANK", true, CLI_KEEP},
        {"HOST", false, CLI_CUT | CLI_DROP(3)},
        {"PID", true, CLI_DROP(2)},
        {"NAME", false, CLI_CUT | CLI_DROP(4)},
        {"START", true, CLI_DROP(6)},
        {"WITHIN", true, CLI_DROP(6)},
        {"LASTED", true, CLI_DROP(1)},
        {"CALLS", true, CLI_DROP(5)},
        {"STEPS", true, CLI_KEEP},
        {"MEAN", true, CLI_KEEP},
        {"MAX", true, CLI_KEEP},
        {"VS MEDIAN", true, CLI_KEEP},
        {0},
    };
    const struct cli_rank **order = kymo__cli_array(ranks->count, sizeof(struct cli_rank *));
    for (size_t i = 0; i < ranks->count; i++)
        order[i] = &ranks->all[i];
    if (ranks->count > SHOWN) /* the slowest of them */
        qsort(order, ranks->count, sizeof *order, by_figure);
    struct cli_table *table = kymo__cli_table_new(columns);
    for (size_t i = 0; i < ranks->count && i < SHOWN; i++)
        add_rank(table, order[i], ranks->median);
    putchar('\n');
    kymo__cli_table_print(table, CLI_INDENT);
    kymo__cli_left_out(ranks->count, SHOWN);
    kymo__cli_table_free(table);
    kymo__cli_free(order);
}

void kymo__cli_ranks_text(const struct cli_ranks *ranks, const struct cli_rank_change *changes,
                          size_t count, uint64_t limit)
{
    static const struct cli_column columns[] = {
        {"SLOWEST", true, CLI_KEEP},
        {"TYPICAL", true, CLI_KEEP},
        {"MORE", true, CLI_KEEP},
        {"CALLS", true, CLI_DROP(1)},
        {"FUNCTION", false, CLI_CUT},
        {"WHERE", false, CLI_CUT_LEFT | CLI_DROP(2)},
        {0},
    };
    print_summary(ranks);
    print_ranks(ranks);
    if (count == 0)
        return;
    char *slowest = label_of(&ranks->all[ranks->slowest]);
    char *typical = label_of(&ranks->all[ranks->typical]);
    char *title = kymo__cli_format("Functions by the change of their own time, waiting included: "
                                   "%s against %s",
                                   slowest, typical);
    kymo__cli_heading(title);
    struct cli_table *table = kymo__cli_table_new(columns);
    for (size_t i = 0; i < count && i < limit; i++) {
        const struct cli_rank_change *c = &changes[i];
        kymo_ns more = c->slowest - c->typical;
        struct cli_text change = kymo__cli_duration(more < 0 ? -more : more);
        char *signed_ = kymo__cli_format("%s%s", more < 0 ? "-" : "+", change.text);
        char *place =
            c->line ? kymo__cli_format("%s:%u", c->file, c->line) : kymo__cli_format("%s", c->file);
        struct cli_text here = kymo__cli_duration(c->slowest),
                        there = kymo__cli_duration(c->typical);
        char *calls = kymo__cli_format("%llu/%llu", (unsigned long long)c->slowest_calls,
                                       (unsigned long long)c->typical_calls);
        const char *const cells[] = {here.text, there.text, signed_, calls, c->name, place};
        kymo__cli_table_add(table, cells);
        kymo__cli_free(signed_);
        kymo__cli_free(place);
        kymo__cli_free(calls);
    }
    kymo__cli_table_print(table, CLI_INDENT);
    kymo__cli_left_out(count, limit);
    kymo__cli_table_free(table);
    kymo__cli_free(title);
    kymo__cli_free(slowest);
    kymo__cli_free(typical);
}

static void write_relation(struct kymo_jsonout *json, const struct kymo_relation *relation)
{
    kymo__jsonout_object(json, "clock");
    kymo__jsonout_string(json, "by", kymo__cli_related_by(relation));
    kymo__jsonout_int(json, "offset_ns", relation->shift);
    if (relation->error < 0)
        kymo__jsonout_null(json, "error_ns");
    else
        kymo__jsonout_int(json, "error_ns", relation->error);
    if (relation->sync == KYMO__SYNC_UNKNOWN)
        kymo__jsonout_null(json, "synchronised");
    else
        kymo__jsonout_bool(json, "synchronised", relation->sync == KYMO__SYNC_YES);
    kymo__jsonout_double(json, "drift_ppb", relation->drift);
    if (relation->drift_error < 0)
        kymo__jsonout_null(json, "drift_error_ppb");
    else
        kymo__jsonout_double(json, "drift_error_ppb", relation->drift_error);
    kymo__jsonout_end(json);
}

static void write_rank(struct kymo_jsonout *json, const struct cli_rank *rank)
{
    kymo__jsonout_object(json, NULL);
    if (rank->rank >= 0)
        kymo__jsonout_int(json, "rank", rank->rank);
    else
        kymo__jsonout_null(json, "rank");
    kymo__jsonout_string(json, "host", rank->host);
    kymo__jsonout_int(json, "pid", rank->pid);
    kymo__jsonout_string(json, "name", rank->name);
    kymo__jsonout_string(json, "file", rank->path);
    kymo__jsonout_int(json, "start_ns", rank->start);
    write_relation(json, &rank->relation);
    kymo__jsonout_int(json, "duration_ns", rank->lasted);
    kymo__jsonout_uint(json, "calls", rank->calls);
    kymo__jsonout_uint(json, "steps", rank->steps);
    kymo__jsonout_int(json, "step_total_ns", rank->step_total);
    kymo__jsonout_int(json, "step_max_ns", rank->step_most);
    kymo__jsonout_bool(json, "straggler", rank->straggles);
    kymo__jsonout_end(json);
}

void kymo__cli_ranks_json(const struct cli_ranks *ranks, const struct cli_rank_change *changes,
                          size_t count)
{
    struct kymo_jsonout json = {.out = stdout};
    kymo__jsonout_object(&json, NULL);
    kymo__jsonout_string(&json, "directory", ranks->folder);
    kymo__jsonout_string(&json, "compared_by", ranks->by_step ? "step" : "duration");
    kymo__jsonout_int(&json, "median_ns", ranks->median);
    kymo__jsonout_uint(&json, "unreadable", ranks->unreadable);
    kymo__jsonout_array(&json, "ranks");
    for (size_t i = 0; i < ranks->count; i++)
        write_rank(&json, &ranks->all[i]);
    kymo__jsonout_end(&json);
    kymo__jsonout_string(&json, "slowest", ranks->all[ranks->slowest].path);
    kymo__jsonout_string(&json, "typical", ranks->all[ranks->typical].path);
    kymo__jsonout_array(&json, "functions");
    for (size_t i = 0; i < count; i++) {
        const struct cli_rank_change *c = &changes[i];
        kymo__jsonout_object(&json, NULL);
        kymo__jsonout_string(&json, "name", c->name);
        kymo__jsonout_string(&json, "file", c->file);
        kymo__jsonout_uint(&json, "line", c->line);
        kymo__jsonout_int(&json, "slowest_self_ns", c->slowest);
        kymo__jsonout_int(&json, "typical_self_ns", c->typical);
        kymo__jsonout_uint(&json, "slowest_calls", c->slowest_calls);
        kymo__jsonout_uint(&json, "typical_calls", c->typical_calls);
        kymo__jsonout_end(&json);
    }
    kymo__jsonout_end(&json);
    kymo__jsonout_end(&json);
    putchar('\n');
}
