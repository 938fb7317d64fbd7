/* heapdiff.h — the memory of two captures side by side.

   Places are the same if their names match, by line their line numbers, and their files as
   nearfile.h compares them: checkouts and installations may be in different folders. */
#ifndef KYMO_HEAPDIFF_H
#define KYMO_HEAPDIFF_H

#include "heapgroups.h"

struct kymo_heap_change {
    const struct kymo_heap_group *group;               /* of the second capture if it is there */
    struct kymo_heap_amount amount[2][KYMO_HEAP_SETS]; /* before and after */
};

struct kymo_heap_diff {
    struct kymo_heap_change *all;
    size_t count, capacity;
    struct kymo_strtab keys;
};

/* Compare the groups of two captures, which must outlive DIFF. Returns 0 or -ENOMEM; call fini in
   either case. */
int kymo__heap_diff(struct kymo_heap_diff *diff, const struct kymo_heap_groups *before,
                    const struct kymo_heap_groups *after);
void kymo__heap_diff_fini(struct kymo_heap_diff *diff);

/* Sort by the change of SET: growth first, the greatest first; what shrank most is last. */
void kymo__heap_diff_sort(struct kymo_heap_diff *diff, unsigned set);

#endif
