/* diff.h — compare two surveys: what the same functions and call paths cost in each.

   Functions of two captures are the same if name, kind and file are equal. The line does not count,
   because every edit moves the code below it. Files are compared in three steps, and a function
   that found a partner in one step is left out of the next: the whole path; the path inside its
   package, or its last two parts; the last part alone. So a program that was moved, installed
   elsewhere or run on another Python still matches. If a file has several functions of one name,
   and equally many in both captures, they are paired in line order; otherwise those on equal lines
   are paired first. */
#ifndef KYMO_DIFF_H
#define KYMO_DIFF_H

#include "survey.h"

struct kymo_diff_cost {
    uint64_t calls, resumes;
    kymo_ns self, total;
    kymo_ns mean; /* kymo__mean */
};

/* A function of one capture or of both. */
struct kymo_diff_function {
    bool in[2];              /* was it called there? */
    struct kymo_callable as; /* as in the second capture, or else the first */
    struct kymo_diff_cost cost[2];
};

/* The cost of a call path: cost[0] and cost[1] of the node. Two paths are the same if all functions
   on them are. */
struct kymo_diff {
    struct kymo_diff_function *functions; /* by number; the nodes of `tree` refer to them */
    struct kymo_callable *callables;      /* the same functions, by the same numbers */
    size_t count;
    struct kymo_tree tree;             /* of both captures; its figures are not used */
    struct kymo_diff_cost (*paths)[2]; /* by node */
    kymo_ns self[2];                   /* sum over all functions */
    uint64_t calls[2];
};

/* Compare. The surveys must outlive the result, which borrows their names. Returns 0 or -ENOMEM. */
int kymo__diff_init(struct kymo_diff *diff, const struct kymo_survey *before,
                    const struct kymo_survey *after);
void kymo__diff_fini(struct kymo_diff *diff);

/* How much more the second took, saturating. */
static inline kymo_ns kymo__diff_change(const struct kymo_diff_cost *cost)
{
    return cost[1].self - cost[0].self;
}

#endif
