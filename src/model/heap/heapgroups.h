/* heapgroups.h — memory by line, by function and by library.

   A stack counts for one of its frames: the innermost line of the program itself, so that what a
   library allocates for the program is found at the call into it; if there is none, or everything
   is wanted, the innermost line. By library, the innermost frame counts that is neither the
   interpreter's nor libc's. */
#ifndef KYMO_HEAPGROUPS_H
#define KYMO_HEAPGROUPS_H

#include "heapview.h"
#include "origin.h"
#include "stacknames.h"
#include "tally.h"

enum kymo_heap_by { KYMO__BY_LINE, KYMO__BY_FUNCTION, KYMO__BY_LIBRARY };

struct kymo_heap_group {
    const char *name;        /* of the function or library; lent by the groups */
    const char *file;        /* "" by library */
    uint32_t line;           /* by line: that line; by function: its first; 0 if unknown */
    enum kymo_origin origin; /* of the frame */
    struct kymo_heap_amount amount[KYMO_HEAP_SETS];
};

struct kymo_heap_groups {
    struct kymo_heap_group *all;
    size_t count, capacity;
    struct kymo_strtab keys, texts;
};

/* Sum up HEAP by BY, with the names in NAMES. UNFOLD: the innermost line always counts. Returns 0
   or -ENOMEM; call fini in either case. */
int kymo__heap_groups(struct kymo_heap_groups *groups, const struct kymo_heap *heap,
                      const struct kymo_stack_names *names, enum kymo_heap_by by, bool unfold);
void kymo__heap_groups_fini(struct kymo_heap_groups *groups);

/* The line that STACK counts for by line, with its function and file; empty texts if there is none.
   They are lent by NAMES. */
struct kymo_callable kymo__heap_line(const struct kymo_stack_names *names, uint32_t stack,
                                     bool unfold);

/* The groups that have some of SET, the largest first. The caller frees *ORDER, *COUNT positions,
   with kymo__free. Returns 0 or -ENOMEM. */
int kymo__heap_groups_order(const struct kymo_heap_groups *groups, unsigned set, uint32_t **order,
                            size_t *count);

/* SET as tallies: for trees and graphs made for samples. A sample is a block, a period a byte.
   Returns 0 or -ENOMEM. */
int kymo__heap_tallies(const struct kymo_heap *heap, unsigned set, struct kymo_tallies *tallies);

#endif
