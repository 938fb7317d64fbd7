/* Sessions start and stop, at any time and any number of times, and leave nothing. */
#include <pthread.h>

#define FAULT_MANY_SESSIONS
#include "fault.h"

/* A thread that was joined stays in /proc for a moment. */
static int threads_now(int expected)
{
    int now = 0;
    for (int attempt = 0; attempt < 200; attempt++) {
        now = fault_entries("/proc/self/task") - 2;
        if (now <= expected)
            break;
        fault_sleep(1000000);
    }
    return now;
}

static void one_session(void)
{
    CHECK_OK(fault_start(check_path("cycle"), SMALL_BUDGET, KYMO_HELP));
    for (int i = 0; i < 100; i++)
        kymo_span_end(kymo_span_begin("span"));
    CHECK_OK(kymo_stop());
}

static void a_thousand_sessions_leave_nothing_behind(void)
{
    FAULT_NOT_EMULATED("memory of its own that stays small");
    const int cycles = FAULT_TIMES(1000, 150);
    for (int i = 0; i < cycles / 10; i++)
        one_session();
    int threads = threads_now(0), files = fault_entries("/proc/self/fd"),
        beside = fault_entries(check_dir);
    long resident = fault_resident();
    for (int i = cycles / 10; i < cycles; i++)
        one_session();

    CHECK_EQ(threads_now(threads), threads);
    CHECK_EQ(fault_entries("/proc/self/fd"), files);
    CHECK_EQ(fault_entries(check_dir), beside);
    if (!FAULT_ASAN && !FAULT_TSAN) /* they keep what was freed */
        CHECK_LE(fault_resident(), resident + (1 << 20));
}

static void no_thread_of_ours_is_left_after_stop(void)
{
    int before = threads_now(0);
    CHECK_OK(fault_start(check_path("threads"), 0, KYMO_HELP));
    CHECK_EQ(threads_now(before + 1), before + 1);
    CHECK_OK(kymo_stop());
    CHECK_EQ(threads_now(before), before);
}

static void stop_without_a_session_says_so(void)
{
    CHECK_EQ(kymo_stop(), KYMO_EIDLE);
    CHECK_OK(fault_start(check_path("twice"), 0, KYMO_HELP));
    CHECK_OK(kymo_stop());
    CHECK_EQ(kymo_stop(), KYMO_EIDLE);
}

static void a_process_that_did_not_end_after_all_may_start_again(void)
{
    int threads = threads_now(0), files = fault_entries("/proc/self/fd");
    for (int i = 0; i < 3; i++) {
        CHECK_OK(fault_start(check_path("last"), 0, KYMO_HELP));
        kymo_instant("one");
        CHECK_OK(kymo_stop_before_exit());
        CHECK_EQ(kymo_stop_before_exit(), KYMO_EIDLE);
        kymo_instant("not recorded");

        struct kymo_capture *capture;
        CHECK_OK(kymo_open(check_path("last"), &capture));
        CHECK_EQ(fault_info(capture).records, 1);
        CHECK_EQ(fault_info(capture).ending, KYMO_ENDED_CLEAN);
        kymo_close(capture);
    }
    CHECK_EQ(threads_now(threads), threads);
    CHECK_EQ(fault_entries("/proc/self/fd"), files);
    CHECK(access(check_path("last.live"), F_OK) != 0);
}

static void start_while_running_leaves_the_running_session_alone(void)
{
    CHECK_OK(fault_start(check_path("first"), 0, KYMO_HELP));
    kymo_instant("one");
    CHECK_EQ(fault_start(check_path("second"), 0, KYMO_HELP), KYMO_ERUNNING);
    CHECK_EQ(fault_start(check_path("first"), 0, KYMO_HELP), KYMO_ERUNNING);
    kymo_instant("two");
    CHECK_OK(kymo_stop());

    struct kymo_capture *capture;
    CHECK(access(check_path("second"), F_OK) != 0);
    CHECK_OK(kymo_open(check_path("first"), &capture));
    CHECK_EQ(fault_info(capture).records, 2);
    kymo_close(capture);
}

static void *stop_here(void *arg)
{
    *(int *)arg = kymo_stop();
    return NULL;
}

static void a_session_may_be_stopped_by_another_thread(void)
{
    pthread_t thread;
    int rc = 1;
    CHECK_OK(fault_start(check_path("other"), 0, KYMO_HELP));
    kymo_instant("one");
    CHECK_EQ(pthread_create(&thread, NULL, stop_here, &rc), 0);
    pthread_join(thread, NULL);
    CHECK_EQ(rc, 0);
    CHECK(!kymo_running());

    struct kymo_capture *capture;
    CHECK_OK(kymo_open(check_path("other"), &capture));
    CHECK_EQ(fault_info(capture).records, 1);
    kymo_close(capture);
}

