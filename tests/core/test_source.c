/* The door for sources, with a tracer behind it that writes down what is asked of it. */
#include <errno.h>
#include <kymo/source.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

#include "check.h"

static char calls[256]; /* what was called, in order */

static void called(const char *what)
{
    if (calls[0])
        strcat(calls, " ");
    strcat(calls, what);
}

/* ---- the tracer ---- */

enum { SEEN = 4096 };
static struct kymo_queue *queue;
static struct kymo_compressed seen[SEEN]; /* what get_events was given */
static kymo_ns seen_ns[SEEN], seen_end;
static size_t seen_count;
static int user; /* its address is what create gets */

static void *tracer_create(void *arg, struct kymo_queue *q)
{
    called("create");
    CHECK(arg == &user);
    queue = q;
    return &queue;
}

static void *tracer_create_fails(void *arg, struct kymo_queue *q)
{
    (void)arg;
    (void)q;
    called("create");
    return NULL;
}

static int at_once; /* what kymo_stats_at_once said in stop */

static void tracer_stop(void *state)
{
    CHECK(state == &queue);
    called("stop");
    at_once = kymo_stats_at_once(&(struct kymo_stats){.size = sizeof(struct kymo_stats)});
}

static void tracer_restart(void *state)
{
    CHECK(state == &queue);
    called("restart");
}

static void tracer_gc(void *state)
{
    CHECK(state == &queue);
    called("gc");
}

/* An event of 1000 ns for each entry, named after its key. */
static int64_t tracer_events(void *state, const struct kymo_converter *converter,
                             const struct kymo_compressed *enters, size_t count, kymo_ns end,
                             kymo_finish_fn *finish, void *arg)
{
    CHECK(state == &queue);
    called("get_events");
    CHECK_EQ(converter->size, sizeof(*converter));
    CHECK_LE(count, SEEN);
    seen_count = count;
    seen_end = end;
    for (size_t i = 0; i < count; i++) {
        char name[32];
        seen[i] = enters[i];
        seen_ns[i] = converter->convert(converter, enters[i].ticks);
        snprintf(name, sizeof(name), "key %" PRIu64 " ☃", enters[i].trace_key);
        finish(arg, &(struct kymo_finished){
                        .size = sizeof(struct kymo_finished),
                        .name = name,
                        .tid = enters[i].tid,
                        .device = enters[i].device,
                        .resource = enters[i].resource,
                        .start = seen_ns[i],
                        .end = seen_ns[i] + 1000,
                    });
    }
    return (int64_t)count;
}

static void tracer_destroy(void *state)
{
    CHECK(state == &queue);
    called("destroy");
}

static const struct kymo_tracer tracer = {
    .size = sizeof(tracer),
    .name = "fake",
    .create = tracer_create,
    .stop = tracer_stop,
    .restart = tracer_restart,
    .register_gc_callback = tracer_gc,
    .get_events = tracer_events,
    .destroy = tracer_destroy,
};

/* ---- sessions ---- */

static const char *path;

static void begin(const char *name)
{
    path = check_path(name);
    calls[0] = '\0';
    seen_count = 0;
    CHECK_OK(kymo_start(&(struct kymo_options){
        .size = sizeof(struct kymo_options), .path = path, .budget = 1 << 20}));
}

static kymo_ns now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (kymo_ns)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void without_a_tracer_everything_is_safe_and_does_nothing(void)
{
    CHECK_STR(kymo_tracer_name(), "none");
    CHECK_EQ(kymo_tracer_pause(), KYMO_EIDLE);
    CHECK_EQ(kymo_tracer_resume(), KYMO_EIDLE);
    CHECK_EQ(kymo_tracer_gc_callback(), KYMO_EIDLE);
    CHECK_EQ(kymo_queue_enter(NULL, 1, -1, 0), KYMO_EIDLE);

    begin("none");
    CHECK_EQ(kymo_tracer_pause(), 0);
    CHECK_EQ(kymo_tracer_pause(), 0);
    CHECK_EQ(kymo_tracer_resume(), 0);
    CHECK_EQ(kymo_tracer_resume(), 0);
    CHECK_EQ(kymo_tracer_gc_callback(), 0);
    CHECK_EQ(kymo_queue_enter(NULL, 1, -1, 0), KYMO_EIDLE);
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "");
}

