/* How fast a capture of ten million events becomes a report, and a file of every export format.

   Two programs are imitated: one that does the same things again and again, some
   thousand call paths, and one with a hundred thousand. Minima of CPU time over a few
   rounds, since the machine has other things to do. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "imitated.h"
#include "survey.h"

enum { EVENTS = 10000000, ROUNDS = 3, NODES = 1 << 20, DEEPEST = 10 };

static double cpu_seconds(void)
{
    return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* CPU seconds of an export to PATH; formats that are not compressed by themselves are not.
   0 for those that only the Python package writes. */
static double export(struct kymo_capture *capture, const char *format, const char *path)
{
    const struct kymo_export_options options = {
        .size = sizeof(options), .format = format, .to = INT64_MAX, .thread = -1};
    double begun = cpu_seconds();
    int rc = kymo_export(capture, path, &options);
    if (rc == KYMO_EFORMAT)
        return 0;
    if (rc < 0)
        abort();
    return cpu_seconds() - begun;
}

/* ---- what JSON costs otherwise ---- */

static char piece[1 << 20], other_piece[1 << 20];

/* CPU seconds for the slices of CALLS calls with the C library, as one would write them first. */
static double print_slices(uint64_t calls)
{
    double begun = cpu_seconds();
    size_t used = 0;
    for (uint64_t i = 0; i < calls; i++) {
        used += (size_t)snprintf(
            piece + used, sizeof(piece) - used,
            ",\n{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"bench.py(%u): function_%u\","
            "\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"Python thread\":0,"
            "\"Python id\":%llu,\"Python parent id\":%llu}}",
            (unsigned)(i % 1000), (unsigned)(i % 100), 1234567, 1234568, (double)i * 0.731,
            (double)(i % 977) * 0.013, (unsigned long long)i, (unsigned long long)(i / 2));
        if (used > sizeof(piece) - 512)
            used = 0;
    }
    return cpu_seconds() - begun;
}

/* CPU seconds to copy BYTES. */
static double copy(uint64_t bytes)
{
    double begun = cpu_seconds();
    for (uint64_t done = 0; done < bytes; done += sizeof(piece)) {
        memcpy(other_piece, piece, sizeof(piece));
        __asm__ volatile("" : : "r"(other_piece) : "memory");
    }
    return cpu_seconds() - begun;
}

static void print_row(const char *name, double took, uint64_t calls)
{
    printf("  %-12s %6.2f s  %6.1f million calls per second\n", name, took,
           (double)calls / took / 1e6);
}

static void measure_limits(struct kymo_capture *capture, const char *path, uint64_t calls)
{
    char file[64];
    struct stat st;
    snprintf(file, sizeof(file), "%s.json", path);
    export(capture, "chrome", file);
    if (stat(file, &st) < 0)
        abort();
    unlink(file);
    double printed = 1e9, copied = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        printed = least(printed, print_slices(calls));
        copied = least(copied, copy((uint64_t)st.st_size));
    }
    printf("  to compare: slices of JSON by snprintf, and a copy of as many bytes as chrome's\n");
    print_row("snprintf", printed, calls);
    print_row("copy", copied, calls);
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
            took = least(took, export(capture, name, "/dev/null"));
        if (took > 0)
            print_row(name, took, calls);
    }
    measure_limits(capture, path, calls);
    kymo_close(capture);
}

int main(void)
{
    char path[] = "/tmp/kymograph-bench-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    unlink(path);
    imitate(path, EVENTS, 2, DEEPEST);
    measure("few paths", path);
    imitate(path, EVENTS, 3, DEEPEST);
    measure("many paths", path);
    unlink(path);
    return 0;
}