/* ---- stop against threads at full speed ---- */

enum { RECORDERS = 8 };
static uint32_t quit;

static void *record_rounds(void *arg)
{
    for (uint64_t i = 0; !__atomic_load_n(&quit, __ATOMIC_RELAXED); i++) {
        struct kymo_span outer = kymo_span_begin("outer");
        struct kymo_span inner = kymo_span_begin(arg);
        kymo_counter("round", (double)i);
        kymo_span_end(inner);
        kymo_span_end(outer);
        if (!kymo_running())
            sched_yield(); /* so that the next session begins soon */
    }
    return NULL;
}

/* In every thread the rounds follow one another and spans nest. A session may begin
   and end in the middle of a round. */
static void check_rounds(const char *name, uint64_t *events)
{
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    double next[RECORDERS] = {0};
    int depth[RECORDERS] = {0};
    CHECK_OK(kymo_open(check_path(name), &capture));
    struct kymo_info info = fault_info(capture);
    CHECK_EQ(info.ending, KYMO_ENDED_CLEAN);
    CHECK_EQ(info.lost_records, 0);
    CHECK_LE(info.threads, RECORDERS);
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while (kymo_cursor_next(cursor, &event) > 0) {
        unsigned t = event.thread;
        ++*events;
        if (event.kind == KYMO_COUNTER) {
            if (next[t] != 0)
                CHECK_EQ(event.value, next[t]);
            next[t] = event.value + 1;
        } else {
            depth[t] += event.kind == KYMO_ENTER ? 1 : -1;
        }
        CHECK(depth[t] >= 0 && depth[t] <= 2);
    }
    kymo_cursor_free(cursor);
    kymo_close(capture);
}

static void stop_and_start_again_while_8_threads_record(void)
{
    static char *const names[RECORDERS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    pthread_t threads[RECORDERS];
    uint64_t events = 0;
    quit = 0;
    for (int i = 0; i < RECORDERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, record_rounds, names[i]), 0);
    for (int i = 0; i < FAULT_TIMES(200, 40); i++) {
        CHECK_OK(fault_start(check_path(i % 2 ? "odd" : "even"), SMALL_BUDGET, KYMO_HELP));
        fault_sleep((int64_t)fault_random(500000));
        CHECK_OK(kymo_stop());
        if (i % 20 == 19) {
            check_rounds("even", &events);
            check_rounds("odd", &events);
        }
    }
    __atomic_store_n(&quit, 1u, __ATOMIC_RELAXED);
    for (int i = 0; i < RECORDERS; i++)
        pthread_join(threads[i], NULL);
    printf("# %" PRIu64 " events looked at\n", events);
}

static uint64_t started, stopped;