static void a_tracer_is_driven_through_its_life_in_order(void)
{
    CHECK_OK(kymo_tracer_register(&tracer, &user));
    CHECK_STR(kymo_tracer_name(), "fake");
    CHECK_STR(calls, "");
    begin("life");
    CHECK_EQ(kymo_tracer_pause(), 0);
    CHECK_EQ(kymo_tracer_resume(), 0);
    CHECK_EQ(kymo_tracer_gc_callback(), 0);
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "create stop restart gc stop get_events destroy");

    begin("again");
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "create stop get_events destroy");
    CHECK_OK(kymo_tracer_unregister(&tracer));
    CHECK_STR(kymo_tracer_name(), "none");
}

static void pausing_and_resuming_twice_does_nothing(void)
{
    CHECK_OK(kymo_tracer_register(&tracer, &user));
    begin("pause");
    CHECK_EQ(kymo_tracer_resume(), 0);
    CHECK_EQ(kymo_tracer_pause(), 0);
    CHECK_EQ(kymo_tracer_pause(), 0);
    CHECK_EQ(kymo_tracer_resume(), 0);
    CHECK_EQ(kymo_tracer_resume(), 0);
    CHECK_EQ(kymo_tracer_pause(), 0);
    CHECK_OK(kymo_stop());
    /* What is paused is stopped already. */
    CHECK_STR(calls, "create stop restart stop get_events destroy");
    CHECK_OK(kymo_tracer_unregister(&tracer));
}

static void stats_are_busy_while_a_session_stops(void)
{
    struct kymo_stats stats = {.size = sizeof(stats)};
    CHECK_EQ(kymo_stats_at_once(&stats), KYMO_EIDLE);
    CHECK_OK(kymo_tracer_register(&tracer, &user));
    begin("figures");
    int rc = -EBUSY;
    while (rc == -EBUSY) /* the writer writes */
        rc = kymo_stats_at_once(&stats);
    CHECK_OK(rc);
    CHECK_EQ(stats.budget_bytes, 1 << 20);
    at_once = 0;
    CHECK_OK(kymo_stop());
    CHECK_EQ(at_once, -EBUSY);
    CHECK_EQ(kymo_stats_at_once(&stats), KYMO_EIDLE);
    CHECK_OK(kymo_tracer_unregister(&tracer));
}

static void only_the_registered_tracer_can_be_unregistered(void)
{
    struct kymo_tracer other = tracer;
    other.name = "other";
    CHECK_EQ(kymo_tracer_unregister(&tracer), KYMO_ENOTREGISTERED);
    CHECK_EQ(kymo_tracer_unregister(NULL), KYMO_ENOTREGISTERED);
    CHECK_OK(kymo_tracer_register(&tracer, &user));
    CHECK_EQ(kymo_tracer_register(&tracer, &user), KYMO_EREGISTERED);
    CHECK_EQ(kymo_tracer_register(&other, &user), KYMO_EREGISTERED);
    CHECK_EQ(kymo_tracer_unregister(&other), KYMO_ENOTREGISTERED);
    CHECK_STR(kymo_tracer_name(), "fake");
    CHECK_OK(kymo_tracer_unregister(&tracer));
    CHECK_EQ(kymo_tracer_unregister(&tracer), KYMO_ENOTREGISTERED);
    CHECK_OK(kymo_tracer_register(&other, &user));
    CHECK_STR(kymo_tracer_name(), "other");
    CHECK_OK(kymo_tracer_unregister(&other));
}

static void a_tracer_in_use_cannot_be_unregistered(void)
{
    CHECK_OK(kymo_tracer_register(&tracer, &user));
    begin("use");
    CHECK_EQ(kymo_tracer_unregister(&tracer), KYMO_ERUNNING);
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "create stop get_events destroy");
    CHECK_OK(kymo_tracer_unregister(&tracer));
}

