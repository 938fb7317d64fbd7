/* heapties.h — events of several threads at the same time: which came first?

   A counter may be slower than the program: two threads can allocate, free and allocate an address again
   in one of its ticks. What must have happened decides then: a block is freed while it is alive, and
   allocated where none is. */
#ifndef KYMO_HEAPTIES_H
#define KYMO_HEAPTIES_H

#include "heapmerge.h"

enum { KYMO__TIES_MOST = 16 }; /* lanes */

/* The one of COUNT lanes, at most KYMO__TIES_MOST, whose next events have the same time, that comes
   first in an order in which everything can have happened; if there is none, the usual one. MERGE says
   what is alive. */
struct kymo_merge_lane *kymo__ties_first(const struct kymo_merge *merge,
                                         struct kymo_merge_lane **lanes, size_t count);

/* The usual order of lanes at the same time: frees first, then by thread. */
bool kymo__ties_usual(const struct kymo_merge_lane *a, const struct kymo_merge_lane *b);

#endif