static void *start_and_stop(void *arg)
{
    for (int i = 0; i < FAULT_TIMES(40, 10); i++) {
        if (fault_start(arg, SMALL_BUDGET, KYMO_HELP) == 0)
            __atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
        kymo_instant("between");
        struct kymo_stats stats = {.size = sizeof(stats)};
        kymo_stats(&stats);
        if (kymo_stop() == 0)
            __atomic_fetch_add(&stopped, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void threads_that_start_and_stop_at_once_take_turns(void)
{
    char paths[4][300];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s/turn %d", check_dir, i % 2);
        CHECK_EQ(pthread_create(&threads[i], NULL, start_and_stop, paths[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK(started > 0);
    CHECK_EQ(started, stopped);
    CHECK(!kymo_running());
}

/* ---- what is asked and told ---- */

static void stats_count_what_was_recorded(void)
{
    struct kymo_stats stats = {.size = sizeof(stats)};
    CHECK_EQ(kymo_stats(&stats), KYMO_EIDLE);
    CHECK_OK(fault_start(check_path("stats"), 2 * SMALL_BUDGET, KYMO_HELP));
    stats = fault_stats();
    CHECK_EQ(stats.threads, 0);
    CHECK_EQ(stats.written_records, 0);
    CHECK_EQ(stats.budget_bytes, 2 * SMALL_BUDGET);
    CHECK(stats.written_bytes > 0);
    for (int i = 0; i < 100000; i++)
        kymo_instant("tick");
    for (int i = 0; i < 500 && stats.written_records < 90000; i++) {
        fault_sleep(2000000);
        stats = fault_stats();
    }
    CHECK(stats.written_records > 90000 && stats.written_records <= 100000);
    CHECK_EQ(stats.threads, 1);
    CHECK_EQ(stats.dropped_records, 0);
    CHECK_EQ(stats.error, 0);
    CHECK_LE(stats.pool_bytes, stats.budget_bytes);
    CHECK_OK(kymo_stop());
    CHECK_EQ(kymo_stats(&stats), KYMO_EIDLE);
}

static void stats_fill_no_more_than_the_caller_has(void)
{
    struct kymo_stats stats;
    memset(&stats, 0x55, sizeof(stats));
    CHECK_OK(fault_start(check_path("stats"), 0, KYMO_HELP));
    stats.size = offsetof(struct kymo_stats, written_records);
    CHECK_OK(kymo_stats(&stats));
    CHECK_EQ(stats.size, offsetof(struct kymo_stats, written_records));
    CHECK(stats.written_bytes != UINT64_C(0x5555555555555555));
    CHECK_EQ(stats.written_records, UINT64_C(0x5555555555555555));
    stats.size = 0;
    CHECK_EQ(kymo_stats(&stats), -EINVAL);
    CHECK_OK(kymo_stop());
}

static void options_of_an_older_version_are_completed(void)
{
    /* Only the path, and what follows it is not to be looked at. */
    struct kymo_options options;
    memset(&options, 0x55, sizeof(options));
    options.size = offsetof(struct kymo_options, budget);
    options.path = check_path("older");
    CHECK_OK(kymo_start(&options));
    CHECK_EQ(fault_stats().budget_bytes, 64 << 20);
    CHECK_OK(kymo_stop());
}

static void options_of_a_newer_version_are_accepted(void)
{
    struct {
        struct kymo_options known;
        uint64_t unknown[4];
    } options = {.known = {.size = sizeof(options), .path = check_path("newer")}};
    CHECK_OK(kymo_start(&options.known));
    CHECK_OK(kymo_stop());
}

static void options_that_make_no_sense_are_refused(void)
{
    const char *path = check_path("refused");
    const size_t size = sizeof(struct kymo_options);
    const struct kymo_options refused[] = {
        {.size = 0, .path = path},
        {.size = sizeof(size_t), .path = path},
        {.size = size, .path = NULL},
        {.size = size, .path = ""},
        {.size = size, .path = path, .policy = 2},
        {.size = size, .path = path, .policy = -1},
        {.size = size, .path = path, .level = -1},
        {.size = size, .path = path, .level = 20},
    };
    CHECK_EQ(kymo_start(NULL), -EINVAL);
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        CHECK_EQ(kymo_start(&refused[i]), -EINVAL);
    CHECK(access(path, F_OK) != 0);
    CHECK(!kymo_running());
}

static void a_budget_below_the_least_is_raised_to_it(void)
{
    CHECK_OK(fault_start(check_path("least"), 1, KYMO_HELP));
    CHECK_EQ(fault_stats().budget_bytes, SMALL_BUDGET);
    CHECK_OK(kymo_stop());
}

static void error_codes_are_negative_and_each_has_its_message(void)
{
    static const struct {
        int code, value;
        const char *text;
    } errors[] = {
#define ERROR_ROW(name, value, text) {name, value, text},
        KYMO_ERROR_MAP(ERROR_ROW)
#undef ERROR_ROW
    };
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        CHECK_EQ(errors[i].code, errors[i].value);
        CHECK_LE(errors[i].code, i ? errors[i - 1].code - 1 : -4000); /* none twice */
        CHECK_STR(kymo_strerror(errors[i].code), errors[i].text);
        CHECK(strcmp(kymo_strerror(-errors[i].code), errors[i].text) != 0);
    }
}

static const struct check_case cases[] = {
    CHECK_CASE(error_codes_are_negative_and_each_has_its_message),
    CHECK_CASE(a_thousand_sessions_leave_nothing_behind),
    CHECK_CASE(no_thread_of_ours_is_left_after_stop),
    CHECK_CASE(stop_without_a_session_says_so),
    CHECK_CASE(a_process_that_did_not_end_after_all_may_start_again),
    CHECK_CASE(start_while_running_leaves_the_running_session_alone),
    CHECK_CASE(a_session_may_be_stopped_by_another_thread),
    CHECK_CASE(stop_and_start_again_while_8_threads_record),
    CHECK_CASE(threads_that_start_and_stop_at_once_take_turns),
    CHECK_CASE(stats_count_what_was_recorded),
    CHECK_CASE(stats_fill_no_more_than_the_caller_has),
    CHECK_CASE(options_of_an_older_version_are_completed),
    CHECK_CASE(options_of_a_newer_version_are_accepted),
    CHECK_CASE(options_that_make_no_sense_are_refused),
    CHECK_CASE(a_budget_below_the_least_is_raised_to_it),
};
CHECK_MAIN(cases)
