/* report.h — the result of `kymograph report` on one capture, printed as text or JSON. */
#ifndef KYMO_CLI_REPORT_H
#define KYMO_CLI_REPORT_H

#include "fold.h"
#include "owncost.h"
#include "samples.h"
#include "thread_choice.h"
#include "time_part.h"
#include "unrecorded.h"

enum cli_sort { CLI_BY_SELF, CLI_BY_TOTAL, CLI_BY_CALLS, CLI_BY_MEAN, CLI_BY_P99, CLI_BY_NAME };

struct cli_report {
    const char *path;
    struct kymo_capture *capture;
    struct kymo_info info;
    struct cli_threads threads;
    struct cli_part part;
    struct kymo_survey *survey;
    enum cli_sort sort;
    bool sorted;         /* --sort was given: show this order only */
    uint64_t limit;      /* functions to show at most */
    const char *filter;  /* or NULL */
    const char *callers; /* pattern of --callers, or NULL */
    bool tree;
    double threshold; /* branches of the tree below this share are hidden */

    bool unfold; /* show every function, also in libraries */

    struct kymo_fold *fold;          /* text output: work and waiting separated */
    const struct kymo_survey *shown; /* source of tables and trees: the fold's survey, or all of
                                        `survey` for JSON */
    kymo_ns whole;                   /* 100 % for shares: the work, or `inside` for JSON */
    kymo_ns inside;                  /* time in calls, summed over threads */
    uint32_t *functions;             /* called functions that pass the filter, sorted */
    size_t function_count;
    struct cli_row {
        kymo_ns mean, p50, p99;
    } * rows; /* by callable; NULL unless they are sorted by */

    bool corrected;   /* tracing cost was subtracted; times are estimates */
    kymo_ns recorded; /* time in calls as recorded, tracing cost included */
    struct kymo_own_cost own_cost;
    struct kymo_unrecorded unrecorded; /* empty unless there are both samples and calls */

    bool of_samples;              /* the survey counts samples, not calls */
    bool of_memory;               /* the same, of blocks: times are bytes */
    struct kymo_samples *samples; /* NULL when the capture has none */
    struct cli_report *sampled;   /* the same report on the samples, or NULL */
};

/* Read and sort the samples, if any. Freed with the report. Returns 0 or a negative code. */
int kymo__cli_report_sample(struct cli_report *report, const struct kymo_samples_options *options,
                            bool for_programs);
void kymo__cli_report_sample_free(struct cli_report *report);

/* report_check.c: say what is missing in the whole capture, whatever part the report is about. Returns
   CLI_OK, CLI_NO if something is missing, or another exit status. */
int kymo__cli_report_check(const struct cli_report *report);

/* report_cost.c: estimate what tracing added to the figures, and subtract it with --corrected;
   PART is the time window of the survey. Freed with the report. Returns 0 or a negative code. */
int kymo__cli_report_cost(struct cli_report *report, const struct kymo_tally_options *part,
                          bool for_programs);
void kymo__cli_report_cost_free(struct cli_report *report);

/* Is so much of the time in unrecorded calls that samples should come first? */
bool kymo__cli_report_trusts_samples(const struct cli_report *report);

/* Does the report have only samples? */
static inline bool kymo__cli_report_only_samples(const struct cli_report *report)
{
    return report->samples && report->survey->counts.slices == 0;
}

/* Set `shown`: everything if FOR_PROGRAMS, otherwise folded. Returns 0 or -ENOMEM. */
int kymo__cli_report_look(struct cli_report *report, bool for_programs);

/* Choose and sort the functions. */
void kymo__cli_report_arrange(struct cli_report *report);
void kymo__cli_report_free(struct cli_report *report);

/* How long calls of CALLABLE took. */
struct cli_row kymo__cli_report_row(const struct cli_report *report, uint32_t callable);

/* Does PATTERN match CALLABLE? Matches part of the name or file, or with * ? [ all of it. */
bool kymo__cli_report_fits(const char *pattern, const struct kymo_callable *callable);

/* Find the nodes of the call tree with the most self time, at most MOST of them; return how
   many. */
size_t kymo__cli_report_hottest(const struct cli_report *report, uint32_t *nodes, size_t most);

/* The callers of the functions that match report->callers. */
struct cli_caller {
    uint32_t callable, caller; /* caller is 0 if root: no caller */
    bool root;
    uint64_t calls, resumes;
    kymo_ns self, total;
};
size_t kymo__cli_report_callers(const struct cli_report *report, struct cli_caller **callers);

/* The functions sorted by SORT; free the result. */
uint32_t *kymo__cli_report_by(const struct cli_report *report, enum cli_sort sort);

/* The sections of the text. */
void kymo__cli_print_summary(const struct cli_report *report);
void kymo__cli_print_functions(const struct cli_report *report);
void kymo__cli_print_waits(const struct cli_report *report);
void kymo__cli_print_paths(const struct cli_report *report);
void kymo__cli_print_tree(const struct cli_report *report);
void kymo__cli_print_callers(const struct cli_report *report);
void kymo__cli_print_threads(const struct cli_report *report);
void kymo__cli_print_gc(const struct cli_report *report);
void kymo__cli_print_counters(const struct cli_report *report);
void kymo__cli_print_asyncs(const struct cli_report *report);
void kymo__cli_print_awaits(const struct cli_report *report);
void kymo__cli_print_blocked(const struct cli_report *report);
void kymo__cli_print_gaps(const struct cli_report *report);
void kymo__cli_print_lines(const struct cli_report *report);
void kymo__cli_print_samples(const struct cli_report *report);
void kymo__cli_print_cost(const struct cli_report *report);
void kymo__cli_print_unrecorded(const struct cli_report *report);

struct kymo_jsonout;
void kymo__cli_write_asyncs(struct kymo_jsonout *json, const struct cli_report *report);
void kymo__cli_write_blocked(struct kymo_jsonout *json, const struct cli_report *report);
void kymo__cli_write_gaps(struct kymo_jsonout *json, const struct cli_report *report);
void kymo__cli_write_callable(struct kymo_jsonout *json, const struct kymo_callable *callable);
void kymo__cli_write_callers(struct kymo_jsonout *json, const struct cli_report *report);
void kymo__cli_write_samples(struct kymo_jsonout *json, const struct cli_report *report);
void kymo__cli_write_cost(struct kymo_jsonout *json, const struct cli_report *report);
void kymo__cli_write_function_cost(struct kymo_jsonout *json, const struct cli_report *report,
                                   uint32_t callable);

void kymo__cli_report_text(const struct cli_report *report);
void kymo__cli_report_json(const struct cli_report *report);

#endif
