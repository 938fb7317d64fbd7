/* report_asyncs.c — the sections on async spans and gaps, as text and JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonout.h"
#include "memory.h"
#include "naming.h"
#include "report.h"
#include "report_words.h"
#include "table.h"
#include "terminal.h"

enum { ASYNCS = 10, GAPS = 10 };

static int by_time(const void *a, const void *b, void *arg)
{
    const struct kymo_survey *s = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    kymo_ns left = s->asyncs.of[x]->time, right = s->asyncs.of[y]->time;
    return left != right ? (left > right ? -1 : 1)
                         : strcmp(s->callables.all[x].name, s->callables.all[y].name);
}

/* All kinds of async spans, longest first; free the result. With OUTER, leave out those always
   nested in others. */
static uint32_t *ordered_asyncs(struct kymo_survey *s, bool outer, size_t *count)
{
    uint32_t *order = kymo__cli_array(s->callables.count + 1, sizeof *order);
    *count = 0;
    for (uint32_t i = 0; i < s->callables.count; i++) {
        const struct kymo_async_cost *cost = s->asyncs.of[i];
        if (cost && cost->count > (outer ? cost->inside : 0))
            order[(*count)++] = i;
    }
    qsort_r(order, *count, sizeof *order, by_time, s);
    return order;
}

void kymo__cli_print_asyncs(const struct cli_report *report)
{
    static const struct cli_column columns[] = {
        {"TIME", true, CLI_KEEP},       {"RAN", true, CLI_KEEP},
        {"WAITED", true, CLI_KEEP},     {"READY", true, CLI_KEEP},
        {"COUNT", true, CLI_KEEP},      {"LONGEST", true, CLI_DROP(1)},
        {"OPEN", true, CLI_DROP(2)},    {"NAME", false, CLI_CUT_LEFT},
        {"WHERE", false, CLI_CUT_LEFT}, {0},
    };
    struct kymo_survey *s = report->survey;
    size_t count;
    uint32_t *all = ordered_asyncs(s, true, &count);
    struct cli_table *table = kymo__cli_table_new(columns);
    for (size_t i = 0; i < count && i < ASYNCS; i++) {
        const struct kymo_async_cost *cost = s->asyncs.of[all[i]];
        const struct kymo_callable *callable = &s->callables.all[all[i]];
        bool task = callable->class != KYMO_CLASS_NAME;
        struct cli_text time = kymo__cli_duration(cost->time);
        struct cli_text ran = kymo__cli_duration(cost->time - cost->waited - cost->ready);
        struct cli_text waited = kymo__cli_duration(cost->waited);
        struct cli_text ready = kymo__cli_duration(cost->ready);
        struct cli_text number = kymo__cli_grouped(cost->count);
        struct cli_text longest = kymo__cli_duration(cost->longest);
        struct cli_text open = kymo__cli_grouped(cost->open);
        char *place = task ? kymo__cli_where(callable) : kymo__cli_format("(async span)");
        const char *const cells[] = {time.text,   task ? ran.text : "-",
                                     waited.text, s->asyncs.ready && task ? ready.text : "-",
                                     number.text, longest.text,
                                     open.text,   callable->name,
                                     place};
        kymo__cli_table_add(table, cells);
        kymo__cli_free(place);
    }
    if (count > 0) {
        kymo__cli_heading("Tasks and async spans");
        kymo__cli_table_print(table, CLI_INDENT);
    }
    kymo__cli_left_out(count, ASYNCS);
    kymo__cli_table_free(table);
    kymo__cli_free(all);
}

