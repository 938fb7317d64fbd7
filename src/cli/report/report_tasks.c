/* report_tasks.c — the sections on asyncio: where tasks waited, and what blocked event loops. */
#include <stdlib.h>
#include <string.h>

#include "jsonout.h"
#include "memory.h"
#include "naming.h"
#include "report.h"
#include "report_words.h"
#include "table.h"
#include "terminal.h"

enum { ROWS = 10 };

static int by_longer(kymo_ns left, kymo_ns right, const struct kymo_survey *s, uint32_t x,
                     uint32_t y)
{
    return left != right ? (left > right ? -1 : 1)
                         : strcmp(s->callables.all[x].name, s->callables.all[y].name);
}

static int by_wait(const void *a, const void *b, void *arg)
{
    const struct kymo_survey *s = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return by_longer(s->asyncs.of[x]->time, s->asyncs.of[y]->time, s, x, y);
}

static int by_blocked(const void *a, const void *b, void *arg)
{
    const struct kymo_survey *s = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return by_longer(s->asyncs.blocked[x]->longest, s->asyncs.blocked[y]->longest, s, x, y);
}

void kymo__cli_print_awaits(const struct cli_report *report)
{
    static const struct cli_column columns[] = {
        {"WAITED", true, CLI_KEEP},     {"COUNT", true, CLI_KEEP},
        {"LONGEST", true, CLI_DROP(1)}, {"THEN READY", true, CLI_KEEP},
        {"LONGEST", true, CLI_DROP(2)}, {"AWAIT", false, CLI_CUT_LEFT},
        {"WHERE", false, CLI_CUT_LEFT}, {0},
    };
    struct kymo_survey *s = report->survey;
    uint32_t *rows = kymo__cli_array(s->callables.count + 1, sizeof *rows);
    size_t count = 0;
    for (uint32_t i = 0; i < s->callables.count; i++)
        if (s->asyncs.of[i] && s->callables.all[i].class == KYMO_CLASS_WAIT &&
            *s->callables.all[i].file)
            rows[count++] = i;
    qsort_r(rows, count, sizeof *rows, by_wait, s);
    struct cli_table *table = kymo__cli_table_new(columns);
    for (size_t i = 0; i < count && i < ROWS; i++) {
        const struct kymo_async_cost *cost = s->asyncs.of[rows[i]];
        const struct kymo_callable *callable = &s->callables.all[rows[i]];
        struct cli_text time = kymo__cli_duration(cost->time);
        struct cli_text number = kymo__cli_grouped(cost->count);
        struct cli_text longest = kymo__cli_duration(cost->longest);
        struct cli_text ready = kymo__cli_duration(cost->ready);
        struct cli_text ready_longest = kymo__cli_duration(cost->ready_longest);
        char *place = kymo__cli_where(callable);
        bool known = s->asyncs.ready != 0;
        const char *const cells[] = {time.text,
                                     number.text,
                                     longest.text,
                                     known ? ready.text : "-",
                                     known ? ready_longest.text : "-",
                                     callable->name,
                                     place};
        kymo__cli_table_add(table, cells);
        kymo__cli_free(place);
    }
    if (count > 0) {
        kymo__cli_heading("Where tasks waited");
        kymo__cli_table_print(table, CLI_INDENT);
    }
    kymo__cli_left_out(count, ROWS);
    kymo__cli_table_free(table);
    kymo__cli_free(rows);
}

/* The callbacks that blocked, the longest first; free the result. */
static uint32_t *blocked(struct kymo_survey *s, size_t *count)
{
    uint32_t *rows = kymo__cli_array(s->callables.count + 1, sizeof *rows);
    *count = 0;
    for (uint32_t i = 0; i < s->callables.count; i++)
        if (s->asyncs.blocked[i])
            rows[(*count)++] = i;
    qsort_r(rows, *count, sizeof *rows, by_blocked, s);
    return rows;
}

void kymo__cli_print_blocked(const struct cli_report *report)
{
    static const struct cli_column columns[] = {
        {"LONGEST", true, CLI_KEEP},
        {"AT", true, CLI_DROP(1)},
        {"TIME", true, CLI_KEEP},
        {"COUNT", true, CLI_KEEP},
        {"CALLBACK", false, CLI_CUT_LEFT},
        {"WHERE", false, CLI_CUT_LEFT},
        {0},
    };
    struct kymo_survey *s = report->survey;
    size_t count;
    uint32_t *rows = blocked(s, &count);
    struct cli_table *table = kymo__cli_table_new(columns);
    for (size_t i = 0; i < count && i < ROWS; i++) {
        const struct kymo_async_blocked *cost = s->asyncs.blocked[rows[i]];
        const struct kymo_callable *callable = &s->callables.all[rows[i]];
        struct cli_text longest = kymo__cli_duration(cost->longest);
        struct cli_text when = kymo__cli_duration(cost->when - report->info.start);
        struct cli_text time = kymo__cli_duration(cost->time);
        struct cli_text number = kymo__cli_grouped(cost->count);
        char *place =
            callable->class == KYMO_CLASS_NAME ? kymo__cli_format("-") : kymo__cli_where(callable);
        const char *const cells[] = {longest.text, when.text,      time.text,
                                     number.text,  callable->name, place};
        kymo__cli_table_add(table, cells);
        kymo__cli_free(place);
    }
    if (count > 0) {
        kymo__cli_heading("Callbacks and steps that blocked an event loop for 10 ms or more");
        kymo__cli_table_print(table, CLI_INDENT);
    }
    kymo__cli_left_out(count, ROWS);
    kymo__cli_table_free(table);
    kymo__cli_free(rows);
}

void kymo__cli_write_blocked(struct kymo_jsonout *json, const struct cli_report *report)
{
    struct kymo_survey *s = report->survey;
    size_t count;
    uint32_t *rows = blocked(s, &count);
    kymo__jsonout_array(json, "blocked");
    for (size_t i = 0; i < count; i++) {
        const struct kymo_async_blocked *cost = s->asyncs.blocked[rows[i]];
        kymo__jsonout_object(json, NULL);
        kymo__cli_write_callable(json, &s->callables.all[rows[i]]);
        kymo__jsonout_uint(json, "count", cost->count);
        kymo__jsonout_int(json, "time_ns", cost->time);
        kymo__jsonout_int(json, "longest_ns", cost->longest);
        kymo__jsonout_int(json, "longest_start_ns", cost->when);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
    kymo__cli_free(rows);
}
