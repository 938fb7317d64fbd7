/* report_threads.c — the sections on threads, garbage collections and counters. */
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

enum { COUNTERS = 10, THREADS = 20 };

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
    kymo_ns working = s->threads[i].busy - s->threads[i].waiting;
    struct cli_text busy = kymo__cli_duration(working);
    struct cli_text share = kymo__cli_percent(working, s->to - s->from);
    struct cli_text waited = kymo__cli_duration(s->threads[i].waiting);
    struct cli_text first = {"-"}, last = {"-"};
    if (thread.records > 0) {
        first = kymo__cli_duration(thread.first - report->info.start);
        last = kymo__cli_duration(thread.last - report->info.start);
    }
    const char *const cells[] = {index,      tid,         thread.name, calls.text, busy.text,
                                 share.text, waited.text, first.text,  last.text};
    kymo__cli_table_add(table, cells);
}

void kymo__cli_print_threads(const struct cli_report *report)
{
    static const struct cli_column columns[] = {
        {"THREAD", true, CLI_KEEP},  {"TID", true, CLI_DROP(3)},
        {"NAME", false, CLI_CUT},    {"CALLS", true, CLI_DROP(1)},
        {"WORK", true, CLI_KEEP},    {"%", true, CLI_KEEP},
        {"WAITED", true, CLI_KEEP},  {"FIRST", true, CLI_DROP(4)},
        {"LAST", true, CLI_DROP(5)}, {0},
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
        kymo__cli_heading(count > THREADS ? "Threads, busiest first" : "Threads");
        kymo__cli_table_print(table, CLI_INDENT);
    }
    kymo__cli_left_out(count, THREADS);
    kymo__cli_table_free(table);
    kymo__cli_free(order);
}

void kymo__cli_print_gc(const struct cli_report *report)
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
    kymo__cli_heading("Garbage collection");
    printf("%*s%s, %s, longest %s; %s", CLI_INDENT, "",
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
        printf("%*s%-14s  %s, %s\n", CLI_INDENT, "", name,
               kymo__cli_count(gc->count[i], "collection", "collections").text,
               kymo__cli_duration(gc->time[i]).text);
    }
}

void kymo__cli_print_counters(const struct cli_report *report)
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
        kymo__cli_heading("Counters");
        kymo__cli_table_print(table, CLI_INDENT);
        if (rows > COUNTERS)
            printf("%*s%s… and %zu more%s\n", CLI_INDENT, "", kymo__cli_colour(CLI_DIM),
                   rows - COUNTERS, kymo__cli_colour(CLI_PLAIN));
    }
    kymo__cli_table_free(table);
}
