/* How fast a capture of ten million events becomes a report, and a file of every export format.

   Two programs are imitated: one that does the same things again and again, some
   thousand call paths, and one with a hundred thousand. Minima of CPU time over a few
   rounds, since the machine has other things to do. */
#include <kymo/lane.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "survey.h"

enum { EVENTS = 10000000, FUNCTIONS = 400, ROUNDS = 3, NODES = 1 << 20 };

static uint32_t keys[FUNCTIONS];
static uint64_t state;
static unsigned spread; /* how many different calls a function makes */
static long left;

static unsigned dice(void)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(state >> 33);
}

static void record(unsigned kind, uint32_t key)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 1);
    if (!at)
        abort();
    kymo_lane_store(at, kymo_ticks(), kymo_word(kind, 0, key));
    kymo_lane_commit(lane, at + 1);
    left--;
}

static void call(unsigned which, int depth)
{
    record(KYMO_ENTER, keys[which % FUNCTIONS]);
    for (unsigned i = depth < 10 ? dice() % 5 : 0; i > 0 && left > 0; i--)
        call(which * spread + dice() % spread + 1, depth + 1);
    record(KYMO_LEAVE, keys[which % FUNCTIONS]);
}

static void make(const char *path)
{
    const struct kymo_options options = {.size = sizeof(options), .path = path};
    if (kymo_start(&options) < 0)
        abort();
    for (int i = 0; i < FUNCTIONS; i++) {
        char name[32], file[64];
        snprintf(name, sizeof(name), "Class%d.method_%d", i % 20, i);
        snprintf(file, sizeof(file), "/home/user/project/package/module_%d.py", i % 30);
        keys[i] = kymo_function_key(&(struct kymo_function){
            sizeof(struct kymo_function), name, file, (uint32_t)i + 1, KYMO_CLASS_FUNCTION});
    }
    state = 1;
    left = EVENTS;
    while (left > 0)
        call(dice() % 3, 0);
    if (kymo_stop() < 0)
        abort();
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* CPU seconds of an export; formats that are not compressed by themselves are not. */
static double export(struct kymo_capture *capture, const char *format)
{
    const struct kymo_export_options options = {
        .size = sizeof(options), .format = format, .to = INT64_MAX, .thread = -1};
    double begun = cpu_seconds();
    if (kymo_export(capture, "/dev/null", &options) < 0)
        abort();
    return cpu_seconds() - begun;
}

static void measure(const char *what, const char *path)
{
    double report = 1e9;
    size_t paths = 0;
    uint64_t calls = 0;
    struct kymo_capture *capture;
    for (int round = 0; round < ROUNDS; round++) {
        struct kymo_survey *survey;
        const struct kymo_survey_options all = {.from = INT64_MIN, .to = INT64_MAX, .nodes = NODES};
        double begun = cpu_seconds();
        if (kymo_open(path, &capture) < 0 || kymo__survey(capture, &all, &survey) < 0)
            abort();
        report = least(report, cpu_seconds() - begun);
        paths = survey->tree.count - 1;
        calls = survey->calls;
        kymo__survey_free(survey);
        kymo_close(capture);
    }
    printf("%s, %zu call paths, %.1f million calls\n", what, paths, (double)calls / 1e6);
    printf("  %-12s %6.2f s  %6.1f ns per event\n", "report", report, report * 1e9 / EVENTS);
    if (kymo_open(path, &capture) < 0)
        abort();
    const char *name;
    for (uint32_t i = 0; kymo_export_format(i, &name, NULL, NULL) == 0; i++) {
        double took = 1e9;
        for (int round = 0; round < ROUNDS; round++)
            took = least(took, export(capture, name));
        printf("  %-12s %6.2f s  %6.1f million calls per second\n", name, took,
               (double)calls / took / 1e6);
    }
    kymo_close(capture);
}

int main(void)
{
    char path[] = "/tmp/kymo-bench-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    unlink(path);
    spread = 2;
    make(path);
    measure("few paths", path);
    spread = 3;
    make(path);
    measure("many paths", path);
    unlink(path);
    return 0;
}
