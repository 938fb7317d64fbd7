/* comparison.h — what `kymograph diff` found out about two captures, and its three forms. */
#ifndef KYMO_CLI_COMPARISON_H
#define KYMO_CLI_COMPARISON_H

#include "diff.h"
#include "samples.h"

enum cli_change_sort {
    CLI_CHANGE_SELF,
    CLI_CHANGE_TOTAL,
    CLI_CHANGE_CALLS,
    CLI_CHANGE_MEAN,
    CLI_CHANGE_RATIO,
    CLI_CHANGE_NAME,
};

struct cli_comparison {
    const char *path[2];
    struct kymo_capture *capture[2];
    struct kymo_info info[2];
    struct kymo_survey *survey[2];
    struct kymo_samples *samples[2]; /* whose surveys these are; NULL: they are of calls */
    bool of_samples;                 /* calls are samples */
    struct kymo_diff diff;
    enum cli_change_sort sort;
    uint64_t limit; /* of functions to show */
    kymo_ns least;  /* a change of self time smaller than this is not shown */

    uint32_t *functions; /* of the diff, those to show, sorted */
    size_t function_count;
    uint32_t *paths; /* nodes, those with a change to show, the greatest first */
    size_t path_count;
    uint64_t slower, faster, fresh, gone, same; /* functions, by change of self time */
};

/* Choose and sort. */
void kymo__cli_compare_arrange(struct cli_comparison *comparison);
void kymo__cli_compare_free(struct cli_comparison *comparison);

/* What became of FUNCTION, in one word: new, gone, slower, faster, same. */
const char *kymo__cli_compare_word(const struct kymo_diff_function *function);

/* The functions that together make up most of the change of the whole, those of greatest
   part first, at most MOST of them; returns how many. *SHARE is their part of it. None when
   the whole changed so little that single changes cancel out. */
size_t kymo__cli_compare_explain(const struct cli_comparison *comparison, uint32_t *functions,
                                 size_t most, double *share);

void kymo__cli_compare_text(const struct cli_comparison *comparison);
void kymo__cli_compare_json(const struct cli_comparison *comparison);

/* Write a page of HTML to OUTPUT. An exit code, after a complaint when it is not CLI_OK. The
   order of the tree's nodes is another afterwards. */
int kymo__cli_compare_page(struct cli_comparison *comparison, const char *output);

#endif
