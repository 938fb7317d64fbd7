/* report_waits.c — the section on waiting, which is never counted as work. */
#include <stdio.h>

#include "memory.h"
#include "report.h"
#include "report_words.h"
#include "table.h"
#include "units.h"

void kymo__cli_print_waits(const struct cli_report *report)
{
    enum { ROWS = 10, HARDLY = 1000 };
    static const struct cli_column columns[] = {
        {"WAITED", true, CLI_KEEP},
        {"%", true, CLI_DROP(2)},
        {"CALLS", true, CLI_DROP(1)},
        {"FUNCTION", false, CLI_CUT_LEFT},
        {"CALLED BY", false, CLI_CUT_LEFT},
        {"WHERE", false, CLI_CUT_LEFT},
        {0},
    };
    const struct kymo_fold *fold = report->fold;
    const struct kymo_callable *all = fold->shown.callables.all;
    /* A thousandth of the work is not worth a table: every import takes a lock. */
    if (fold->waiting <= fold->work / HARDLY || report->filter)
        return;
    kymo__cli_heading("Waiting");
    struct cli_table *table = kymo__cli_table_new(columns);
    uint64_t most = report->limit < ROWS ? report->limit : ROWS;
    for (size_t i = 0; i < fold->wait_count && i < most; i++) {
        const struct kymo_fold_wait *wait = &fold->waits[i];
        struct cli_text time = kymo__cli_duration(wait->time);
        struct cli_text share = kymo__cli_percent(wait->time, fold->waiting);
        struct cli_text calls = kymo__cli_grouped(wait->calls);
        char *place = wait->root ? kymo__cli_format("-") : kymo__cli_where(&all[wait->from]);
        const char *const cells[] = {time.text,
                                     share.text,
                                     calls.text,
                                     all[wait->callable].name,
                                     wait->root ? "(none: outermost)" : all[wait->from].name,
                                     place};
        kymo__cli_table_add(table, cells);
        kymo__cli_free(place);
    }
    kymo__cli_table_print(table, CLI_INDENT);
    kymo__cli_left_out(fold->wait_count, most);
    kymo__cli_table_free(table);
}
