/* stackdefs.h — a reader's view of stacks: modules, frames, nodes, and the stacks that end in them.

   Definitions must precede their use: a node whose caller is not defined yet is attached to the
   unknown node, and a node whose frame is not gets the unknown frame. So callers always come before
   callees, and no file can define a cyclic stack. */
#ifndef KYMO_STACKDEFS_H
#define KYMO_STACKDEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map.h"

struct kymo_reader;
struct kymo_def;

enum { KYMO__FRAME_UNKNOWN = 0, KYMO__NODE_NONE = 0, KYMO__NODE_UNKNOWN = 1 };

/* Stacks deeper than any recorder writes are cut: the outer frames are unknown. */
enum { KYMO__STACK_DEEPEST = 1 << 15 };

struct kymo_reader_module {
    uint64_t base, low, high; /* in the recorded process */
    uint32_t path, build_id;  /* string ids, 0 none */
};

struct kymo_reader_frame {
    uint64_t address; /* native: the return address, in its module if it has one */
    uint32_t module;  /* native: position in `modules` + 1; 0: in no module */
    uint32_t key, line;
    uint8_t kind; /* enum kymo_frame_kind */
};

struct kymo_reader_node {
    uint32_t parent; /* position, lower than its own; 0: outermost */
    uint32_t frame;  /* position */
    uint32_t depth;  /* depth of the stack that ends here */
};

/* Maps from a file's ids to positions. */
struct kymo_reader_stacks {
    struct kymo_reader_module *modules;
    size_t module_count, module_capacity;
    struct kymo_reader_frame *frames; /* the first is the unknown frame */
    size_t frame_count, frame_capacity;
    struct kymo_reader_node *nodes; /* the first is "none", the second the unknown node */
    size_t node_count, node_capacity;
    uint64_t further; /* nodes that took no more of a definition than their frame */
    struct kymo_reader_stack {
        uint32_t id, node;
    } * stacks; /* in order of definition */
    size_t stack_count, stack_capacity;
    struct kymo_map module_of, frame_of, node_of, stack_of;
};

/* Create the unknown frame and the two first nodes, which always exist. Returns 0 or -ENOMEM. */
int kymo__stackdefs_init(struct kymo_reader_stacks *stacks);

/* Apply DEF, whose type is about stacks. Returns 0, -ENOMEM, or KYMO_EBLOCK if it is invalid. */
int kymo__stackdefs_apply(struct kymo_reader_stacks *stacks, const struct kymo_def *def);
void kymo__stackdefs_fini(struct kymo_reader_stacks *stacks);

/* The node in which stack ID ends; KYMO__NODE_UNKNOWN if the file does not define it. */
uint32_t kymo__stackdefs_find(const struct kymo_reader_stacks *stacks, uint32_t id);

#endif
