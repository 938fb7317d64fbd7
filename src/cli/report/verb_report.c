/* verb_report.c — kymograph report FILE: where the time went. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capture_file.h"
#include "choice.h"
#include "heap_report.h"
#include "memory.h"
#include "message.h"
#include "progress.h"
#include "ranks.h"
#include "report.h"
#include "units.h"
#include "verb.h"

enum {
    OPTION_JSON,
    OPTION_SORT,
    OPTION_LIMIT,
    OPTION_THREAD,
    OPTION_PROCESS,
    OPTION_FROM,
    OPTION_TO,
    OPTION_UNTIL,
    OPTION_FILTER,
    OPTION_TREE,
    OPTION_THRESHOLD,
    OPTION_CALLERS,
    OPTION_NATIVE,
    OPTION_UNFOLD,
    OPTION_CORRECTED,
    OPTION_MEMORY,
    OPTION_AT,
    OPTION_OLDER_THAN,
    OPTION_CHECK,
    OPTION_STEP,
};

enum { LIMIT = 15, TREE_LIMIT = 50, NODES = 1 << 20 };

static const char *const sorts[] = {
    [CLI_BY_SELF] = "self",
    [CLI_BY_TOTAL] = "total",
    [CLI_BY_CALLS] = "calls",
    [CLI_BY_MEAN] = "mean",
    [CLI_BY_P99] = "p99",
    [CLI_BY_NAME] = "name",
    NULL,
};

static const char *const *values(const struct cli_option *option)
{
    return strcmp(option->name, "sort") == 0 ? sorts : NULL;
}

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

static int survey(struct cli_report *report, bool as_json, int native)
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
        error = kymo__cli_report_sample(report, &sampled, as_json);
    if (error == 0)
        error = kymo__cli_report_cost(report, &sampled.tally, as_json);
    if (error == 0)
        error = kymo__cli_report_look(report, as_json);
    kymo__cli_progress_end(&line);
    return error < 0 ? kymo__cli_capture_broken(report->path, error) : CLI_OK;
}

static bool is_whole(const struct cli_report *report)
{
    bool whole = report->part.from <= 0 && report->part.to == INT64_MAX;
    for (uint32_t i = 0; i < report->threads.count; i++)
        whole &= report->threads.chosen[i];
    return whole;
}

/* Explain an empty report when the user can do something about it. */
static int explain_empty(const struct cli_report *report)
{
    const struct cli_report *what =
        kymo__cli_report_only_samples(report) ? report->sampled : report;
    if (report->info.records == 0)
        kymo__cli_complain("%s has no records; 'kymograph info' says how the recording ended",
                           report->path);
    else if (what->survey->counts.slices == 0 && is_whole(report) &&
             kymo__may_have_heap(report->capture))
        kymo__cli_complain("%s has no calls; 'kymograph report --memory' shows its memory",
                           report->path);
    else if (what->survey->counts.slices == 0)
        kymo__cli_complain("%s: no %s in that part; the capture has %s and lasts %s", report->path,
                           report->samples ? "calls, spans or samples" : "calls or spans",
                           kymo__cli_count(report->info.records, "record", "records").text,
                           kymo__cli_duration(report->info.end - report->info.start).text);
    else if (report->filter && what->function_count == 0)
        kymo__cli_complain("%s: no function matches '%s' (--filter)", report->path, report->filter);
    if (report->callers) {
        struct cli_caller *callers;
        size_t count = kymo__cli_report_callers(report, &callers);
        kymo__cli_free(callers);
        if (count == 0 && report->sampled) {
            count = kymo__cli_report_callers(report->sampled, &callers);
            kymo__cli_free(callers);
        }
        if (count == 0)
            kymo__cli_complain("%s: no function matches '%s' (--callers)", report->path,
                               report->callers);
    }
    return CLI_OK;
}

static int show_report(struct cli_report *report, bool as_json, int native)
{
    int code = survey(report, as_json, native);
    if (code != CLI_OK)
        return code;
    kymo__cli_report_arrange(report);
    if (as_json)
        kymo__cli_report_json(report);
    else
        kymo__cli_report_text(report);
    code = explain_empty(report);
    kymo__cli_report_free(report);
    return code;
}

/* Options that say nothing about memory, or about nothing else. */
static bool options_agree(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    static const int of_time[] = {OPTION_SORT,  OPTION_THREAD,  OPTION_FROM,   OPTION_TO,
                                  OPTION_UNTIL, OPTION_CALLERS, OPTION_NATIVE, OPTION_CORRECTED};
    static const int of_memory[] = {OPTION_AT, OPTION_OLDER_THAN};
    bool memory = arguments->value[OPTION_MEMORY] != NULL;
    const int *wrong = memory ? of_time : of_memory;
    size_t count = memory ? sizeof of_time / sizeof *of_time : sizeof of_memory / sizeof *of_memory;
    for (size_t i = 0; i < count; i++) {
        if (!arguments->value[wrong[i]])
            continue;
        kymo__cli_complain("--%s works only %s --memory", verb->options[wrong[i]].name,
                           memory ? "without" : "with");
        return false;
    }
    return true;
}