static void a_tracer_registered_meanwhile_waits_for_the_next_session(void)
{
    begin("late");
    CHECK_OK(kymo_tracer_register(&tracer, &user));
    CHECK_EQ(kymo_tracer_pause(), 0);
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "");
    begin("next");
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "create stop get_events destroy");
    CHECK_OK(kymo_tracer_unregister(&tracer));
}

static void a_table_without_size_or_name_is_refused(void)
{
    struct kymo_tracer bad = tracer;
    bad.size = 0;
    CHECK_EQ(kymo_tracer_register(&bad, &user), -EINVAL);
    bad.size = sizeof(size_t);
    CHECK_EQ(kymo_tracer_register(&bad, &user), -EINVAL);
    bad = tracer;
    bad.name = NULL;
    CHECK_EQ(kymo_tracer_register(&bad, &user), -EINVAL);
    CHECK_EQ(kymo_tracer_register(NULL, &user), -EINVAL);
    CHECK_STR(kymo_tracer_name(), "none");
}

static void functions_that_an_older_table_is_too_short_for_count_as_absent(void)
{
    const size_t sizes[] = {offsetof(struct kymo_tracer, create),
                            offsetof(struct kymo_tracer, stop),
                            offsetof(struct kymo_tracer, restart),
                            offsetof(struct kymo_tracer, get_events), sizeof(tracer) + 64};
    const char *expected[] = {"", "create", "create stop stop", "create stop restart gc stop",
                              "create stop restart gc stop get_events destroy"};
    /* Behind an older table lies something else, and behind a newer one more of it. */
    struct {
        struct kymo_tracer table;
        char more[64];
    } memory;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        memset(&memory, 0x5a, sizeof(memory));
        memcpy(&memory.table, &tracer, sizes[i] < sizeof(tracer) ? sizes[i] : sizeof(tracer));
        memory.table.size = sizes[i];
        CHECK_OK(kymo_tracer_register(&memory.table, &user));
        begin("short");
        CHECK_EQ(kymo_tracer_pause(), 0);
        CHECK_EQ(kymo_tracer_resume(), 0);
        CHECK_EQ(kymo_tracer_gc_callback(), 0);
        CHECK_OK(kymo_stop());
        CHECK_STR(calls, expected[i]);
        CHECK_OK(kymo_tracer_unregister(&memory.table));
    }
}

static void any_function_may_be_null(void)
{
    struct kymo_tracer empty = {.size = sizeof(empty), .name = "empty"};
    for (int with_create = 0; with_create < 2; with_create++) {
        empty.create = with_create ? tracer_create : NULL;
        CHECK_OK(kymo_tracer_register(&empty, &user));
        CHECK_STR(kymo_tracer_name(), "empty");
        begin("null");
        if (with_create)
            CHECK_EQ(kymo_queue_enter(queue, 1, -1, 0), 0);
        CHECK_EQ(kymo_tracer_pause(), 0);
        CHECK_EQ(kymo_tracer_resume(), 0);
        CHECK_EQ(kymo_tracer_gc_callback(), 0);
        CHECK_OK(kymo_stop());
        CHECK_OK(kymo_tracer_unregister(&empty));
    }
}

static void a_tracer_that_cannot_begin_is_left_out_of_the_session(void)
{
    struct kymo_tracer failing = tracer;
    failing.create = tracer_create_fails;
    CHECK_OK(kymo_tracer_register(&failing, &user));
    begin("fails");
    kymo_instant("recorded all the same");
    CHECK_EQ(kymo_tracer_pause(), 0);
    CHECK_EQ(kymo_tracer_gc_callback(), 0);
    CHECK_OK(kymo_tracer_unregister(&failing)); /* the session does not use it */
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "create");

    struct kymo_capture *capture;
    struct kymo_info info = {.size = sizeof(info)};
    CHECK_OK(kymo_open(path, &capture));
    CHECK_OK(kymo_capture_info(capture, &info));
    CHECK_EQ(info.records, 1);
    const char *key, *value;
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &key, &value) == 0; i++)
        CHECK(strcmp(key, "tracer") != 0);
    kymo_close(capture);
}

