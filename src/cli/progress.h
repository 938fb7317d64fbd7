/* progress.h — a line on a terminal's stderr that says how far a long reading is. */
#ifndef KYMO_CLI_PROGRESS_H
#define KYMO_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct cli_progress {
    const char *doing; /* "reading" */
    int64_t begun;     /* when, in nanoseconds */
    bool shown;
};

struct cli_progress kymo__cli_progress_begin(const char *doing);

/* DONE of ALL. Shown when it has taken a second already. */
void kymo__cli_progress_show(struct cli_progress *progress, uint64_t done, uint64_t all);

/* Wipe the line, if there is one, before anything else is said. */
void kymo__cli_progress_end(struct cli_progress *progress);

#endif