void kymo__cli_write_asyncs(struct kymo_jsonout *json, const struct cli_report *report)
{
    struct kymo_survey *s = report->survey;
    size_t count;
    uint32_t *all = ordered_asyncs(s, false, &count);
    kymo__jsonout_array(json, "asyncs");
    for (size_t i = 0; i < count; i++) {
        const struct kymo_async_cost *cost = s->asyncs.of[all[i]];
        const struct kymo_callable *callable = &s->callables.all[all[i]];
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_string(json, "name", callable->name);
        if (*callable->file)
            kymo__jsonout_string(json, "file", callable->file);
        if (callable->line)
            kymo__jsonout_uint(json, "line", callable->line);
        kymo__jsonout_uint(json, "count", cost->count);
        kymo__jsonout_uint(json, "inside", cost->inside);
        kymo__jsonout_uint(json, "open", cost->open);
        kymo__jsonout_int(json, "time_ns", cost->time);
        kymo__jsonout_string(json, "class", kymo_class_word(callable->class));
        kymo__jsonout_int(json, "waited_ns", cost->waited);
        kymo__jsonout_int(json, "ready_ns", cost->ready);
        kymo__jsonout_int(json, "ready_longest_ns", cost->ready_longest);
        kymo__jsonout_int(json, "longest_ns", cost->longest);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
    kymo__cli_free(all);
}

/* ------------------------------------------------------------------- gaps --- */

struct gap {
    uint32_t thread;
    int reason;
    uint64_t records;
    kymo_ns first, last;
};

/* Gap INDEX, if it lies in the requested window. */
static int gap_at(const struct cli_report *report, uint64_t index, struct gap *gap)
{
    int rc = kymo_capture_gap(report->capture, index, &gap->thread, &gap->reason, &gap->records,
                              &gap->first, &gap->last);
    if (rc < 0)
        return rc;
    kymo_ns from = report->part.from > 0 ? report->survey->from : INT64_MIN;
    kymo_ns to = report->part.to < INT64_MAX ? report->survey->to : INT64_MAX;
    return gap->first >= from && gap->first < to &&
           report->threads.chosen[kymo__cli_threads_slot(&report->threads, gap->thread)];
}

void kymo__cli_print_gaps(const struct cli_report *report)
{
    static const struct cli_column columns[] = {
        {"AT", true, false},     {"LASTED", true, false}, {"RECORDS", true, false},
        {"THREAD", false, true}, {"WHY", false, true},    {0},
    };
    struct cli_table *table = kymo__cli_table_new(columns);
    struct gap gap = {0};
    size_t count = 0;
    int there;
    for (uint64_t i = 0; (there = gap_at(report, i, &gap)) >= 0; i++) {
        if (!there || gap.reason == KYMO_GAP_FLIGHT || count++ >= GAPS)
            continue;
        struct cli_text at = kymo__cli_duration(gap.first - report->info.start);
        struct cli_text lasted = kymo__cli_duration(gap.last - gap.first);
        struct cli_text records = kymo__cli_grouped(gap.records);
        const char *const cells[] = {
            at.text, lasted.text, records.text,
            report->threads.label[kymo__cli_threads_slot(&report->threads, gap.thread)],
            kymo__cli_name_gap(gap.reason).phrase};
        kymo__cli_table_add(table, cells);
    }
    if (count > 0) {
        kymo__cli_heading("Gaps: missing records");
        kymo__cli_table_print(table, CLI_INDENT);
    }
    kymo__cli_left_out(count, GAPS);
    kymo__cli_table_free(table);
}

void kymo__cli_write_gaps(struct kymo_jsonout *json, const struct cli_report *report)
{
    struct gap gap = {0};
    int there;
    kymo__jsonout_array(json, "gap_list");
    for (uint64_t i = 0; (there = gap_at(report, i, &gap)) >= 0; i++) {
        if (!there)
            continue;
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_uint(json, "thread", gap.thread);
        kymo__jsonout_string(json, "reason", kymo__cli_name_gap(gap.reason).word);
        kymo__jsonout_uint(json, "records", gap.records);
        kymo__jsonout_int(json, "first_ns", gap.first - report->info.start);
        kymo__jsonout_int(json, "last_ns", gap.last - report->info.start);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}