/* ---- entries and events ---- */

enum { EACH = 300 };

struct entering {
    uint64_t first_key, tid;
    kymo_ns before[EACH], after[EACH];
};

static void *enter_some(void *arg)
{
    struct entering *e = arg;
    e->tid = (uint64_t)syscall(SYS_gettid);
    for (unsigned i = 0; i < EACH; i++) {
        e->before[i] = now();
        if (kymo_queue_enter(queue, e->first_key + i, (int32_t)(i % 3) - 1,
                             i % 3 ? 7 + i % 2 : 0) != 0)
            e->tid = 0;
        e->after[i] = now();
    }
    return NULL;
}

/* A session in which two threads enter EACH keys. */
static void record_entries(struct entering *here, struct entering *there)
{
    pthread_t thread;
    CHECK_OK(kymo_tracer_register(&tracer, &user));
    begin("entries");
    pthread_create(&thread, NULL, enter_some, there);
    enter_some(here);
    pthread_join(thread, NULL);
    CHECK_OK(kymo_stop());
    CHECK_OK(kymo_tracer_unregister(&tracer));
    CHECK(here->tid && there->tid && here->tid != there->tid);
    CHECK_EQ(seen_count, 2 * EACH);
}

static void entries_come_sorted_with_thread_and_time_from_every_thread(void)
{
    struct entering here = {.first_key = 1000}, there = {.first_key = 2000};
    record_entries(&here, &there);

    CHECK_LE(seen_end, now() + 1000);
    for (size_t i = 0; i < seen_count; i++) {
        const struct entering *e = seen[i].tid == here.tid ? &here : &there;
        uint64_t n = seen[i].trace_key - e->first_key;
        CHECK_EQ(seen[i].tid, e->tid);
        CHECK(n < EACH);
        CHECK_EQ(seen[i].device, (int32_t)(n % 3) - 1);
        CHECK_EQ(seen[i].resource, n % 3 ? 7 + n % 2 : 0);
        CHECK(i == 0 || seen[i - 1].ticks <= seen[i].ticks);
        CHECK_LE(e->before[n] - 1000, seen_ns[i]);
        CHECK_LE(seen_ns[i], e->after[n] + 1000);
        CHECK_LE(seen_ns[i], seen_end);
    }
}

/* The entry that EVENT was made of. */
static size_t entry_of(const struct kymo_event *event)
{
    char name[64];
    for (size_t i = 0; i < seen_count; i++) {
        snprintf(name, sizeof(name), "key %" PRIu64 " ☃", seen[i].trace_key);
        if (strcmp(name, event->name) == 0)
            return i;
    }
    CHECK_FAIL("no entry gave an event \"%s\"", event->name);
}

static void finished_events_are_in_the_capture_each_on_its_track(void)
{
    struct entering here = {.first_key = 1000}, there = {.first_key = 2000};
    record_entries(&here, &there);

    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    struct kymo_info info = {.size = sizeof(info)};
    CHECK_OK(kymo_open(path, &capture));
    CHECK_OK(kymo_capture_info(capture, &info));
    /* Two threads, and for each: no device, or one of two devices with one of two resources. */
    CHECK_EQ(info.threads, 10);
    CHECK_EQ(info.records, 2 * EACH);
    CHECK_EQ(info.gaps, 0);
    const char *key, *value, *found = "";
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &key, &value) == 0; i++)
        if (strcmp(key, "tracer") == 0)
            found = value;
    CHECK_STR(found, "fake");

    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    int times[2 * EACH] = {0};
    while (kymo_cursor_next(cursor, &event) > 0) {
        struct kymo_thread_info thread = {.size = sizeof(thread)};
        char track[64] = "";
        size_t i = entry_of(&event);
        CHECK_EQ(event.kind, KYMO_COMPLETE);
        CHECK_EQ(event.id, 1000); /* how long it lasted */
        CHECK_LE(seen_ns[i] - 1000, event.time);
        CHECK_LE(event.time, seen_ns[i] + 1000);
        CHECK_OK(kymo_capture_thread(capture, event.thread, &thread));
        CHECK_EQ(thread.tid, seen[i].tid);
        if (seen[i].device >= 0)
            snprintf(track, sizeof(track), "device %d resource %u", seen[i].device,
                     seen[i].resource);
        CHECK_STR(thread.name, track);
        times[i]++;
    }
    for (int i = 0; i < 2 * EACH; i++)
        CHECK_EQ(times[i], 1);
    kymo_cursor_free(cursor);
    kymo_close(capture);
}

