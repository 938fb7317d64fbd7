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
    int native;     /* enum kymo_native */
};

struct kymo_samples {
    struct kymo_tallies tallies;
    struct kymo_stack_names names; /* lends the texts */
    struct kymo_strtab functions;  /* callables by what they are */
    struct kymo_survey *survey;
};

/* Read the samples of CAPTURE. Returns 0 with SAMPLES to be freed, or a negative code. */
int kymo__samples(struct kymo_capture *capture, const struct kymo_samples_options *options,
                  struct kymo_samples **samples);
void kymo__samples_free(struct kymo_samples *samples);

#endif
