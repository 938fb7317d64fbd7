/* pairs.h — ids for pairs of words: a hash table from two 64-bit words to a non-zero 32-bit id.
   One thread at a time. */
#ifndef KYMO_PAIRS_H
#define KYMO_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "map.h"

struct kymo_pairs {
    struct kymo_pair {
        uint64_t a, b;
        uint32_t id;
    } * all;
    size_t count, capacity;
    struct kymo_map by_hash; /* positions in all, plus 1 */
};

/* The id of A and B, or 0. */
uint32_t kymo__pairs_find(const struct kymo_pairs *pairs, uint64_t a, uint64_t b);

/* Make room for one more, so that the next add cannot fail. 0 or -ENOMEM. */
int kymo__pairs_reserve(struct kymo_pairs *pairs);

/* Add A and B, which are not in the table, as ID; after a reserve. */
void kymo__pairs_add(struct kymo_pairs *pairs, uint64_t a, uint64_t b, uint32_t id);
void kymo__pairs_fini(struct kymo_pairs *pairs);

#endif
