/* What summaries cost and what they give: growth of the file, a window of 20 ms at the end against
   one at the beginning, and a report and an export with one core against two.

   The number of events may be given: bench_windows 100000000. Minima over a few rounds. */
#include <inttypes.h>
#include <unistd.h>

#include "calls.h"
#include "crew.h"
#include "imitated.h"
#include "summaries.h"
#include "survey.h"

enum { EVENTS = 20000000, ROUNDS = 3, NODES = 1 << 20, SPREAD = 3, DEEPEST = 12 };

static struct kymo_capture *opened(const char *path)
{
    struct kymo_capture *capture;
    if (kymo_open(path, &capture) < 0)
        abort();
    return capture;
}

/* Returns how many calls there are. */
static uint64_t survey(struct kymo_capture *capture, kymo_ns from, kymo_ns to, unsigned workers)
{
    const struct kymo_survey_options options = {
        .from = from, .to = to, .workers = workers, .nodes = NODES};
    struct kymo_survey *result;
    if (kymo__survey(capture, &options, &result) < 0)
        abort();
    uint64_t calls = result->calls;
    kymo__survey_free(result);
    return calls;
}

static void growth(const struct kymo_capture *capture)
{
    const struct kymo_reader *r = capture->reader;
    uint64_t bytes = 0;
    for (size_t i = 0; i < r->summary_count; i++)
        bytes += kymo__block_bytes(&r->summaries[i].header);
    printf("summaries: %zu, %.2f %% of %.1f MB\n", r->summary_count,
           100.0 * (double)bytes / (double)r->file_bytes, (double)r->file_bytes / 1e6);
}

/* CPU seconds to open the capture and survey 20 ms from FROM on. The program is not as fast at all
   times, so windows differ in their *CALLS. */
static double window(const char *path, kymo_ns since, bool from_end, uint64_t *calls)
{
    double least = 1e9;
    for (int i = 0; i < ROUNDS * 3; i++) {
        double before = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
        struct kymo_capture *capture = opened(path);
        struct kymo_info info = {.size = sizeof(info)};
        kymo_capture_info(capture, &info);
        kymo_ns from = from_end ? info.end - since : info.start + since;
        *calls = survey(capture, from, from + 20000000, 1);
        kymo_close(capture);
        double took = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - before;
        least = took < least ? took : least;
    }
    return least;
}

static void report(const char *path, unsigned workers, double *wall, double *cpu)
{
    *wall = *cpu = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        struct kymo_capture *capture = opened(path);
        double wall_before = clock_seconds(CLOCK_MONOTONIC);
        double cpu_before = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
        survey(capture, INT64_MIN, INT64_MAX, workers);
        double wall_took = clock_seconds(CLOCK_MONOTONIC) - wall_before;
        double cpu_took = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_before;
        *wall = wall_took < *wall ? wall_took : *wall;
        *cpu = cpu_took < *cpu ? cpu_took : *cpu;
        kymo_close(capture);
    }
}

/* Wall seconds of an export with so many MEMBERS. */
static double chrome(const char *path, unsigned members)
{
    const struct kymo_export_options options = {
        .size = sizeof(options), .format = "chrome", .to = INT64_MAX, .thread = -1};
    double least = 1e9;
    kymo__crew_limit(members, 0);
    for (int i = 0; i < ROUNDS; i++) {
        struct kymo_capture *capture = opened(path);
        double before = clock_seconds(CLOCK_MONOTONIC);
        if (kymo_export(capture, "/dev/null", &options) < 0)
            abort();
        double took = clock_seconds(CLOCK_MONOTONIC) - before;
        least = took < least ? took : least;
        kymo_close(capture);
    }
    return least;
}

int main(int count, char **words)
{
    char path[] = "/tmp/kymograph-bench-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    imitate(path, count > 1 ? atol(words[1]) : EVENTS, SPREAD, DEEPEST);
    struct kymo_capture *capture = opened(path);
    growth(capture);
    kymo_close(capture);
    uint64_t calls[2];
    double first = window(path, 0, false, &calls[0]),
           last = window(path, 25000000, true, &calls[1]);
    printf("20 ms at the beginning: %.1f ms for %" PRIu64 " calls; at the end: %.1f ms for %" PRIu64
           " calls; %.2f x per call\n",
           first * 1e3, calls[0], last * 1e3, calls[1],
           last / (double)calls[1] / (first / (double)calls[0]));
    double wall[2], cpu[2];
    for (unsigned workers = 1; workers <= 2; workers++)
        report(path, workers, &wall[workers - 1], &cpu[workers - 1]);
    printf("report with one core: %.2f s; with two: %.2f s, %.2f x (CPU %.2f s and %.2f s)\n",
           wall[0], wall[1], wall[0] / wall[1], cpu[0], cpu[1]);
    double one = chrome(path, 1), two = chrome(path, 2);
    printf("chrome export with one core: %.2f s; with two: %.2f s, %.2f x\n", one, two, one / two);
    unlink(path);
    return 0;
}
