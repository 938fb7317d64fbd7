/* What makes a flight recorder write: a slow call, and signals. */
#include "fault.h"

#include <pthread.h>

#include "names.h"
#include "watch.h"

static void start(const char *name, kymo_ns slow)
{
    const struct kymo_options options = {.size = sizeof(options),
                                         .path = check_path(name),
                                         .flight_bytes = 1 << 20,
                                         .slow_ns = slow};
    CHECK_OK(kymo_start(&options));
}

/* How many instants called NAME the capture has. */
static unsigned marks(const char *file, const char *name)
{
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    unsigned found = 0;
    CHECK_OK(kymo_open(check_path(file), &capture));
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while (kymo_cursor_next(cursor, &event) > 0)
        found += event.kind == KYMO_INSTANT && strcmp(event.name, name) == 0;
    kymo_cursor_free(cursor);
    kymo_close(capture);
    return found;
}

/* The text attached to the last instant called NAME, as "name=text". */
static const char *text_of(const char *file, const char *name)
{
    static char found[128];
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    bool marked = false;
    found[0] = '\0';
    CHECK_OK(kymo_open(check_path(file), &capture));
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while (kymo_cursor_next(cursor, &event) > 0) {
        if (event.kind == KYMO_ARG_TEXT && marked)
            snprintf(found, sizeof(found), "%s=%s", event.name, event.text);
        marked = event.kind == KYMO_INSTANT && strcmp(event.name, name) == 0;
    }
    kymo_cursor_free(cursor);
    kymo_close(capture);
    return found;
}

static uint64_t written(void)
{
    return fault_stats().written_records;
}

/* Wait until more than BEFORE records are written; false after NS. */
static bool more_written(uint64_t before, int64_t ns)
{
    int64_t end = fault_now() + ns;
    while (written() <= before)
        if (fault_now() > end)
            return false;
        else
            fault_sleep(1000000);
    return true;
}

static void span_of(const char *name, int64_t ns)
{
    struct kymo_span span = kymo_span_begin(name);
    fault_sleep(ns);
    kymo_span_end(span);
}

#define MS 1000000

static void a_slow_call_is_written_soon(void)
{
    start("slow", 50 * MS);
    span_of("quick", 1 * MS);
    fault_sleep(300 * MS);
    CHECK_EQ(written(), 0);
    span_of("slow", 60 * MS);
    CHECK(more_written(0, 2000 * (int64_t)MS));
    CHECK_OK(kymo_stop());
    CHECK_EQ(marks("slow", "kymograph flight: slow call"), 1);
    CHECK_STR(text_of("slow", "kymograph flight: slow call"), "call=slow");
}

static void slow_calls_are_written_only_up_to_a_size(void)
{
    static char name[64];
    const struct kymo_options options = {
        .size = sizeof(options), .path = check_path("cap"), .flight_bytes = 4096, .slow_ns = 1000};
    CHECK_OK(kymo_start(&options));
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 200; k++) { /* definitions are always written */
            snprintf(name, sizeof(name), "a name that makes the capture larger %d %d", i, k);
            kymo_intern(name);
        }
        span_of("slow", 1 * MS);
        fault_sleep(120 * MS);
    }
    CHECK_OK(kymo_stop());
    unsigned full = marks("cap", "kymograph flight: slow calls are no longer written, the capture "
                                 "is large enough");
    CHECK_EQ(full, 1);
    CHECK(marks("cap", "kymograph flight: slow call") < 39);
}

static void calls_around_a_slow_one_are_found_with_it(void)
{
    start("around", 50 * MS);
    struct kymo_span outer = kymo_span_begin("outer");
    span_of("slow", 60 * MS);
    kymo_span_end(outer);
    CHECK(more_written(0, 2000 * (int64_t)MS));
    fault_sleep(300 * MS);
    CHECK_OK(kymo_stop());
    unsigned found = marks("around", "kymograph flight: slow call");
    CHECK(found == 1 || found == 2); /* 2: it was looked at between the two ends */
}

