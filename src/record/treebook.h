/* treebook.h — what the nodes of the tree mean (stacktree.h): defines those that a session uses as stacks,
   with a stackbook. One thread at a time. */
#ifndef KYMO_TREEBOOK_H
#define KYMO_TREEBOOK_H

#include "stackbook.h"

struct kymo_treebook {
    struct kymo_stackbook *book;
    struct kymo_book_branch *branches; /* by number of the node in the tree */
    size_t count, capacity;            /* nodes before count are defined */
    kymo_stack *waiting;               /* stacks whose nodes are not */
    size_t waiting_count, waiting_capacity;
    kymo_stack *path; /* scratch */
    size_t path_capacity;
    uint64_t given_up; /* stacks that there was no memory to keep waiting */
};

void kymo__treebook_init(struct kymo_treebook *tree, struct kymo_stackbook *book);
void kymo__treebook_fini(struct kymo_treebook *tree);

/* Define what is new. At the END, functions without a name are recorded as unknown. */
void kymo__treebook_add(struct kymo_treebook *tree, bool end);

/* Are there stacks that wait for the names of their functions? */
bool kymo__treebook_waits(const struct kymo_treebook *tree);

#endif
