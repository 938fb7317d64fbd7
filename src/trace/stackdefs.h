/* stackdefs.h — a reader's view of stacks: modules, frames, nodes, and which stack ends where.

   What a definition refers to comes before it: a node whose caller was not defined yet was
   called from the unknown node, and a node of a frame that was not has the unknown frame. So
   callers always stand before what they call, and no file can make a stack that goes round. */
#ifndef KYMO_STACKDEFS_H
#define KYMO_STACKDEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kymo_reader;
struct kymo_def;

enum { KYMO__FRAME_UNKNOWN = 0, KYMO__NODE_NONE = 0, KYMO__NODE_UNKNOWN = 1 };

/* Deeper stacks than any recorder writes are cut: what is further out is unknown. */
enum { KYMO__STACK_DEEPEST = 1 << 15 };

struct kymo_reader_module {
    uint64_t base, low, high; /* in the recorded process */
    uint32_t path, build_id;  /* string ids, 0 none */
};

struct kymo_reader_frame {
    uint64_t address; /* native: where it returns to, in its module's terms if it has one */
    uint32_t module;  /* native: position in `modules` + 1; 0: in none */
    uint32_t key, line;
    uint8_t kind; /* enum kymo_frame_kind */
};

struct kymo_reader_node {
    uint32_t parent; /* position, before its own; 0: it is the outermost */
    uint32_t frame;  /* position */
    uint32_t depth;  /* of the stack that ends here */
};

/* Ids of a file to positions. */
struct kymo_id_map {
    struct kymo_id_slot {
        uint32_t id, at; /* at 0: free */
    } * slots;
    size_t count, slot_count; /* a power of two */
};

struct kymo_reader_stacks {
    struct kymo_reader_module *modules;
    size_t module_count, module_capacity;
    struct kymo_reader_frame *frames; /* the first is the unknown one */
    size_t frame_count, frame_capacity;
    struct kymo_reader_node *nodes; /* the first is none, the second the unknown one */
    size_t node_count, node_capacity;
    struct kymo_reader_stack {
        uint32_t id, node;
    } * stacks; /* in the order of their definitions */
    size_t stack_count, stack_capacity;
    struct kymo_id_map module_of, frame_of, node_of, stack_of;
};

/* Make the unknown frame and the two first nodes, which are there in any case. 0 or -ENOMEM. */
int kymo__stackdefs_init(struct kymo_reader_stacks *stacks);

/* Apply DEF, of a type that is about stacks. 0, -ENOMEM, or -KYMO_EBLOCK: it makes no sense. */
int kymo__stackdefs_apply(struct kymo_reader_stacks *stacks, const struct kymo_def *def);
void kymo__stackdefs_fini(struct kymo_reader_stacks *stacks);

/* The node in which stack ID ends: KYMO__NODE_UNKNOWN when the file does not say. */
uint32_t kymo__stackdefs_find(const struct kymo_reader_stacks *stacks, uint32_t id);

#endif