/* Chunks fill and are packed meanwhile: nothing may be looked at twice or passed over. */
static void a_slow_call_with_many_in_it_is_found(void)
{
    start("many", 300 * MS);
    for (int round = 0; round < 2; round++) {
        int64_t end = fault_now() + (round ? 350 : 50) * (int64_t)MS;
        struct kymo_span outer = kymo_span_begin("outer");
        do {
            for (int i = 0; i < 1000; i++)
                kymo_span_end(kymo_span_begin("inner"));
        } while (fault_now() < end);
        kymo_span_end(outer);
        if (round == 0)
            CHECK_EQ(written(), 0);
    }
    CHECK(more_written(0, 2000 * (int64_t)MS));
    CHECK_OK(kymo_stop());
    CHECK_EQ(marks("many", "kymograph flight: slow call"), 1);
}

static void *slow_thread(void *arg)
{
    span_of("slow", 60 * MS);
    return arg;
}

static void a_slow_call_of_a_thread_that_ended_is_found(void)
{
    start("ended", 50 * MS);
    pthread_t thread;
    pthread_create(&thread, NULL, slow_thread, NULL);
    pthread_join(thread, NULL);
    CHECK(more_written(0, 2000 * (int64_t)MS));
    CHECK_OK(kymo_stop());
}

static void only_a_flight_recorder_has_slow_calls(void)
{
    const struct kymo_options options = {
        .size = sizeof(options), .path = check_path("none"), .slow_ns = 1000};
    CHECK_EQ(kymo_start(&options), -EINVAL);
}

/* ---- the watch itself ---- */

static struct kymo_chunk chunk;

static void put(unsigned kind, uint32_t key, uint64_t ticks)
{
    size_t at = 0;
    while (chunk.records[at].word)
        at++;
    chunk.records[at] = (struct kymo_record){ticks, kymo_word(kind, 0, key)};
}

static void waiting_does_not_count_unless_it_is_chosen(void)
{
    const uint8_t traits[] = {0, 0, KYMO__TRAIT_WAITS, KYMO__TRAIT_WATCHED};
    struct kymo_watch watch = {.slow = 1, .ticks = 100};
    CHECK_OK(kymo__buffer_add(&watch.traits, traits, sizeof(traits)));
    memset(&chunk, 0, sizeof(chunk));
    chunk.state = KYMO__CHUNK_OPEN;
    put(KYMO_ENTER, 3, 1000);
    put(KYMO_ENTER, 1, 1000);
    put(KYMO_ENTER, 2, 1010); /* waits */
    put(KYMO_LEAVE, 2, 1500);
    put(KYMO_LEAVE, 1, 1540);
    put(KYMO_ENTER, 2, 1540);
    put(KYMO_LEAVE, 2, 1900);
    put(KYMO_LEAVE, 3, 1940); /* worked for 90 */
    kymo__watch_chunk(&watch, &chunk);
    CHECK_EQ(watch.found, 0);
    put(KYMO_ENTER, 1, 2000);
    put(KYMO_ENTER, 2, 2050);
    put(KYMO_LEAVE, 2, 2100);
    put(KYMO_LEAVE, 1, 2150); /* worked for 100 */
    kymo__watch_chunk(&watch, &chunk);
    CHECK_EQ(watch.found, 1);
    CHECK_EQ(watch.longest_key, 1);
    watch.chosen = true;
    put(KYMO_ENTER, 3, 3000);
    put(KYMO_ENTER, 1, 3000);
    put(KYMO_LEAVE, 1, 3110);
    put(KYMO_ENTER, 2, 3110);
    put(KYMO_LEAVE, 2, 3200);
    put(KYMO_LEAVE, 3, 3210);
    kymo__watch_chunk(&watch, &chunk);
    CHECK_EQ(watch.found, 2);
    CHECK_EQ(watch.longest, 210);
    CHECK_EQ(watch.longest_key, 3);
    kymo__watch_fini(&watch);
}

static void a_pattern_chooses_slow_calls_by_name(void)
{
    const struct kymo_options options = {.size = sizeof(options),
                                         .path = check_path("pattern"),
                                         .flight_bytes = 1 << 20,
                                         .slow_ns = 50 * MS,
                                         .slow_calls = "re*st"};
    struct kymo_options bad = options;
    bad.slow_ns = 0;
    CHECK_EQ(kymo_start(&bad), -EINVAL);
    CHECK_OK(kymo_start(&options));
    uint64_t before = written();
    span_of("rest of it", 60 * MS);
    CHECK(!more_written(before, 400 * MS));
    span_of("request", 60 * MS);
    CHECK(more_written(before, 5000 * (int64_t)MS));
    CHECK_OK(kymo_stop());
    CHECK_EQ(marks("pattern", "kymograph flight: slow call"), 1);
    CHECK_STR(text_of("pattern", "kymograph flight: slow call"), "call=request");
}

