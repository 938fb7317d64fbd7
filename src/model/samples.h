/* samples.h — where threads were found by sampling, in the form of a survey of calls.

   Equal stacks are taken together, frames get their names, and those of the interpreter's own
   that say nothing are left out, so that reports, graphs and comparisons that can show calls
   can show samples too. The two are never added up. In the survey that comes out:

   - callables are the functions found, native ones with the file of their source, or of their
     code when that is not known;
   - times are periods times the length of one: what sampling estimates;
   - calls of a function or a node are samples with it anywhere on the stack, primitive calls
     of a function those in it itself; slices of a thread are its samples, busy their time;
   - there is nothing that samples do not tell: resumes, lengths of single calls, counters. */
#ifndef KYMO_SAMPLES_H
#define KYMO_SAMPLES_H

#include "stacknames.h"
#include "survey.h"
#include "tally.h"

struct kymo_samples_options {
    struct kymo_tally_options tally;
    size_t nodes;   /* of the tree at most */
    bool by_thread; /* as in a survey */
    int native;     /* enum kymo_native_shown */
};

struct kymo_samples {
    struct kymo_tallies tallies;
    struct kymo_stack_names names; /* lends the texts */
    struct kymo_survey *survey;
    uint32_t *callable_of; /* by named frame; two more: KYMO__SHOWN_NATIVE, KYMO__SHOWN_DEEPER */
    size_t named;          /* how many named frames there are */
    uint32_t *path_of;     /* by node of the reader's where samples were found: of the survey's
                              tree, unless that is by thread */
    /* The rest is the file's own. */
    int native;                   /* enum kymo_native_shown */
    struct kymo_strtab functions; /* callables by what they are */
    bool *managed_outside;        /* by node: a frame of Python called it, directly or not */
    uint8_t *role;                /* by frame: enum kymo_frame_role */
};

/* Read the samples of CAPTURE. Returns 0 with SAMPLES to be freed, or a negative code. */
int kymo__samples(struct kymo_capture *capture, const struct kymo_samples_options *options,
                  struct kymo_samples **samples);
void kymo__samples_free(struct kymo_samples *samples);

/* The same for an export that goes through stacks itself: what OPTIONS choose, with a tree of at
   most NODES, the root among them. */
int kymo__samples_chosen(struct kymo_capture *capture, const struct kymo_export_options *options,
                         size_t nodes, struct kymo_samples **samples);

/* Is the frame of NODE one of Python? */
static inline bool kymo__samples_managed(const struct kymo_samples *samples, uint32_t node)
{
    const struct kymo_reader_stacks *stacks = &samples->names.capture->reader->stacks;
    return stacks->frames[stacks->nodes[node].frame].kind == KYMO_FRAME_MANAGED;
}

/* Is it shown? BETWEEN: the stack goes on to a frame of Python, or is at one. */
bool kymo__samples_shows(const struct kymo_samples *samples, uint32_t node, bool between);

/* Stacks deeper than this are given without what is further out. */
enum { KYMO__SHOWN_MOST = 1024 };

/* A function of a stack that is shown. */
struct kymo_shown {
    uint32_t named; /* position in names.named; at and behind samples->named one that stands for
                       what is not shown: of a stack without anything else, or too deep */
    uint32_t frame; /* of the reader's */
};

/* The functions to show of the stack that ends in NODE, innermost first, into SHOWN, which has
   room for KYMO__SHOWN_MOST + 1. Returns how many, at least one. */
size_t kymo__samples_shown(const struct kymo_samples *samples, uint32_t node,
                           struct kymo_shown *shown);

/* What named frame NAMED, as above, is called. */
const struct kymo_callable *kymo__samples_callable(const struct kymo_samples *samples,
                                                   uint32_t named);

#endif