static void entries_beyond_the_bound_are_dropped_and_counted(void)
{
    enum { MORE = 100, BOUND = (1 << 20) / 16 / sizeof(struct kymo_compressed) };
    CHECK_OK(kymo_tracer_register(&tracer, &user));
    begin("bound");
    for (size_t i = 0; i < BOUND; i++)
        CHECK_EQ(kymo_queue_enter(queue, i, -1, 0), 0);
    for (size_t i = 0; i < MORE; i++)
        CHECK_EQ(kymo_queue_enter(queue, i, -1, 0), -ENOSPC);
    CHECK_OK(kymo_stop());
    CHECK_OK(kymo_tracer_unregister(&tracer));
    CHECK_EQ(seen_count, BOUND);

    struct kymo_capture *capture;
    struct kymo_info info = {.size = sizeof(info)};
    CHECK_OK(kymo_open(path, &capture));
    CHECK_OK(kymo_capture_info(capture, &info));
    CHECK_EQ(info.records, BOUND);
    CHECK_EQ(info.gaps, 1);
    CHECK_EQ(info.lost_records, MORE);
    kymo_close(capture);
}

static void a_queue_is_closed_once_its_session_is_over(void)
{
    CHECK_OK(kymo_tracer_register(&tracer, &user));
    begin("over");
    CHECK_OK(kymo_stop());
    CHECK_EQ(kymo_queue_enter(queue, 1, -1, 0), KYMO_EIDLE);
    CHECK_OK(kymo_tracer_unregister(&tracer));
}

/* ---- memory tracers ---- */

static int memory_start(void *arg)
{
    CHECK(arg == &user);
    called("start");
    return 0;
}

static int memory_stop(void *arg)
{
    CHECK(arg == &user);
    called("stop");
    return -EAGAIN;
}

static int memory_export(void *arg, const char *where)
{
    CHECK(arg == &user);
    called("export");
    CHECK_STR(where, "some/path");
    return 7;
}

static const struct kymo_memory_tracer memory_tracer = {
    .size = sizeof(memory_tracer),
    .name = "fake memory",
    .start = memory_start,
    .stop = memory_stop,
    .export_memory_history = memory_export,
};

static void without_a_memory_tracer_everything_is_safe_and_does_nothing(void)
{
    const char *file = check_path("not written");
    CHECK_STR(kymo_memory_tracer_name(), "none");
    CHECK_EQ(kymo_memory_start(), 0);
    CHECK_EQ(kymo_memory_export(file), 0);
    CHECK_EQ(kymo_memory_stop(), 0);
    CHECK_EQ(access(file, F_OK), -1);
}

static void a_memory_tracer_is_asked_with_and_without_a_session(void)
{
    calls[0] = '\0';
    CHECK_OK(kymo_memory_tracer_register(&memory_tracer, &user));
    CHECK_STR(kymo_memory_tracer_name(), "fake memory");
    CHECK_EQ(kymo_memory_start(), 0);
    CHECK_EQ(kymo_memory_export("some/path"), 7);
    CHECK_EQ(kymo_memory_stop(), -EAGAIN);
    CHECK_STR(calls, "start export stop");
    begin("memory");
    CHECK_EQ(kymo_memory_start(), 0);
    CHECK_OK(kymo_stop());
    CHECK_STR(calls, "start");
    CHECK_OK(kymo_memory_tracer_unregister(&memory_tracer));
    CHECK_STR(kymo_memory_tracer_name(), "none");
    CHECK_EQ(kymo_memory_start(), 0);
    CHECK_STR(calls, "start");
}

