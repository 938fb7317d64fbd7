/* report_check.c — `kymograph report --check`: is everything there that the program did? */
#include <kymo/exports.h>

#include "capture_file.h"
#include "exits.h"
#include "message.h"
#include "operators.h"
#include "report.h"
#include "units.h"

/* Operators whose inputs or outputs are not all there. */
struct cut {
    uint64_t count;
    const char *first; /* the name of one */
};

static int on_end(void *arg, struct kymo_opcall *op)
{
    struct cut *cut = arg;
    if ((op->inputs.cut || op->outputs.cut) && !cut->count++)
        cut->first = op->name;
    return 0;
}

int kymo__cli_report_check(const struct cli_report *report)
{
    struct kymo_info info = {.size = sizeof info};
    struct cut cut = {0};
    const struct kymo_ops_visitor visitor = {.arg = &cut, .end = on_end};
    const struct kymo_export_options options = {
        .size = sizeof options,
        .from = INT64_MIN,
        .to = INT64_MAX,
        .thread = -1,
    };
    int error = kymo__operators_read(report->capture, &options, &visitor);
    if (error < 0)
        return kymo__cli_capture_broken(report->path, error);
    kymo_capture_info(report->capture, &info); /* damage is found while reading */
    if (info.lost_records)
        kymo__cli_complain("%s: incomplete: %s lost", report->path,
                           kymo__cli_count(info.lost_records, "record was", "records were").text);
    if (info.damaged_blocks)
        kymo__cli_complain("%s: incomplete: %s damaged", report->path,
                           kymo__cli_count(info.damaged_blocks, "block is", "blocks are").text);
    if (cut.count)
        kymo__cli_complain("%s: incomplete: %s without all inputs and outputs, the first is %s",
                           report->path, kymo__cli_count(cut.count, "operator", "operators").text,
                           cut.first);
    return info.lost_records || info.damaged_blocks || cut.count ? CLI_NO : CLI_OK;
}
