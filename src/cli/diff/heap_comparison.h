/* heap_comparison.h — kymograph diff --memory: what grew and shrank between two captures. */
#ifndef KYMO_CLI_HEAP_COMPARISON_H
#define KYMO_CLI_HEAP_COMPARISON_H

#include <stdbool.h>
#include <stdint.h>

/* Compare the memory of the two captures at PATHS; show at most LIMIT places in each table.
   UNFOLD: memory counts for the innermost line. Returns an exit code. */
int kymo__cli_compare_memory(const char *const *paths, uint64_t limit, bool json, bool unfold);

#endif
