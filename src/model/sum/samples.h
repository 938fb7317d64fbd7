/* samples.h — samples in the form of a survey of calls.

   Equal stacks are merged, frames are named, and uninformative interpreter frames are left out, so
   that reports, graphs and comparisons made for calls can show samples too. The two are never added
   up. In the resulting survey:

   - callables are the functions found; native ones have their source file, or their code file if
     that is unknown;
   - times are periods times the length of one: an estimate;
   - calls of a function or node are samples with it anywhere on the stack, and primitive calls of a
     function are samples directly in it; a thread's slices are its samples, busy is their time;
   - figures that samples cannot provide are empty: resumes, durations of single calls, counters. */
#ifndef KYMO_SAMPLES_H
#define KYMO_SAMPLES_H

#include "stacknames.h"
#include "survey.h"
#include "tally.h"

struct kymo_samples_options {
    struct kymo_tally_options tally;
    size_t nodes;   /* most nodes in the tree */
    bool by_thread; /* as in a survey */
    int native;     /* enum kymo_native_shown */
    /* Samples of the same capture, whose names are used: finding names takes long. They must outlive
       what is made. NULL: find them. */
    const struct kymo_samples *like;
};

struct kymo_samples {
    struct kymo_tallies tallies;
    struct kymo_stack_names names; /* owns the texts, unless lent */
    bool names_lent;
    struct kymo_survey *survey;
    uint32_t *callable_of; /* by named frame; plus two: KYMO__SHOWN_NATIVE, KYMO__SHOWN_DEEPER */
    size_t named;          /* number of named frames */
    uint32_t *path_of;     /* by reader node where samples ended: node of the survey's tree, unless
                              that is by thread */
    /* The rest is private to samples.c. */
    int native;                   /* enum kymo_native_shown */
    struct kymo_strtab functions; /* callables by identity */
    bool *managed_outside;        /* by node: called by a Python frame, directly or not */
    uint8_t *role;                /* by frame: enum kymo_frame_role */
};

/* Read the samples of CAPTURE. Returns 0 or a negative code. The caller frees *SAMPLES. */
int kymo__samples(struct kymo_capture *capture, const struct kymo_samples_options *options,
                  struct kymo_samples **samples);
void kymo__samples_free(struct kymo_samples *samples);

/* The same for TALLIES, sorted, which were counted before or are sums of something else by stack:
   then "samples" and "time" are whatever they count. TALLIES is taken over, also on failure. Of the
   options' tally nothing matters but the time window. */
int kymo__samples_of(struct kymo_capture *capture, const struct kymo_samples_options *options,
                     struct kymo_tallies *tallies, struct kymo_samples **samples);

/* The same for an export that walks stacks itself: what OPTIONS select, with a tree of at most
   NODES nodes including the root. */
int kymo__samples_chosen(struct kymo_capture *capture, const struct kymo_export_options *options,
                         size_t nodes, struct kymo_samples **samples);

/* In `role`, in addition to enum kymo_frame_role: collects garbage; always shown. */
enum { KYMO__ROLE_COLLECTOR = 16 };

/* Is function NAMED of FRAME, which is shown, hidden after all? If native frames are not requested,
   only the collection itself is shown of a collector. */
static inline bool kymo__samples_skips(const struct kymo_samples *samples, uint32_t frame,
                                       size_t named)
{
    return samples->native == KYMO_NATIVE_NONE && samples->role[frame] == KYMO__ROLE_COLLECTOR &&
           !kymo__stack_collects(&samples->names, &samples->names.named[named]);
}

/* Is NODE's frame a Python frame? */
static inline bool kymo__samples_managed(const struct kymo_samples *samples, uint32_t node)
{
    const struct kymo_reader_stacks *stacks = &samples->names.capture->reader->stacks;
    return stacks->frames[stacks->nodes[node].frame].kind == KYMO_FRAME_MANAGED;
}

/* Is it shown? BETWEEN: the stack continues to a Python frame, or is at one. */
bool kymo__samples_shows(const struct kymo_samples *samples, uint32_t node, bool between);

/* Deeper stacks are cut at the outer end. */
enum { KYMO__SHOWN_MOST = 1024 };

/* A shown function of a stack. */
struct kymo_shown {
    uint32_t named; /* position in names.named; from samples->named on, a placeholder for hidden
                       frames: a stack with nothing else, or too deep */
    uint32_t frame; /* frame of the reader */
};

/* Store the functions to show for the stack that ends in NODE in SHOWN, innermost first; it needs
   room for KYMO__SHOWN_MOST + 1. Returns how many, at least one. */
size_t kymo__samples_shown(const struct kymo_samples *samples, uint32_t node,
                           struct kymo_shown *shown);

/* The callable of named frame NAMED, as above. */
const struct kymo_callable *kymo__samples_callable(const struct kymo_samples *samples,
                                                   uint32_t named);

#endif
