/* heap_report.h — the result of `kymograph report --memory` on one capture. */
#ifndef KYMO_CLI_HEAP_REPORT_H
#define KYMO_CLI_HEAP_REPORT_H

#include <kymo/heap.h>

#include "heapgroups.h"
#include "report.h"

struct cli_heap_report {
    const char *path;
    struct kymo_capture *capture;
    struct kymo_info file;
    struct kymo_heap *heap;
    struct kymo_heap_info info;
    struct kymo_stack_names names;
    unsigned held;      /* the set to show first: KYMO_HEAP_AT_PEAK, _AT_END or _AT_TIME */
    kymo_ns at;         /* of --at, since the start of the capture */
    kymo_ns older_than; /* of --older-than; 0: none */
    uint64_t limit;
    double threshold;
    const char *filter; /* or NULL */
    bool unfold, tree;
    bool cut_off; /* only the live set was to be recorded, and the process ended before that */
};

/* Options of `kymograph report` as text, or NULL. */
struct cli_heap_wish {
    const char *at, *older_than, *limit, *filter;
    double threshold;
    bool json, tree, unfold, check;
};

/* Show the memory of the capture at PATH. Returns an exit code. */
int kymo__cli_report_memory(const char *path, const struct cli_heap_wish *wish);

/* heap_text.c, heap_tables.c, heap_objects.c, heap_json.c: print it. */
void kymo__cli_heap_text(const struct cli_heap_report *report);
void kymo__cli_heap_tables(const struct cli_heap_report *report);
void kymo__cli_heap_objects(const struct cli_heap_report *report);
void kymo__cli_heap_json(const struct cli_heap_report *report);

/* Say that REST more rows are not shown, if there are any. */
void kymo__cli_heap_more(size_t rest);

/* Does the capture say what is in SET? */
bool kymo__cli_heap_knows(const struct cli_heap_report *report, unsigned set);

/* "requested", "requested and mapped": the kind of the bytes in SET. */
const char *kymo__cli_heap_kind(const struct cli_heap_report *report, unsigned set);

/* Print the reasons why what was recorded is not everything, one on each line of stderr. Returns
   how many there are. */
int kymo__cli_heap_gaps(const struct cli_heap_report *report);

#endif