static void depth_and_losses_do_not_confuse_the_watch(void)
{
    struct kymo_watch watch = {.slow = 1, .ticks = 100};
    memset(&chunk, 0, sizeof(chunk));
    chunk.state = KYMO__CHUNK_OPEN;
    put(KYMO_LEAVE, 9, 1000); /* its enter is not there */
    put(KYMO_ENTER, 1, 1000);
    put(KYMO_ENTER, 2, 1001); /* its leave is lost */
    put(KYMO_ENTER, 3, 1002);
    put(KYMO_LEAVE, 3, 1003);
    kymo__watch_chunk(&watch, &chunk);
    CHECK_EQ(watch.found, 0);
    put(KYMO_LEAVE, 1, 1100);
    kymo__watch_chunk(&watch, &chunk);
    CHECK_EQ(watch.found, 1);
    uint64_t ticks = 2000;
    for (int i = 0; i < KYMO__WATCH_DEPTH + 50; i++)
        put(KYMO_ENTER, 5, ticks);
    for (int i = 0; i < KYMO__WATCH_DEPTH + 50; i++)
        put(KYMO_LEAVE, 5, ticks + 99);
    put(KYMO_ENTER, 6, 3000);
    put(KYMO_RESYNC, 0, 3001);
    put(KYMO_LEAVE, 6, 9000);
    kymo__watch_chunk(&watch, &chunk);
    CHECK_EQ(watch.found, 1);
    chunk.state = KYMO__CHUNK_FULL;
    kymo__watch_chunk(&watch, &chunk);
    kymo__watch_chunk(&watch, &chunk); /* again: it was looked at */
    CHECK_EQ(watch.found, 1);
    chunk.number = 2; /* number 1 has not come yet */
    kymo__watch_chunk(&watch, &chunk);
    CHECK_EQ(watch.found, 1);
    kymo__watch_fini(&watch);
}

/* ---- signals ---- */

static void a_signal_writes_it_and_the_program_continues(void)
{
    start("signal", 0);
    span_of("before", 0);
    CHECK_OK(kymo_flight_on_signal(SIGUSR2, 0));
    raise(SIGUSR2);
    CHECK(more_written(0, 2000 * (int64_t)MS));
    CHECK_OK(kymo_stop());
    struct sigaction now;
    sigaction(SIGUSR2, NULL, &now);
    CHECK(now.sa_handler == SIG_DFL);
    CHECK_EQ(marks("signal", "kymograph flight: signal"), 1);
}

struct end {
    const char *name;
    int number;
};

static void end_by_signal(void *arg)
{
    const struct end *end = arg;
    start(end->name, 0);
    span_of("before", 0);
    CHECK_OK(kymo_flight_on_signal(end->number, 1));
    raise(end->number);
}

static void ends_by(const char *name, int number)
{
    if (FAULT_TSAN)
        CHECK_SKIP("ThreadSanitizer lets no child of a process with threads have threads");
    struct end end = {name, number};
    int status = fault_wait(fault_child(end_by_signal, &end));
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), number);
    CHECK_EQ(marks(name, "kymograph flight: signal"), 1);
}

static void a_signal_that_ends_the_process_waits_for_it(void)
{
    ends_by("term", SIGTERM);
}

static void a_crash_leaves_what_was_kept(void)
{
    if (FAULT_ASAN)
        CHECK_SKIP("the sanitizer handles that signal itself");
    ends_by("crash", SIGSEGV);
}

static volatile int endless = 1;

static int deeper(volatile char *above)
{
    volatile char here[512];
    here[0] = above ? above[0] : 0;
    return endless ? deeper(here) + here[0] : 0;
}

static void *overflow(void *arg)
{
    kymo_instant("on the thread that overflows");
    return arg ? (void *)(intptr_t)deeper(NULL) : NULL;
}

