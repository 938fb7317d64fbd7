/* rewrite_stacks.h — stacks of a capture, copied into another as samples need them: ids are given
   anew, so that those of several captures do not meet, and periods get one length. */
#ifndef KYMO_REWRITE_STACKS_H
#define KYMO_REWRITE_STACKS_H

#include "capture.h"

struct kymo_writer;

/* Ids given so far, in the result. */
struct kymo_stack_ids {
    uint32_t modules, frames, nodes, stacks;
    kymo_ns period; /* of samples in the result; 0: no part says */
};

/* One part while it is copied. */
struct kymo_stack_copy {
    const struct kymo_reader *reader;
    struct kymo_writer *writer;
    struct kymo_stack_ids *ids;
    uint32_t *module_of, *frame_of, *node_of; /* by position: id in the result, 0 not yet */
    uint32_t *stack_of;                       /* by node: id of the stack that ends there */
    uint32_t *path;                           /* nodes on the way to one that has an id */
    uint64_t scale;                           /* periods of the result in one of the part's */
    /* The id in the result of one of the part's keys, and of one of its strings. */
    uint32_t (*key)(void *arg, uint32_t key);
    uint32_t (*string)(void *arg, uint32_t string);
    void *arg;
};

/* The period of CAPTURE's samples; 0: it does not say. */
kymo_ns kymo__sample_period(const struct kymo_capture *capture);

/* Set up, with capture, writer, ids, key, string and arg in COPY. 0 or -ENOMEM; fini in any case. */
int kymo__stack_copy_init(struct kymo_stack_copy *copy, const struct kymo_capture *capture);
void kymo__stack_copy_fini(struct kymo_stack_copy *copy);

/* The value of a sample as the result has it, for VALUE; its stack is then defined there. */
uint64_t kymo__stack_copy_sample(struct kymo_stack_copy *copy, uint64_t value);

#endif
