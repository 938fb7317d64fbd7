/* progress.h — a progress line on stderr, if that is a terminal. */
#ifndef KYMO_CLI_PROGRESS_H
#define KYMO_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct cli_progress {
    const char *doing; /* "reading" */
    int64_t begun;     /* start time in nanoseconds */
    bool shown;
};

struct cli_progress kymo__cli_progress_begin(const char *doing);

/* Report DONE of ALL. Shown only after one second. */
void kymo__cli_progress_show(struct cli_progress *progress, uint64_t done, uint64_t all);

/* Erase the line, if shown, before any other output. */
void kymo__cli_progress_end(struct cli_progress *progress);

#endif
