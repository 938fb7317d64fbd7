/* ranks.h — `kymograph report DIRECTORY`: the captures of many processes, such as the ranks of
   a training job, side by side. One capture is read at a time on each core, and of each only the
   figures below are kept. */
#ifndef KYMO_CLI_RANKS_H
#define KYMO_CLI_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "hosts.h"

/* A process that is compared with the others. Its texts are its own. */
struct cli_rank {
    char *path, *name, *host;
    int64_t rank, pid;     /* rank: -1 if unknown */
    kymo_ns start, lasted; /* start: on its own clock, then after the earliest start of all */
    struct kymo_evidence evidence; /* of its clock */
    struct kymo_relation relation; /* to the clock of the first rank */
    uint64_t calls;
    uint64_t steps; /* calls of what is a step; 0 if there are none */
    kymo_ns step_total, step_most;
    kymo_ns figure; /* what ranks are compared by: the mean step, or how long it lasted */
    bool straggles;
};

struct cli_ranks {
    const char *folder, *step; /* step: name of the function or span, NULL for "ProfilerStep#N" */
    struct cli_rank *all;      /* by rank, then by path */
    size_t count, unreadable;
    bool by_step;            /* all of them have steps */
    struct kymo_order order; /* of their clocks */
    kymo_ns median;          /* of their figures */
    size_t slowest, typical; /* the one with the greatest figure, and one in the middle */
};

/* A function in the slowest process and in a typical one. */
struct cli_rank_change {
    const char *name, *file;
    uint32_t line;
    kymo_ns typical, slowest; /* its own time */
    uint64_t typical_calls, slowest_calls;
};

/* Show the captures in FOLDER. LIMIT: functions to list. Returns an exit code. */
int kymo__cli_report_ranks(const char *folder, const char *step, uint64_t limit, bool as_json);

/* ranks_print.c */
void kymo__cli_ranks_text(const struct cli_ranks *ranks, const struct cli_rank_change *changes,
                          size_t count, uint64_t limit);
void kymo__cli_ranks_json(const struct cli_ranks *ranks, const struct cli_rank_change *changes,
                          size_t count);

#endif
