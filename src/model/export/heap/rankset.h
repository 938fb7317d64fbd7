/* rankset.h — a set of small numbers that finds the next lower and the next higher member quickly:
   a bit for each number, and above every 64 bits one that says whether any of them is set. */
#ifndef KYMO_RANKSET_H
#define KYMO_RANKSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KYMO__RANK_LEVELS = 6 };

struct kymo_rankset {
    uint64_t *levels[KYMO__RANK_LEVELS]; /* the numbers themselves are in the first */
    unsigned count;
    uint64_t *words; /* of all levels */
};

/* An empty set of numbers below MOST. Returns 0 or -ENOMEM; call fini in either case. */
int kymo__rankset_init(struct kymo_rankset *set, size_t most);
void kymo__rankset_fini(struct kymo_rankset *set);

void kymo__rankset_add(struct kymo_rankset *set, size_t number);
void kymo__rankset_remove(struct kymo_rankset *set, size_t number);

/* The greatest member that is NUMBER or less, or the least that is NUMBER or more; SIZE_MAX if there
   is none. */
size_t kymo__rankset_below(const struct kymo_rankset *set, size_t number);
size_t kymo__rankset_above(const struct kymo_rankset *set, size_t number);

#endif
