/* verb_report.c — kymograph report FILE: where the time went. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_file.h"
#include "choice.h"
#include "memory.h"
#include "message.h"
#include "progress.h"
#include "report.h"
#include "units.h"
#include "verb.h"

enum {
    OPTION_JSON,
    OPTION_SORT,
    OPTION_LIMIT,
    OPTION_THREAD,
    OPTION_FROM,
    OPTION_TO,
    OPTION_UNTIL,
    OPTION_FILTER,
    OPTION_TREE,
    OPTION_THRESHOLD,
    OPTION_CALLERS,
    OPTION_NATIVE,
};

enum { LIMIT = 15, NODES = 1 << 20 };

static const char *const sorts[] = {
    [CLI_BY_SELF] = "self", [CLI_BY_TOTAL] = "total", [CLI_BY_CALLS] = "calls",
    [CLI_BY_MEAN] = "mean", [CLI_BY_P99] = "p99",     [CLI_BY_NAME] = "name",
};

static bool read_threshold(const char *text, double *share)
{
    *share = 0.01;
    if (!text)
        return true;
    char *end;
    double percent = strtod(text, &end);
    bool number = end != text && (*end == '\0' || strcmp(end, "%") == 0);
    if (number && percent >= 0 && percent <= 100) {
        *share = percent / 100;
        return true;
    }
    kymo__cli_complain("--threshold %s is not a share; write --threshold 0.5%%", text);
    return false;
}

static int progress(void *arg, uint64_t done, uint64_t all)
{
    kymo__cli_progress_show(arg, done, all);
    return 0;
}

static int survey(struct cli_report *report, int native)
{
    struct cli_progress line = kymo__cli_progress_begin("reading");
    const struct kymo_survey_options options = {
        .from = report->part.from > 0 ? kymo__cli_moment(report->info.start, report->part.from)
                                      : INT64_MIN,
        .to = kymo__cli_moment(report->info.start, report->part.to),
        .chosen = report->threads.chosen,
        .nodes = NODES,
        .progress = progress,
        .progress_arg = &line,
    };
    const struct kymo_samples_options sampled = {
        .tally = {.from = options.from,
                  .to = options.to,
                  .chosen = options.chosen,
                  .progress = progress,
                  .progress_arg = &line},
        .nodes = NODES,
        .native = native,
    };
    int error = kymo__survey(report->capture, &options, &report->survey);
    if (error == 0)
        error = kymo__cli_report_sample(report, &sampled);
    kymo__cli_progress_end(&line);
    return error < 0 ? kymo__cli_capture_broken(report->path, error) : CLI_OK;
}

/* Say it when the answer is empty for a reason the user can change. */
static int explain(const struct cli_report *report)
{
    const struct cli_report *what =
        kymo__cli_report_only_samples(report) ? report->sampled : report;
    if (what->survey->counts.slices == 0)
        kymo__cli_complain("%s: no %s there; the capture has %s and lasts %s", report->path,
                           report->samples ? "calls, spans or samples" : "calls or spans",
                           kymo__cli_count(report->info.records, "record", "records").text,
                           kymo__cli_duration(report->info.end - report->info.start).text);
    else if (report->filter && what->function_count == 0)
        kymo__cli_complain("%s: --filter %s fits no function", report->path, report->filter);
    if (report->callers) {
        struct cli_caller *callers;
        size_t count = kymo__cli_report_callers(report, &callers);
        kymo__cli_free(callers);
        if (count == 0 && report->sampled) {
            count = kymo__cli_report_callers(report->sampled, &callers);
            kymo__cli_free(callers);
        }
        if (count == 0)
            kymo__cli_complain("%s: --callers %s fits no function", report->path, report->callers);
    }
    return CLI_OK;
}

static int show(struct cli_report *report, bool as_json, int native)
{
    int code = survey(report, native);
    if (code != CLI_OK)
        return code;
    kymo__cli_report_arrange(report);
    if (as_json)
        kymo__cli_report_json(report);
    else
        kymo__cli_report_text(report);
    code = explain(report);
    kymo__cli_report_free(report);
    return code;
}

