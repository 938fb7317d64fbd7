/* report_tables.c — the tables of functions and of callers. */
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

/* Print the first LIMIT of FUNCTIONS, which are sorted by SORT. */
static size_t print_list(const struct cli_report *report, const uint32_t *functions,
                         enum cli_sort sort, uint64_t limit)
{
    static const char *const order[] = {
        [CLI_BY_SELF] = "self time", [CLI_BY_TOTAL] = "total time", [CLI_BY_CALLS] = "calls",
        [CLI_BY_MEAN] = "mean time", [CLI_BY_P99] = "p99",          [CLI_BY_NAME] = "name",
    };
    const struct cli_column columns[] = {
        {"SELF", true, CLI_KEEP},
        {"%", true, CLI_KEEP},
        {"TOTAL", true, CLI_KEEP},
        {"WAITED", true, CLI_DROP(2)},
        {"CALLS", true, CLI_DROP(1)},
        {"MEAN", true, CLI_DROP(sort == CLI_BY_MEAN ? 1 : 3)},
        {"P99", true, CLI_DROP(sort == CLI_BY_P99 ? 1 : 4)},
        {"FUNCTION", false, CLI_CUT_LEFT},
        {"WHERE", false, CLI_CUT_LEFT},
        {0},
    };
    const struct kymo_survey *s = report->shown;
    char title[80];
    snprintf(title, sizeof title, "Functions by %s", order[sort]);
    kymo__cli_heading(title);
    struct cli_table *table = kymo__cli_table_new(columns);
    size_t shown = 0;
    for (; shown < report->function_count && shown < limit; shown++) {
        uint32_t i = functions[shown];
        const struct kymo_function_cost *cost = s->functions.of[i];
        struct cli_text self = kymo__cli_duration(cost->self);
        struct cli_text share = kymo__cli_percent(cost->self, report->whole);
        struct cli_text total = kymo__cli_duration(cost->total);
        struct cli_text waited = kymo__cli_duration(report->fold->waited[i]);
        struct cli_text calls = kymo__cli_grouped(cost->calls);
        const struct cli_row row = kymo__cli_report_row(report, i);
        struct cli_text mean = kymo__cli_duration(row.mean);
        struct cli_text p99 = kymo__cli_duration(row.p99);
        char *place = kymo__cli_where(&s->callables.all[i]);
        const char *const cells[] = {self.text,
                                     share.text,
                                     total.text,
                                     report->fold->waited[i] ? waited.text : "-",
                                     calls.text,
                                     row.mean ? mean.text : "-",
                                     row.p99 ? p99.text : "-",
                                     s->callables.all[i].name,
                                     place};
        kymo__cli_table_add(table, cells);
        kymo__cli_free(place);
    }
    if (shown > 0)
        kymo__cli_table_print(table, CLI_INDENT);
    else if (report->function_count == 0)
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
    if (report->fold->folded)
        kymo__cli_print_folded("Time");
    if (report->sorted || shown == 0)
        return;
    uint32_t *functions = kymo__cli_report_by(report, CLI_BY_TOTAL);
    print_list(report, functions, CLI_BY_TOTAL, report->limit < TOTALS ? report->limit : TOTALS);
    kymo__cli_free(functions);
}

void kymo__cli_print_callers(const struct cli_report *report)
{
    const struct cli_column columns[] = {
        {"TOTAL", true, CLI_KEEP},
        {"SELF", true, CLI_DROP(1)},
        {report->of_samples ? "SAMPLES" : "CALLS", true, CLI_KEEP},
        {"CALLED BY", false, CLI_CUT_LEFT},
        {"WHERE", false, CLI_CUT_LEFT},
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
        uint64_t shown = 0;
        for (; i < count && callers[i].callable == now; i++) {
            if (shown++ >= report->limit)
                continue;
            const struct kymo_callable *caller = &s->callables.all[callers[i].caller];
            struct cli_text total = kymo__cli_duration(callers[i].total);
            struct cli_text self = kymo__cli_duration(callers[i].self);
            struct cli_text calls = kymo__cli_grouped(callers[i].calls);
            char *from = callers[i].root ? kymo__cli_format("-") : kymo__cli_where(caller);
            const char *const cells[] = {total.text, self.text, calls.text,
                                         callers[i].root ? "(none: outermost)" : caller->name,
                                         from};
            kymo__cli_table_add(table, cells);
            kymo__cli_free(from);
        }
        kymo__cli_table_print(table, CLI_INDENT);
        kymo__cli_table_free(table);
        if (shown > report->limit)
            printf("%*s%s… and %s more; --limit shows more%s\n", CLI_INDENT, "",
                   kymo__cli_colour(CLI_DIM), kymo__cli_grouped(shown - report->limit).text,
                   kymo__cli_colour(CLI_PLAIN));
    }
    kymo__cli_free(callers);
}
