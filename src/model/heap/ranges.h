/* ranges.h — mapped address ranges: mapping one over others replaces them, unmapping may leave
   pieces.

   A sorted array: a process has thousands of mappings at most (the kernel's limit is 65530), and
   they change rarely. */
#ifndef KYMO_RANGES_H
#define KYMO_RANGES_H

#include <stddef.h>
#include <stdint.h>

struct kymo_mapped_range {
    uint64_t from, to;
    uint64_t born;
    uint32_t site, thread;
    uint32_t mapping; /* position in `pieces` of the mapping it is part of */
};

struct kymo_mapped_ranges {
    struct kymo_mapped_range *all; /* by address; disjoint */
    size_t count, capacity;
    uint32_t *pieces; /* by mapping: how many ranges are left of it */
    size_t mapping_count, mapping_capacity;
    uint32_t *spare; /* mappings of no pieces, to be used again */
    size_t spare_count, spare_capacity;
};

/* Called for each part that goes; WHOLE: nothing is left of its mapping. */
typedef int (*kymo_range_gone)(void *arg, const struct kymo_mapped_range *part, int whole);

/* Remove the addresses from FROM up to TO. Returns 0, -ENOMEM, or what GONE returned, if
   negative. */
int kymo__ranges_cut(struct kymo_mapped_ranges *ranges, uint64_t from, uint64_t to,
                     kymo_range_gone gone, void *arg);

/* Add RANGE, which is not empty and overlaps none. Returns 0 or -ENOMEM. */
int kymo__ranges_add(struct kymo_mapped_ranges *ranges, const struct kymo_mapped_range *range);

/* The first range that ends after ADDRESS, as a position; `count` if there is none. */
size_t kymo__ranges_find(const struct kymo_mapped_ranges *ranges, uint64_t address);
void kymo__ranges_fini(struct kymo_mapped_ranges *ranges);

#endif
