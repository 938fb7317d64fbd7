/* report_tables.c — functions, and callers of one of them, as tables. */
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

/* The first LIMIT of FUNCTIONS, which are in the order of SORT. */
static size_t print_list(const struct cli_report *report, const uint32_t *functions,
                         enum cli_sort sort, uint64_t limit)
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
    snprintf(title, sizeof title, "Functions by %s", order[sort]);
    kymo__cli_heading(title);
    struct cli_table *table = kymo__cli_table_new(columns);
    size_t shown = 0;
    for (; shown < report->function_count && shown < limit; shown++) {
        uint32_t i = functions[shown];
        const struct kymo_function_cost *cost = s->functions.of[i];
        struct cli_text self = kymo__cli_duration(cost->self);
        struct cli_text share = kymo__cli_percent(cost->self, report->inside);
        struct cli_text total = kymo__cli_duration(cost->total);
        struct cli_text calls = kymo__cli_grouped(cost->calls);
        struct cli_text mean = kymo__cli_duration(report->rows[i].mean);
        struct cli_text p99 = kymo__cli_duration(report->rows[i].p99);
        char *place = kymo__cli_where(&s->callables.all[i]);
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
        kymo__cli_table_print(table, CLI_INDENT);
    else
        printf("%*snone\n", CLI_INDENT, "");
    kymo__cli_table_free(table);
    return shown;
}

void kymo__cli_print_functions(const struct cli_report *report)
{
    enum { TOTALS = 10 };
    size_t shown = print_list(report, report->functions, report->sort, report->limit);
    if (shown < report->function_count)
        printf("%*s%s… and %s more; --limit shows more, --filter others%s\n", CLI_INDENT, "",
               kymo__cli_colour(CLI_DIM), kymo__cli_grouped(report->function_count - shown).text,
               kymo__cli_colour(CLI_PLAIN));
    if (report->sorted || shown == 0)
        return;
    uint32_t *functions = kymo__cli_report_by(report, CLI_BY_TOTAL);
    print_list(report, functions, CLI_BY_TOTAL, report->limit < TOTALS ? report->limit : TOTALS);
    kymo__cli_free(functions);
}

void kymo__cli_print_callers(const struct cli_report *report)
{
    const struct cli_column columns[] = {
        {"TOTAL", true, false},
        {"SELF", true, false},
        {report->of_samples ? "SAMPLES" : "CALLS", true, false},
        {"CALLED BY", false, true},
        {"WHERE", false, true},
        {0},
    };
    const struct kymo_survey *s = report->survey;
    struct cli_caller *callers;
    size_t count = kymo__cli_report_callers(report, &callers);
    for (size_t i = 0; i < count;) {
        const struct kymo_callable *callable = &s->callables.all[callers[i].callable];
        char *place = kymo__cli_where(callable);
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
            char *from = callers[i].root ? kymo__cli_format("-") : kymo__cli_where(caller);
            const char *const cells[] = {total.text, self.text, calls.text,
                                         callers[i].root ? "(nobody: outermost)" : caller->name,
                                         from};
            kymo__cli_table_add(table, cells);
            kymo__cli_free(from);
        }
        kymo__cli_table_print(table, CLI_INDENT);
        kymo__cli_table_free(table);
    }
    kymo__cli_free(callers);
}