static void only_the_registered_memory_tracer_can_be_unregistered(void)
{
    struct kymo_memory_tracer other = memory_tracer;
    CHECK_EQ(kymo_memory_tracer_unregister(&memory_tracer), KYMO_ENOTREGISTERED);
    CHECK_EQ(kymo_memory_tracer_unregister(NULL), KYMO_ENOTREGISTERED);
    CHECK_OK(kymo_memory_tracer_register(&memory_tracer, &user));
    CHECK_EQ(kymo_memory_tracer_register(&memory_tracer, &user), KYMO_EREGISTERED);
    CHECK_EQ(kymo_memory_tracer_register(&other, &user), KYMO_EREGISTERED);
    CHECK_EQ(kymo_memory_tracer_unregister(&other), KYMO_ENOTREGISTERED);
    CHECK_OK(kymo_memory_tracer_unregister(&memory_tracer));
}

static void a_memory_tracer_may_be_short_empty_or_refused(void)
{
    struct kymo_memory_tracer table = memory_tracer;
    table.size = offsetof(struct kymo_memory_tracer, stop);
    calls[0] = '\0';
    CHECK_OK(kymo_memory_tracer_register(&table, &user));
    CHECK_EQ(kymo_memory_start(), 0);
    CHECK_EQ(kymo_memory_export("some/path"), 0);
    CHECK_EQ(kymo_memory_stop(), 0);
    CHECK_STR(calls, "start");
    CHECK_OK(kymo_memory_tracer_unregister(&table));
    table = (struct kymo_memory_tracer){.size = sizeof(table), .name = "empty"};
    CHECK_OK(kymo_memory_tracer_register(&table, &user));
    CHECK_EQ(kymo_memory_start(), 0);
    CHECK_EQ(kymo_memory_export("some/path"), 0);
    CHECK_EQ(kymo_memory_stop(), 0);
    CHECK_OK(kymo_memory_tracer_unregister(&table));
    table.size = 0;
    CHECK_EQ(kymo_memory_tracer_register(&table, &user), -EINVAL);
    table.size = sizeof(table);
    table.name = NULL;
    CHECK_EQ(kymo_memory_tracer_register(&table, &user), -EINVAL);
    CHECK_EQ(kymo_memory_tracer_register(NULL, &user), -EINVAL);
}

static const struct check_case cases[] = {
    CHECK_CASE(without_a_tracer_everything_is_safe_and_does_nothing),
    CHECK_CASE(a_tracer_is_driven_through_its_life_in_order),
    CHECK_CASE(pausing_and_resuming_twice_does_nothing),
    CHECK_CASE(stats_are_busy_while_a_session_stops),
    CHECK_CASE(only_the_registered_tracer_can_be_unregistered),
    CHECK_CASE(a_tracer_in_use_cannot_be_unregistered),
    CHECK_CASE(a_tracer_registered_meanwhile_waits_for_the_next_session),
    CHECK_CASE(a_table_without_size_or_name_is_refused),
    CHECK_CASE(functions_that_an_older_table_is_too_short_for_count_as_absent),
    CHECK_CASE(any_function_may_be_null),
    CHECK_CASE(a_tracer_that_cannot_begin_is_left_out_of_the_session),
    CHECK_CASE(entries_come_sorted_with_thread_and_time_from_every_thread),
    CHECK_CASE(finished_events_are_in_the_capture_each_on_its_track),
    CHECK_CASE(entries_beyond_the_bound_are_dropped_and_counted),
    CHECK_CASE(a_queue_is_closed_once_its_session_is_over),
    CHECK_CASE(without_a_memory_tracer_everything_is_safe_and_does_nothing),
    CHECK_CASE(a_memory_tracer_is_asked_with_and_without_a_session),
    CHECK_CASE(only_the_registered_memory_tracer_can_be_unregistered),
    CHECK_CASE(a_memory_tracer_may_be_short_empty_or_refused),
};
CHECK_MAIN(cases)