/* Only call trees leave something out; JSON of calls has one, too. */
static bool threshold_agrees(const struct cli_arguments *arguments)
{
    bool memory = arguments->value[OPTION_MEMORY] != NULL;
    if (!arguments->value[OPTION_THRESHOLD] || arguments->value[OPTION_TREE] ||
        (arguments->value[OPTION_JSON] && !memory))
        return true;
    kymo__cli_complain("--threshold works only with --tree");
    return false;
}

static int run_memory(const struct cli_arguments *arguments)
{
    struct cli_heap_wish wish = {
        .at = arguments->value[OPTION_AT],
        .older_than = arguments->value[OPTION_OLDER_THAN],
        .limit = arguments->value[OPTION_LIMIT],
        .filter = arguments->value[OPTION_FILTER],
        .json = arguments->value[OPTION_JSON] != NULL,
        .tree = arguments->value[OPTION_TREE] != NULL,
        .unfold = arguments->value[OPTION_UNFOLD] != NULL,
        .check = arguments->value[OPTION_CHECK] != NULL,
    };
    if (!read_threshold(arguments->value[OPTION_THRESHOLD], &wish.threshold))
        return CLI_BAD;
    return kymo__cli_report_memory(arguments->words[0], &wish);
}

/* Is PATH a directory of captures? */
static bool is_directory(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISDIR(file.st_mode);
}

static int run_ranks(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    uint64_t limit = LIMIT;
    for (int i = 0; verb->options[i].name; i++)
        if (arguments->value[i] && i != OPTION_JSON && i != OPTION_LIMIT && i != OPTION_STEP) {
            kymo__cli_complain("--%s works with one capture; %s is a directory",
                               verb->options[i].name, arguments->words[0]);
            return CLI_BAD;
        }
    if (!kymo__cli_choose_limit(arguments->value[OPTION_LIMIT], &limit))
        return CLI_BAD;
    return kymo__cli_report_ranks(arguments->words[0], arguments->value[OPTION_STEP], limit,
                                  arguments->value[OPTION_JSON] != NULL);
}

static int run_report(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    if (is_directory(arguments->words[0]))
        return run_ranks(verb, arguments);
    if (arguments->value[OPTION_STEP]) {
        kymo__cli_complain("--step works only with a directory of captures");
        return CLI_BAD;
    }
    if (!options_agree(verb, arguments) || !threshold_agrees(arguments))
        return CLI_BAD;
    kymo__cli_capture_process(arguments->value[OPTION_PROCESS]);
    if (arguments->value[OPTION_MEMORY])
        return run_memory(arguments);
    struct cli_report report = {
        .path = arguments->words[0],
        .filter = arguments->value[OPTION_FILTER],
        .callers = arguments->value[OPTION_CALLERS],
        .tree = arguments->value[OPTION_TREE] != NULL,
        /* Show native frames when the user asks for them. */
        .unfold = arguments->value[OPTION_UNFOLD] || arguments->value[OPTION_NATIVE],
        .corrected = arguments->value[OPTION_CORRECTED] != NULL,
        .sorted = arguments->value[OPTION_SORT] != NULL,
        /* JSON output has everything; its reader can filter. */
        .limit = arguments->value[OPTION_JSON]   ? UINT64_MAX
                 : arguments->value[OPTION_TREE] ? TREE_LIMIT
                                                 : LIMIT,
    };
    /* Text output: Python frames only. */
    unsigned sort = CLI_BY_SELF,
             native = arguments->value[OPTION_JSON] ? KYMO_NATIVE_BRIEF : KYMO_NATIVE_NONE;
    if (!kymo__cli_choose_native(arguments->value[OPTION_NATIVE], &native) ||
        !kymo__cli_choose("--sort", arguments->value[OPTION_SORT], sorts,
                          sizeof sorts / sizeof *sorts - 1, &sort) ||
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
        code = show_report(&report, arguments->value[OPTION_JSON] != NULL, (int)native);
        if (code == CLI_OK && arguments->value[OPTION_CHECK])
            code = kymo__cli_report_check(&report);
        kymo__cli_threads_free(&report.threads);
    }
    kymo_close(report.capture);
    return code;
}

