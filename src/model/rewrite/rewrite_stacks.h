/* rewrite_stacks.h — copy stacks into another capture as samples need them. Ids are assigned anew,
   so that those of several captures do not clash, and sample periods are made equal. */
#ifndef KYMO_REWRITE_STACKS_H
#define KYMO_REWRITE_STACKS_H

#include "capture.h"

struct kymo_writer;

/* Ids assigned so far in the result. */
struct kymo_stack_ids {
    uint32_t modules, frames, nodes, stacks;
    kymo_ns period; /* sample period in the result; 0 if no part says */
};

/* State for copying one part. */
struct kymo_stack_copy {
    const struct kymo_reader *reader;
    struct kymo_writer *writer;
    struct kymo_stack_ids *ids;
    uint32_t *module_of, *frame_of, *node_of; /* by position: id in the result, 0 if none yet */
    uint32_t *stack_of;                       /* by node: id of the stack that ends there */
    uint32_t *path;                           /* nodes on the way to one with an id */
    uint64_t scale;                           /* periods of the result in one period of the part */
    /* Translate one of the part's keys, and one of its strings, to the result. */
    uint32_t (*key)(void *arg, uint32_t key);
    uint32_t (*string)(void *arg, uint32_t string);
    void *arg;
};

/* The period of CAPTURE's samples; 0 if it does not say. */
kymo_ns kymo__sample_period(const struct kymo_capture *capture);

/* Set up; capture, writer, ids, key, string and arg in COPY are already set. Returns 0 or -ENOMEM;
   call fini in either case. */
int kymo__stack_copy_init(struct kymo_stack_copy *copy, const struct kymo_capture *capture);
void kymo__stack_copy_fini(struct kymo_stack_copy *copy);

/* Translate a sample's VALUE to the result, defining its stack there. */
uint64_t kymo__stack_copy_sample(struct kymo_stack_copy *copy, uint64_t value);

#endif
