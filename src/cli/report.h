/* report.h — what `kymograph report` found out about one capture, and its two forms. */
#ifndef KYMO_CLI_REPORT_H
#define KYMO_CLI_REPORT_H

#include "samples.h"
#include "thread_choice.h"
#include "time_part.h"

enum cli_sort { CLI_BY_SELF, CLI_BY_TOTAL, CLI_BY_CALLS, CLI_BY_MEAN, CLI_BY_P99, CLI_BY_NAME };

struct cli_report {
    const char *path;
    struct kymo_capture *capture;
    struct kymo_info info;
    struct cli_threads threads;
    struct cli_part part;
    struct kymo_survey *survey;
    enum cli_sort sort;
    bool sorted;         /* by a wish of the user's: then in this order only */
    uint64_t limit;      /* of functions to show */
    const char *filter;  /* or NULL */
    const char *callers; /* of which function; or NULL */
    bool tree;
    double threshold; /* share of the whole below which the tree is folded */

    kymo_ns inside;      /* time in calls, all threads together */
    uint32_t *functions; /* callables that were called and pass the filter, sorted */
    size_t function_count;
    struct cli_row {
        kymo_ns mean, p50, p99;
    } * rows; /* by callable */

    bool of_samples;              /* the survey is of samples: calls are samples */
    struct kymo_samples *samples; /* those of the capture; NULL: it has none */
    struct cli_report *sampled;   /* the same report about them, or NULL */
};

/* Read the samples, if there are any; free with the report. 0 or a negative code. */
int kymo__cli_report_sample(struct cli_report *report, const struct kymo_samples_options *options);
void kymo__cli_report_sample_free(struct cli_report *report);

/* Are samples all that the report has? */
static inline bool kymo__cli_report_only_samples(const struct cli_report *report)
{
    return report->samples && report->survey->counts.slices == 0;
}

/* Choose and sort the functions. */
void kymo__cli_report_arrange(struct cli_report *report);
void kymo__cli_report_free(struct cli_report *report);

/* Does PATTERN fit CALLABLE: a part of its name or file, or with * ? [ a whole one. */
bool kymo__cli_report_fits(const char *pattern, const struct kymo_callable *callable);

/* The nodes of the call tree with the most self time, at most MOST of them; returns how
   many. */
size_t kymo__cli_report_hottest(const struct cli_report *report, uint32_t *nodes, size_t most);

/* Who called the functions that fit report->callers. */
struct cli_caller {
    uint32_t callable, caller; /* caller 0 with root: nobody */
    bool root;
    uint64_t calls, resumes;
    kymo_ns self, total;
};
size_t kymo__cli_report_callers(const struct cli_report *report, struct cli_caller **callers);

/* What class of callable: a word for programs and one for people. */
const char *kymo__cli_class_word(uint32_t class);

/* The functions in the order of SORT, to be freed. */
uint32_t *kymo__cli_report_by(const struct cli_report *report, enum cli_sort sort);

/* The sections of the text. */
void kymo__cli_print_summary(const struct cli_report *report);
void kymo__cli_print_functions(const struct cli_report *report);
void kymo__cli_print_paths(const struct cli_report *report);
void kymo__cli_print_tree(const struct cli_report *report);
void kymo__cli_print_callers(const struct cli_report *report);
void kymo__cli_print_threads(const struct cli_report *report);
void kymo__cli_print_gc(const struct cli_report *report);
void kymo__cli_print_counters(const struct cli_report *report);
void kymo__cli_print_asyncs(const struct cli_report *report);
void kymo__cli_print_gaps(const struct cli_report *report);
void kymo__cli_print_samples(const struct cli_report *report);

struct cli_json;
void kymo__cli_write_asyncs(struct cli_json *json, const struct cli_report *report);
void kymo__cli_write_gaps(struct cli_json *json, const struct cli_report *report);
void kymo__cli_write_callable(struct cli_json *json, const struct kymo_callable *callable);
void kymo__cli_write_callers(struct cli_json *json, const struct cli_report *report);
void kymo__cli_write_samples(struct cli_json *json, const struct cli_report *report);

void kymo__cli_report_text(const struct cli_report *report);
void kymo__cli_report_json(const struct cli_report *report);

#endif