static const struct cli_option options[] = {
    [OPTION_JSON] = {"json", 'j', NULL, "print everything as one JSON object, with all functions"},
    [OPTION_SORT] = {"sort", 's', "KEY", "sort functions by self, total, calls, mean, p99 or name"},
    [OPTION_LIMIT] =
        {"limit", 'n', "N",
         "show at most N functions, callers or lines of the tree (default: 15, and 50 lines of "
         "the tree)"},
    [OPTION_THREAD] = CLI_THREAD_OPTION,
    [OPTION_PROCESS] = CLI_PROCESS_OPTION,
    [OPTION_FROM] = CLI_FROM_OPTION,
    [OPTION_TO] = {"to", 0, "TIME", "stop before this time"},
    [OPTION_UNTIL] = {"until", 0, "TIME", "the same as --to"},
    [OPTION_FILTER] = {"filter", 'f', "PATTERN",
                       "only functions whose name or file contains this; with * ? [ it must "
                       "match all of it"},
    [OPTION_TREE] = {"tree", 0, NULL, "show the call tree instead of the tables"},
    [OPTION_THRESHOLD] = {"threshold", 0, "PERCENT",
                          "hide branches of the tree below this share (default: 1%)"},
    [OPTION_CALLERS] = {"callers", 0, "FUNCTION",
                        "show who called this function, and what it cost them"},
    [OPTION_NATIVE] = {"native", 0, "brief|all|none",
                       "native frames of samples: none; brief hides the interpreter's own; all "
                       "(default: none, or brief with --json)"},
    [OPTION_UNFOLD] = {"unfold", 'u', NULL,
                       "show every function; by default, time inside the standard library, "
                       "installed packages and imports is counted for the call into them"},
    [OPTION_CORRECTED] = {"corrected", 0, NULL,
                          "subtract the cost of recording from the times; gives estimates"},
    [OPTION_MEMORY] = {"memory", 'm', NULL,
                       "show who held memory, what is still alive and what was allocated, of a "
                       "capture recorded with --memory"},
    [OPTION_AT] = {"at", 0, "peak|end|TIME",
                   "with --memory: what was alive then (default: at the peak)"},
    [OPTION_OLDER_THAN] = {"older-than", 0, "TIME",
                           "with --memory: of what is alive at the end, only blocks this old"},
    [OPTION_CHECK] = {"check", 0, NULL, "exit with 1 and say why if the capture is incomplete"},
    [OPTION_STEP] = {"step", 0, "NAME",
                     "with a directory: the function or span that is one step (default: the steps "
                     "of kymograph.profile)"},
    {0},
};

static const struct cli_example examples[] = {
    {"kymograph report trace.kymo", "where the time went"},
    {"kymograph report --sort total -n 40 trace.kymo", "forty functions by total time"},
    {"kymograph report --tree --threshold 5% trace.kymo", "the main branches of the call tree"},
    {"kymograph report --callers json.loads trace.kymo", "who spends time on it"},
    {"kymograph report --from 10s --to 12s -t worker trace.kymo",
     "two seconds of the threads called worker"},
    {"kymograph report --native all trace.kymo",
     "samples with every C frame, the interpreter's included"},
    {"kymograph report --memory trace.kymo", "peak, leaks and churn, by line"},
    {"kymograph report --memory --tree --at 3.5s trace.kymo",
     "the call paths of what was alive after 3.5 s"},
    {"kymograph report --step train_step runs/7", "which rank is slow, and in what"},
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
    .purpose = "show where a recorded program spent its time or memory",
    .operands = "FILE|DIRECTORY",
    .least = 1,
    .most = 1,
    .operand = CLI_FILES,
    .details =
        "SELF is the time a function itself worked; TOTAL includes the functions it called, and "
        "counts recursive calls once. Neither includes waiting: functions that only wait, such "
        "as lock.acquire, sleep and epoll.poll, have a separate section, and WAITED is the time "
        "a function and its callees spent in them. Percentages are of the work on all threads. "
        "MEAN and P99 are per activation, waiting included; an activation of a generator or "
        "coroutine lasts from a resume to the next yield.\n\n"
        "Time inside the standard library, installed packages and imports is counted for the "
        "call into them, so that the program's own functions come first; --unfold, --filter and "
        "--callers show all functions, and --json always does.\n\n"
        "Recording a call costs time, which these figures include; the summary says how much. "
        "--corrected subtracts it from SELF, TOTAL and MEAN. The time of functions that were "
        "excluded, or switched off to stay within an overhead budget, is counted for their "
        "callers; the samples taken with the calls show how much that is.\n\n"
        "With a directory of captures, such as those of the ranks of a training job, the report "
        "compares them: the time of a step in each, those that are much slower than the median, "
        "and the functions in which the slowest differs most from a typical one.\n\n"
        "With --from and --to the report covers only that part: calls open at either end are cut "
        "there.\n\n"
        "Samples have a separate section: how often a function was running (SELF) or on the "
        "stack (TOTAL), multiplied by the sampling period. They are estimates and are never "
        "added to the times of calls. --tree, --callers, --filter, --sort, --from and --to apply "
        "to them too.\n\n"
        "--memory shows a capture's memory events instead. Bytes of blocks are those requested by "
        "the program, bytes of mappings those mapped; resident memory is shown separately, with "
        "the share of it that the report explains. Memory counts for the innermost line of the "
        "program itself; with --unfold, for the innermost line. Temporary blocks are freed by the "
        "thread that allocated them before it has made ten more allocations.",
    .options = options,
    .values = values,
    .examples = examples,
    .next = next,
    .run = run_report,
};
