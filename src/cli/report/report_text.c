/* report_text.c — the text output of `kymograph report`: the summary first, then the details. The
   sections are in report_*.c. */
#include "report.h"

void kymo__cli_report_text(const struct cli_report *report)
{
    bool calls = !kymo__cli_report_only_samples(report); /* or nothing at all */
    kymo__cli_print_summary(report);
    if (report->callers || report->tree) {
        if (calls)
            (report->callers ? kymo__cli_print_callers : kymo__cli_print_tree)(report);
        kymo__cli_print_samples(report);
        return;
    }
    bool samples_first = kymo__cli_report_trusts_samples(report);
    if (samples_first)
        kymo__cli_print_samples(report);
    if (calls) {
        kymo__cli_print_functions(report);
        kymo__cli_print_unrecorded(report);
        kymo__cli_print_waits(report);
        kymo__cli_print_paths(report);
    }
    if (!samples_first)
        kymo__cli_print_samples(report);
    kymo__cli_print_gc(report);
    kymo__cli_print_asyncs(report);
    kymo__cli_print_awaits(report);
    kymo__cli_print_blocked(report);
    kymo__cli_print_counters(report);
    if (calls)
        kymo__cli_print_threads(report);
    kymo__cli_print_gaps(report);
}
