#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include "clock.h"

enum { SECOND = 1000000000 };

struct cli_progress kymo__cli_progress_begin(const char *doing)
{
    return (struct cli_progress){.doing = doing, .begun = kymo__clock_ns(CLOCK_MONOTONIC)};
}

void kymo__cli_progress_show(struct cli_progress *progress, uint64_t done, uint64_t all)
{
    if (!isatty(STDERR_FILENO) || kymo__clock_ns(CLOCK_MONOTONIC) - progress->begun < SECOND)
        return;
    progress->shown = true;
    fprintf(stderr, "\r%s: %3u %%", progress->doing,
            all ? (unsigned)(100.0 * (double)done / (double)all) : 0);
    fflush(stderr);
}

void kymo__cli_progress_end(struct cli_progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}
