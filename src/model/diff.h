/* diff.h — two surveys side by side: what the same functions and call paths cost in each.

   Functions of two captures are the same when name, kind and file are; the line does not
   count, as every edit of a file moves what stands below it. Files are compared in three
   steps, and whoever found a partner in one is out of the next: the whole path; the path
   inside its package, or its last two parts; the last part alone. So a program that was
   moved or installed elsewhere, or runs on another Python, still matches. Where one file
   has several functions of one name, as many as in the other capture, they are paired in
   the order of their lines; if it has not, those on equal lines first. */
#ifndef KYMO_DIFF_H
#define KYMO_DIFF_H

#include "survey.h"

struct kymo_diff_cost {
    uint64_t calls, resumes;
    kymo_ns self, total;
    kymo_ns mean; /* of an activation */
};

/* A function of either capture or of both. */
struct kymo_diff_function {
    bool in[2];              /* was it called there? */
    struct kymo_callable as; /* as the second capture has it, or else the first */
    struct kymo_diff_cost cost[2];
};

/* What a call path cost: cost[0] and cost[1] of the node. Paths of the two are the same
   when all functions on them are. */
struct kymo_diff {
    struct kymo_diff_function *functions; /* numbered; the nodes of `tree` name them */
    struct kymo_callable *callables;      /* the same functions, by the same numbers */
    size_t count;
    struct kymo_tree tree;             /* of both; its figures are not used */
    struct kymo_diff_cost (*paths)[2]; /* by node */
    kymo_ns self[2];                   /* of all functions */
    uint64_t calls[2];
};

/* Compare. The surveys must outlive the result, which lends their names. 0 or -ENOMEM. */
int kymo__diff_init(struct kymo_diff *diff, const struct kymo_survey *before,
                    const struct kymo_survey *after);
void kymo__diff_fini(struct kymo_diff *diff);

/* How much more the second took, as far as a number goes. */
static inline kymo_ns kymo__diff_change(const struct kymo_diff_cost *cost)
{
    return cost[1].self - cost[0].self;
}

#endif
