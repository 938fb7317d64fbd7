/* The times of a minute of events, against the clock read around each of them.

   With KYMO_QUICK set, and under sanitizers, three seconds must do. */
#include <kymo/kymo.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { PERIOD_MS = 20, MOST = 60 * 1000 / PERIOD_MS, ALLOWED_NS = 1000 };

/* What the clock said before and after each event; shared with the child. */
struct log {
    int count;
    struct {
        kymo_ns before, after;
    } events[MOST];
};

static kymo_ns now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (kymo_ns)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Returns 0, or what went wrong. */
static int record(const char *path, int clock, struct log *log)
{
    kymo_ns end = now() + (SANITIZED || getenv("KYMO_QUICK") ? 3 : 60) * INT64_C(1000000000);
    int rc = kymo_start(
        &(struct kymo_options){.size = sizeof(struct kymo_options), .path = path, .clock = clock});
    while (rc == 0 && log->count < MOST && now() < end) {
        int i = log->count++;
        log->events[i].before = now();
        kymo_instant("here");
        log->events[i].after = now();
        const struct timespec period = {0, PERIOD_MS * 1000000};
        nanosleep(&period, NULL);
    }
    return rc ? rc : kymo_stop();
}

static void judge(const char *path, const struct log *log)
{
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    kymo_ns worst = 0;
    CHECK_OK(kymo_open(path, &capture));
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    for (int i = 0; i < log->count; i++) {
        CHECK_EQ(kymo_cursor_next(cursor, &event), 1);
        kymo_ns early = log->events[i].before - event.time,
                late = event.time - log->events[i].after;
        worst = early > worst ? early : late > worst ? late : worst;
        CHECK_LE(log->events[i].before - ALLOWED_NS, event.time);
        CHECK_LE(event.time, log->events[i].after + ALLOWED_NS);
    }
    CHECK_EQ(kymo_cursor_next(cursor, &event), 0);
    printf("# %d events, at most %" PRId64 " ns outside\n", log->count, worst);
    kymo_cursor_free(cursor);
    kymo_close(capture);
}

/* Both clocks at the same time, each in a process of its own. */
static void every_event_is_at_the_time_at_which_it_was_recorded(void)
{
    struct log *logs = mmap(NULL, sizeof(struct log) * 2, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(logs != MAP_FAILED);
    const char *counter = check_path("counter"), *monotonic = check_path("monotonic");
    pid_t child = fork();
    if (child == 0)
        _exit(record(monotonic, 1, &logs[1]) != 0);
    int rc = record(counter, 0, &logs[0]), status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_OK(rc);
    CHECK_EQ(status, 0);

    judge(counter, &logs[0]);
    judge(monotonic, &logs[1]);
    munmap(logs, sizeof(struct log) * 2);
}

static const struct check_case cases[] = {
    CHECK_CASE(every_event_is_at_the_time_at_which_it_was_recorded),
};
CHECK_MAIN(cases)
