/* stackbook.h — what the stacks in records mean: the definitions MODULE, FRAME, NODE and STACK of
   defs.h. Each is written once, and stacks share their common part.

   Every stack passed in comes with a hold on it. One hold on each defined stack is kept to the
   end, so that its id is not reused. One thread at a time. */
#ifndef KYMO_STACKBOOK_H
#define KYMO_STACKBOOK_H

#include <kymo/stack.h>
#include <stdbool.h>

#include "names.h"
#include "nodechain.h"
#include "nodetable.h"
#include "pairs.h"

/* What was found last at some distance from the outermost frame. Stacks defined one after the other
   have most of their outer frames in common. */
enum { KYMO__BOOK_RECENT = 64 };
struct kymo_book_recent {
    uint64_t number; /* of the interpreter, and its frame; 0: none */
    uint32_t frame;
    uint32_t parent, of, node; /* node of the frame `of` below `parent`; 0: none */
};

struct kymo_stackbook {
    struct kymo_names *names;
    struct kymo_book_recent recent[KYMO__BOOK_RECENT];
    char *root;              /* see kymo_options.sample_root; or NULL */
    struct kymo_pairs roots; /* frames of functions in that file */
    struct kymo_pairs modules, frames, functions, stacks;
    struct kymo_nodetable nodes;
    struct kymo_nodechain chain;
    struct kymo_map numbers; /* the interpreter's numbers to frames */
    uint32_t last_frame;
    kymo_stack *waiting; /* stacks whose functions have no name yet, or that found no room */
    size_t waiting_count, waiting_capacity;
    struct kymo_frame *scratch;
    size_t scratch_capacity;
    uint64_t given_up; /* stacks that there was no memory to keep waiting */
};

/* ROOT is copied, and may be NULL. 0 or -ENOMEM; call fini either way. */
int kymo__stackbook_init(struct kymo_stackbook *book, struct kymo_names *names, const char *root);

/* Release every hold. */
void kymo__stackbook_fini(struct kymo_stackbook *book);

/* Define STACK if needed; takes over the caller's hold. False when there is no memory even to
   try again later: then the hold is released. */
bool kymo__stackbook_add(struct kymo_stackbook *book, kymo_stack stack);

/* For treebook.h, which defines stacks frame by frame. Each returns an id, or a negative errno when
   it must be tried again: */

/* of FRAME, which is at DISTANCE from the outermost one; -EAGAIN when it has no name yet, unless this
   is the END; */
int64_t kymo__book_frame(struct kymo_stackbook *book, const struct kymo_frame *frame,
                         int64_t distance, bool end);

/* of the node of FRAME called from the node PARENT, or 0. */
int64_t kymo__book_node(struct kymo_stackbook *book, uint32_t parent, uint32_t frame);

/* Define STACK, whose innermost frame is that of NODE and which is not defined yet. The book does not
   remember it. 0 or negative errno. */
int kymo__book_stack(struct kymo_stackbook *book, kymo_stack stack, uint32_t node);

/* How a frame relates to the root. OURS: it is the profiler's and never shown. */
enum kymo_book_kin { KYMO__BOOK_OTHER, KYMO__BOOK_BESIDE, KYMO__BOOK_ROOT, KYMO__BOOK_OURS };
enum kymo_book_kin kymo__book_kin(const struct kymo_stackbook *book, uint32_t frame);

/* Try the waiting stacks again. At the END, functions without a name are recorded as unknown. */
void kymo__stackbook_retry(struct kymo_stackbook *book, bool end);

#endif
