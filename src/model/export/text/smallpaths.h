/* smallpaths.h — which call paths are too small to be written.

   A format that writes every path in full repeats the callers of each: a program that imports a
   large package has a hundred thousand paths of a hundred calls, hundreds of megabytes, most of
   them for less than a microsecond. The smallest paths are summed up for their callers, so that
   the file stays within a limit and its times still add up. */
#ifndef KYMO_SMALLPATHS_H
#define KYMO_SMALLPATHS_H

#include "gather.h"

#define KYMO__SMALL_NAME "(small calls)"

struct kymo_small_paths {
    const struct kymo_node *nodes; /* the survey's */
    size_t count;
    kymo_ns *below; /* by node: the self times of small paths that it called; NULL: none is small */
};

/* If the paths of the survey, which is by thread, need more than ENTRIES lines or, when that is 0,
   too many bytes, move the self time of the smallest to `below` of their callers. CELLS gives the
   bytes that a callable needs. Returns 0 or -ENOMEM; call fini in either case. */
int kymo__small_paths(struct kymo_small_paths *small, struct kymo_survey *survey, uint64_t entries,
                      size_t (*cells)(const struct kymo_callable *callable));
void kymo__small_paths_fini(struct kymo_small_paths *small);

/* The self times of the small paths below NODE, as kymo_path has it. */
kymo_ns kymo__small_below(const struct kymo_small_paths *small, const struct kymo_node *node);

#endif
