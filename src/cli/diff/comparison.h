/* comparison.h — the result of `kymograph diff`, printed as text, JSON or HTML. */
#ifndef KYMO_CLI_COMPARISON_H
#define KYMO_CLI_COMPARISON_H

#include "diff.h"
#include "fold.h"
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
    struct kymo_samples *samples[2]; /* the samples behind the surveys; NULL when comparing calls */
    bool of_samples;                 /* the counts are samples, not calls */
    struct kymo_fold *fold[2];       /* the surveys as shown; NULL: every function is shown */
    struct kymo_diff diff;           /* of what is shown */
    struct kymo_diff unfolded;       /* of every function, if that is not the same */
    const struct kymo_diff *all;     /* the diff that has every function */
    enum cli_change_sort sort;
    bool apart;     /* count waiting apart from work (text output) */
    uint64_t limit; /* functions to show at most */
    kymo_ns least;  /* hide changes of self time smaller than this */

    uint32_t *functions; /* functions of the diff to show, sorted */
    size_t function_count;
    uint32_t *paths; /* nodes whose change is shown, largest first */
    size_t path_count;
    kymo_ns work[2], waited[2];                 /* summed over functions that work, and that wait */
    double least_ratio, most_ratio;             /* ratios of self times between these are noise */
    uint64_t slower, faster, fresh, gone, same; /* functions, by change of self time */
};

/* Compare the surveys; FOLDED: with the program's own functions first, as `kymograph report` shows
   them. Returns 0 or -ENOMEM. Call kymo__cli_compare_free either way. */
int kymo__cli_compare_surveys(struct cli_comparison *comparison, bool folded);

/* Choose and sort. */
void kymo__cli_compare_arrange(struct cli_comparison *comparison);
void kymo__cli_compare_free(struct cli_comparison *comparison);

/* Is the change from BEFORE to AFTER within the noise between two runs of one program? */
bool kymo__cli_compare_noise(const struct cli_comparison *comparison, kymo_ns before,
                             kymo_ns after);

/* Is the change of the whole within the noise? Not if one function alone made it, and changed far
   more than the others. */
bool kymo__cli_compare_all_noise(const struct cli_comparison *comparison);

/* How FUNCTION changed, in one word: new, gone, slower, faster, same. */
const char *kymo__cli_compare_word(const struct kymo_diff_function *function);

/* The waiting function whose time changed most, or NULL. */
const struct kymo_diff_function *kymo__cli_compare_waits(const struct cli_comparison *comparison);

/* Find the functions that account for most of the overall change, largest share first, at most
   MOST of them; return how many. *SHARE is their combined share. Returns 0 when the overall change
   is so small that single changes cancel out. */
size_t kymo__cli_compare_explain(const struct cli_comparison *comparison, uint32_t *functions,
                                 size_t most, double *share);

void kymo__cli_compare_text(const struct cli_comparison *comparison);
void kymo__cli_compare_json(const struct cli_comparison *comparison);

/* Write an HTML page to OUTPUT. Returns an exit code, and prints a message unless it is CLI_OK.
   Reorders the nodes of the trees. */
int kymo__cli_compare_page(struct cli_comparison *comparison, const char *output);

#endif
