/* report_text.c — what `kymograph report` says to people: the answer first, then where it
   comes from. The sections are in report_*.c. */
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
    if (calls) {
        kymo__cli_print_functions(report);
        kymo__cli_print_paths(report);
    }
    kymo__cli_print_samples(report);
    kymo__cli_print_gc(report);
    kymo__cli_print_asyncs(report);
    kymo__cli_print_counters(report);
    if (calls)
        kymo__cli_print_threads(report);
    kymo__cli_print_gaps(report);
}