static int run(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    struct cli_report report = {
        .path = arguments->words[0],
        .filter = arguments->value[OPTION_FILTER],
        .callers = arguments->value[OPTION_CALLERS],
        .tree = arguments->value[OPTION_TREE] != NULL,
        .sorted = arguments->value[OPTION_SORT] != NULL,
        /* A program that reads all of it chooses for itself. */
        .limit = arguments->value[OPTION_JSON] ? UINT64_MAX : LIMIT,
    };
    unsigned sort = CLI_BY_SELF, native = KYMO_NATIVE_BRIEF;
    if (!kymo__cli_choose_native(arguments->value[OPTION_NATIVE], &native) ||
        !kymo__cli_choose("--sort", arguments->value[OPTION_SORT], sorts,
                          sizeof sorts / sizeof *sorts, &sort) ||
        !kymo__cli_choose_limit(arguments->value[OPTION_LIMIT], &report.limit) ||
        !read_threshold(arguments->value[OPTION_THRESHOLD], &report.threshold) ||
        !kymo__cli_part_read_either(arguments->value[OPTION_FROM], arguments->value[OPTION_TO],
                                    arguments->value[OPTION_UNTIL], &report.part))
        return CLI_BAD;
    report.sort = (enum cli_sort)sort;
    int code = kymo__cli_capture_open(report.path, &report.capture, &report.info);
    if (code != CLI_OK)
        return code;
    code = kymo__cli_threads_choose(report.capture, report.path, arguments->value[OPTION_THREAD],
                                    &report.threads);
    if (code == CLI_OK) {
        code = show(&report, arguments->value[OPTION_JSON] != NULL, (int)native);
        kymo__cli_threads_free(&report.threads);
    }
    kymo_close(report.capture);
    return code;
}

static const struct cli_option options[] = {
    [OPTION_JSON] = {"json", 'j', NULL, "one JSON object with everything, all functions in it"},
    [OPTION_SORT] = {"sort", 's', "KEY",
                     "order of the functions: self, total, calls, mean, p99, name"},
    [OPTION_LIMIT] = {"limit", 'n', "N", "at most N functions; 15 without it"},
    [OPTION_THREAD] = {"thread", 't', "THREAD",
                       "only this thread: its index as in 'kymograph info', tid:N, or its name"},
    [OPTION_FROM] = {"from", 0, "TIME", "from this time after the start: 1.5s, 200ms, 30us, 10ns"},
    [OPTION_TO] = {"to", 0, "TIME", "up to, and without, this time"},
    [OPTION_UNTIL] = {"until", 0, "TIME", "the same as --to"},
    [OPTION_FILTER] = {"filter", 'f', "PATTERN",
                       "only functions with this in their name or file; with * ? [ all of it"},
    [OPTION_TREE] = {"tree", 0, NULL, "the call tree instead of the tables"},
    [OPTION_THRESHOLD] = {"threshold", 0, "PERCENT",
                          "leave branches below this share out of the tree; 1% without it"},
    [OPTION_CALLERS] = {"callers", 0, "FUNCTION",
                        "who called this function, and what it cost them"},
    [OPTION_NATIVE] = {"native", 0, "WHICH",
                       "native frames of samples: brief, without the interpreter's own; all; none"},
    {0},
};

static const struct cli_example examples[] = {
    {"kymograph report trace.kymo", "where the time went"},
    {"kymograph report --sort total -n 40 trace.kymo",
     "forty functions by their time with callees"},
    {"kymograph report --tree --threshold 5% trace.kymo", "the main branches of the call tree"},
    {"kymograph report --callers json.loads trace.kymo", "who spends time on it"},
    {"kymograph report --from 10s --to 12s -t worker trace.kymo",
     "two seconds of the threads called worker"},
    {"kymograph report --native all trace.kymo",
     "samples with every frame of C, the interpreter's too"},
    {"kymograph report -j trace.kymo | jq '.functions[0].name'", "one figure for a script"},
    {0},
};

static const struct cli_example next[] = {
    {"kymograph export --to chrome trace.kymo",
     "the same calls on a timeline, for Perfetto and others"},
    {"kymograph dump trace.kymo", "the records themselves"},
    {0},
};

const struct cli_verb kymo__cli_verb_report = {
    .name = "report",
    .purpose = "where the time of a recorded program went",
    .operands = "FILE",
    .least = 1,
    .most = 1,
    .operand = CLI_FILES,
    .details =
        "Self time is what a function spent itself, total time includes the functions it called; "
        "a function that calls itself counts once. CALLS are calls; MEAN and P99 are of single "
        "activations, which for generators and coroutines are the parts between a resume and a "
        "yield. The share in column % is of the time in calls on all threads.\n\n"
        "With --from and --to the report is what a recording of that part alone would say: calls "
        "open at either end are cut there.\n\n"
        "Samples have a section of their own: how often a function was found running (SELF), or "
        "on the stack (TOTAL), times the length of a period. They are estimates and are never "
        "added to the times of calls; --tree, --callers, --filter, --sort and the part of time "
        "hold for them too.",
    .options = options,
    .examples = examples,
    .next = next,
    .run = run,
};
