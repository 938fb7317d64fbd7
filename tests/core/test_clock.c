/* Ticks come from where they should, and snapshots pair them with the right time. */
#include "clock.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "check.h"

static int64_t now(void)
{
    return kymo__clock_ns(CLOCK_MONOTONIC);
}

static void pass(int64_t ns)
{
    for (int64_t until = now() + ns; now() < until;)
        kymo__relax();
}

static bool kernel_lists_the_counter(void)
{
    char line[256] = "";
    FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/available_clocksource", "r");
    if (!f)
        return true;
    if (!fgets(line, sizeof(line), f))
        line[0] = '\0';
    fclose(f);
    return strstr(line, "tsc") || strstr(line, "arch_sys") || !line[0];
}

static void the_counter_is_chosen_unless_there_is_a_reason(void)
{
    int clock = kymo__clock_choose(0);
    if (clock == KYMO_CLOCK_MONOTONIC) {
        printf("# no counter: sound %d, listed by the kernel %d\n", kymo__counter_sound(),
               kernel_lists_the_counter());
        CHECK(!kymo__counter_sound() || !kernel_lists_the_counter());
    } else {
        CHECK_EQ(clock, KYMO__COUNTER_CLOCK);
        CHECK(kymo__counter_sound() && kernel_lists_the_counter());
    }
}

static void clock_monotonic_is_chosen_when_asked_for(void)
{
    CHECK_EQ(kymo__clock_choose(1), KYMO_CLOCK_MONOTONIC);
    int64_t before = now();
    uint64_t ticks = kymo_ticks();
    CHECK_LE(before, ticks);
    CHECK_LE(ticks, now());
}

static void ticks_do_not_go_back(void)
{
    for (int monotonic = 0; monotonic < 2; monotonic++) {
        kymo__clock_choose(monotonic);
        uint64_t last = kymo_ticks();
        for (int i = 0; i < 1000000; i++) {
            uint64_t ticks = kymo_ticks();
            CHECK_LE(last, ticks);
            last = ticks;
        }
    }
}

static void a_snapshot_is_of_the_moment_it_was_taken(void)
{
    for (int monotonic = 0; monotonic < 2; monotonic++) {
        kymo__clock_choose(monotonic);
        for (int i = 0; i < 1000; i++) {
            uint64_t ticks = kymo_ticks();
            int64_t before = now(), wall = kymo__clock_ns(CLOCK_REALTIME);
            struct kymo_snapshot s = kymo__clock_snapshot();
            CHECK_LE(before, s.monotonic);
            CHECK_LE(s.monotonic, now());
            CHECK_LE(ticks, s.ticks);
            CHECK_LE(s.ticks, kymo_ticks());
            /* The wall clock may be set at any time, but hardly by an hour just now. */
            CHECK_LE(wall - 3600 * INT64_C(1000000000), s.wall);
            CHECK_LE(s.wall, kymo__clock_ns(CLOCK_REALTIME) + 3600 * INT64_C(1000000000));
            if (monotonic)
                CHECK_EQ(s.ticks, s.monotonic);
        }
    }
}

static void many_snapshots_agree_about_the_rate(void)
{
    kymo__clock_choose(0);
    struct kymo_snapshot first = kymo__clock_snapshot();
    pass(200000000);
    struct kymo_snapshot last = kymo__clock_snapshot();
    double rate = (double)(last.ticks - first.ticks) / (double)(last.monotonic - first.monotonic);
    int wide = 0;
    for (int i = 0; i < 1000; i++) {
        struct kymo_snapshot s = kymo__clock_snapshot();
        double expected = (double)first.monotonic + (double)(s.ticks - first.ticks) / rate;
        double error = (double)s.monotonic - expected;
        wide += error > 1000 || error < -1000;
    }
    /* Of eight attempts one is nearly always undisturbed, even on a busy machine. */
    CHECK_LE(wide, 10);
}

static void the_rate_found_in_a_millisecond_is_nearly_that_of_a_long_time(void)
{
    kymo__clock_choose(0);
    struct kymo_snapshot first = kymo__clock_snapshot();
    double quick = (double)kymo__clock_rate(&first);
    pass(300000000);
    struct kymo_snapshot last = kymo__clock_snapshot();
    double rate =
        (double)(last.ticks - first.ticks) * 1e9 / (double)(last.monotonic - first.monotonic);
    if (quick < rate * 0.999 || quick > rate * 1.001)
        CHECK_FAIL("the rate is %.0f, was found to be %.0f", rate, quick);
    kymo__clock_choose(1);
    CHECK_EQ(kymo__clock_rate(&first), 1000000000);
}

/* Its only snapshot is the one of the start. */
static void a_capture_whose_process_died_at_once_has_the_right_durations(void)
{
    int64_t *between = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(between != MAP_FAILED);
    const char *path = check_path("killed");
    pid_t child = fork();
    if (child == 0) {
        kymo_start(&(struct kymo_options){.size = sizeof(struct kymo_options), .path = path});
        int64_t first = now();
        kymo_instant("first");
        pass(50000000);
        kymo_instant("second");
        *between = now() - first;
        raise(SIGKILL);
    }
    CHECK_EQ(waitpid(child, NULL, 0), child);

    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event one = {.size = sizeof(one)}, two = one;
    CHECK_OK(kymo_open(path, &capture));
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    CHECK_EQ(kymo_cursor_next(cursor, &one), 1);
    CHECK_EQ(kymo_cursor_next(cursor, &two), 1);
    kymo_cursor_free(cursor);
    kymo_close(capture);
    CHECK_LE(two.time - one.time, *between + *between / 1000);
    CHECK_LE(49950000, two.time - one.time);
    munmap(between, 4096);
}

static const struct check_case cases[] = {
    CHECK_CASE(the_counter_is_chosen_unless_there_is_a_reason),
    CHECK_CASE(clock_monotonic_is_chosen_when_asked_for),
    CHECK_CASE(ticks_do_not_go_back),
    CHECK_CASE(a_snapshot_is_of_the_moment_it_was_taken),
    CHECK_CASE(many_snapshots_agree_about_the_rate),
    CHECK_CASE(the_rate_found_in_a_millisecond_is_nearly_that_of_a_long_time),
    CHECK_CASE(a_capture_whose_process_died_at_once_has_the_right_durations),
};
CHECK_MAIN(cases)
