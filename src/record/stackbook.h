/* stackbook.h — what the stacks in records stand for: the definitions MODULE, FRAME, NODE and
   STACK of defs.h, each written once, with what stacks have in common shared.

   Every stack given is a hold on it. Of those defined one hold each is kept to the end, so
   that its id means nothing else meanwhile. One thread at a time. */
#ifndef KYMO_STACKBOOK_H
#define KYMO_STACKBOOK_H

#include <kymo/stack.h>
#include <stdbool.h>

#include "names.h"
#include "pairs.h"

struct kymo_stackbook {
    struct kymo_names *names;
    char *root;              /* see kymo_options.sample_root; or NULL */
    struct kymo_pairs roots; /* frames of functions in that file */
    struct kymo_pairs modules, frames, nodes, functions, stacks;
    struct kymo_pairs numbers; /* the interpreter's numbers to frames */
    uint32_t last_frame, last_node;
    kymo_stack *waiting; /* those whose functions have no name yet, or found no room */
    size_t waiting_count, waiting_capacity;
    struct kymo_frame *scratch;
    size_t scratch_capacity;
    uint64_t given_up; /* stacks that could not even wait */
};

/* ROOT is copied, and may be NULL. 0 or -ENOMEM; fini either way. */
int kymo__stackbook_init(struct kymo_stackbook *book, struct kymo_names *names, const char *root);

/* Give every hold back. */
void kymo__stackbook_fini(struct kymo_stackbook *book);

/* Define STACK if it is not yet; takes the caller's hold. */
void kymo__stackbook_add(struct kymo_stackbook *book, kymo_stack stack);

/* Try again with those that wait. At the END those without a name are called so. */
void kymo__stackbook_retry(struct kymo_stackbook *book, bool end);

#endif
