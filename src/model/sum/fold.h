/* fold.h — a survey in the form people want to see first: work separate from waiting, and the
   program's own functions in front.

   Library functions called by the program stay, with everything below them merged; if the library
   calls back into the program, that is shown below them. All imports become one function, IMPORTS.
   Functions that wait never count as work: their time is kept with the function that waited. What the
   script itself calls is shown even if the script was installed. If the survey has no code of the
   program's own, only imports are folded. */
#ifndef KYMO_FOLD_H
#define KYMO_FOLD_H

#include "origin.h"
#include "survey.h"

#define KYMO__IMPORTS "(imports)"

/* How long one function, shown as the caller, waited in another. */
struct kymo_fold_wait {
    uint32_t callable;
    uint32_t from; /* the caller; 0, the root, for none */
    bool root;
    uint64_t calls;
    kymo_ns time;
};

struct kymo_fold {
    /* Owns its callables, tree and self, and those functions' costs that differ from the survey's;
       the rest, or all if nothing is folded, is borrowed from the survey. Times are work only. Functions without calls here have no time left of their own. */
    struct kymo_survey shown;
    bool folded;                  /* something was folded */
    kymo_ns work, waiting;        /* totals */
    kymo_ns *node_waited;         /* by node of the tree, including what is below it */
    kymo_ns *waited;              /* the same by callable */
    struct kymo_fold_wait *waits; /* longest first */
    size_t wait_count;
    uint8_t *origin;                  /* by callable: enum kymo_origin, as it was folded */
    bool only_imports;                /* nothing is the program's own: only imports are folded */
    bool unfold;                      /* nothing is folded */
    bool plain;                       /* private to fold.c: everything is borrowed */
    struct kymo_function_cost *costs; /* those that differ from the survey's; private to fold.c */
};

/* Fold SURVEY, whose tree is not by thread and which must outlive the result. UNFOLD: show every
   function. Returns 0 or -ENOMEM. The caller frees *FOLD. */
int kymo__fold(const struct kymo_survey *survey, bool unfold, struct kymo_fold **fold);
void kymo__fold_free(struct kymo_fold *fold);

#endif