static void end_by_overflow(void *arg)
{
    pthread_t thread;
    start("overflow", 0);
    CHECK_OK(kymo_flight_on_signal(SIGSEGV, 1));
    if (*(const int *)arg)
        overflow(arg);
    CHECK_EQ(pthread_create(&thread, NULL, overflow, arg), 0);
    pthread_join(thread, NULL);
}

static void a_stack_that_overflows_leaves_what_was_kept(void)
{
    if (FAULT_ASAN || FAULT_TSAN)
        CHECK_SKIP("the sanitizer handles that signal itself");
    for (int here = 0; here < 2; here++) {
        int status = fault_wait(fault_child(end_by_overflow, &here));
        CHECK(WIFSIGNALED(status));
        CHECK_EQ(WTERMSIG(status), SIGSEGV);
        CHECK_EQ(marks("overflow", "on the thread that overflows"), 1);
        CHECK_EQ(marks("overflow", "kymograph flight: signal"), 1);
    }
}

static void a_handler(int number)
{
    (void)number;
}

static void a_signal_that_the_program_handles_is_left_alone(void)
{
    struct sigaction own = {.sa_handler = a_handler}, now;
    start("own", 0);
    sigaction(SIGUSR2, &own, NULL);
    CHECK_EQ(kymo_flight_on_signal(SIGUSR2, 0), -EBUSY);
    own.sa_handler = SIG_DFL;
    sigaction(SIGUSR2, &own, NULL);
    CHECK_OK(kymo_flight_on_signal(SIGUSR2, 0));
    own.sa_handler = a_handler; /* later */
    sigaction(SIGUSR2, &own, NULL);
    CHECK_OK(kymo_stop());
    sigaction(SIGUSR2, NULL, &now);
    CHECK(now.sa_handler == a_handler);
    own.sa_handler = SIG_DFL;
    sigaction(SIGUSR2, &own, NULL);
}

static void it_is_written_while_the_writer_thread_rests(void)
{
    start("resting", 0);
    span_of("before", 0);
    kymo_writer_rest();
    CHECK_OK(kymo_flight_write("now"));
    CHECK(written() >= 2);
    span_of("after", 0);
    CHECK_OK(kymo_stop());
    CHECK_EQ(marks("resting", "kymograph flight: now"), 1);
}

static void invalid_options_are_refused(void)
{
    CHECK_EQ(kymo_flight_on_signal(SIGUSR2, 0), KYMO_EIDLE);
    CHECK_OK(fault_start(check_path("plain"), 0, KYMO_HELP));
    CHECK_EQ(kymo_flight_on_signal(SIGUSR2, 0), KYMO_ENOTFLIGHT);
    CHECK_OK(kymo_stop());
    start("kill", 0);
    CHECK_EQ(kymo_flight_on_signal(SIGKILL, 1), -EINVAL);
    CHECK_EQ(kymo_flight_on_signal(0, 1), -EINVAL);
    CHECK_EQ(kymo_flight_on_signal(100000, 1), -EINVAL);
    CHECK_OK(kymo_stop());
}

static const struct check_case cases[] = {
    CHECK_CASE(a_slow_call_is_written_soon),
    CHECK_CASE(waiting_does_not_count_unless_it_is_chosen),
    CHECK_CASE(a_pattern_chooses_slow_calls_by_name),
    CHECK_CASE(slow_calls_are_written_only_up_to_a_size),
    CHECK_CASE(calls_around_a_slow_one_are_found_with_it),
    CHECK_CASE(a_slow_call_with_many_in_it_is_found),
    CHECK_CASE(a_slow_call_of_a_thread_that_ended_is_found),
    CHECK_CASE(only_a_flight_recorder_has_slow_calls),
    CHECK_CASE(depth_and_losses_do_not_confuse_the_watch),
    CHECK_CASE(a_signal_writes_it_and_the_program_continues),
    CHECK_CASE(a_signal_that_ends_the_process_waits_for_it),
    CHECK_CASE(a_crash_leaves_what_was_kept),
    CHECK_CASE(a_stack_that_overflows_leaves_what_was_kept),
    CHECK_CASE(a_signal_that_the_program_handles_is_left_alone),
    CHECK_CASE(it_is_written_while_the_writer_thread_rests),
    CHECK_CASE(invalid_options_are_refused),
};

CHECK_MAIN(cases)
