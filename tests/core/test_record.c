/* What the marking calls record is what a reader gets back. */
#include <kymo/kymo.h>
#include <pthread.h>

#include "check.h"

static struct kymo_capture *capture;

static void begin(const char *name)
{
    CHECK_OK(kymo_start(
        &(struct kymo_options){.size = sizeof(struct kymo_options), .path = check_path(name)}));
}

/* Stop, open, and give a cursor over everything. */
static struct kymo_cursor *finish(const char *name)
{
    struct kymo_cursor *cursor;
    CHECK_OK(kymo_stop());
    CHECK_OK(kymo_open(check_path(name), &capture));
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    return cursor;
}

static struct kymo_event next(struct kymo_cursor *cursor)
{
    struct kymo_event event = {.size = sizeof(event)};
    CHECK_EQ(kymo_cursor_next(cursor, &event), 1);
    return event;
}

static void done(struct kymo_cursor *cursor)
{
    struct kymo_event event = {.size = sizeof(event)};
    CHECK_EQ(kymo_cursor_next(cursor, &event), 0);
    kymo_cursor_free(cursor);
    kymo_close(capture);
}

static void spans_nest_and_keep_their_names(void)
{
    begin("spans");
    struct kymo_span outer = kymo_span_begin("outer");
    struct kymo_span inner = kymo_span_begin("inner, ünïcode");
    kymo_span_end(inner);
    kymo_span_end(outer);
    struct kymo_cursor *cursor = finish("spans");

    const char *names[] = {"outer", "inner, ünïcode", "inner, ünïcode", "outer"};
    const int kinds[] = {KYMO_ENTER, KYMO_ENTER, KYMO_LEAVE, KYMO_LEAVE};
    kymo_ns last = 0;
    for (int i = 0; i < 4; i++) {
        struct kymo_event event = next(cursor);
        CHECK_EQ(event.kind, kinds[i]);
        CHECK_STR(event.name, names[i]);
        CHECK_LE(last, event.time);
        last = event.time;
    }
    done(cursor);
}

static void counters_keep_every_double_exactly(void)
{
    const double values[] = {0, -0.0, 1, -1, 1e15, 1e300, 0.1, -123456, 9007199254740993.0, 5e-324};
    begin("counters");
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        kymo_counter("value", values[i]);
    struct kymo_cursor *cursor = finish("counters");

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct kymo_event event = next(cursor);
        CHECK_EQ(event.kind, KYMO_COUNTER);
        if (memcmp(&event.value, &values[i], sizeof(double)) != 0)
            CHECK_FAIL("value %zu is %.17g, was %.17g", i, event.value, values[i]);
    }
    done(cursor);
}

static void flows_and_async_spans_keep_their_ids(void)
{
    begin("links");
    kymo_flow_out("flow", 1);
    kymo_flow_in("flow", UINT64_MAX);
    kymo_async_begin("async", 0);
    kymo_async_end("async", UINT64_C(1) << 63);
    kymo_instant("instant");
    struct kymo_cursor *cursor = finish("links");

    const int kinds[] = {KYMO_FLOW_OUT, KYMO_FLOW_IN, KYMO_ASYNC_BEGIN, KYMO_ASYNC_END,
                         KYMO_INSTANT};
    const uint64_t ids[] = {1, UINT64_MAX, 0, UINT64_C(1) << 63, 0};
    for (int i = 0; i < 5; i++) {
        struct kymo_event event = next(cursor);
        CHECK_EQ(event.kind, kinds[i]);
        CHECK_EQ(event.id, ids[i]);
    }
    done(cursor);
}

static void equal_names_at_different_addresses_have_one_key(void)
{
    char one[] = "same", two[] = "same";
    begin("keys");
    kymo_instant(one);
    kymo_instant(two);
    kymo_instant(kymo_intern("other"));
    CHECK(kymo_intern(one) == kymo_intern(two));
    struct kymo_cursor *cursor = finish("keys");

    uint32_t first = next(cursor).key;
    CHECK_EQ(next(cursor).key, first);
    CHECK(next(cursor).key != first);
    done(cursor);
}

static void many_names_survive_the_growth_of_every_table(void)
{
    enum { COUNT = 20000 };
    static char names[COUNT][24];
    begin("many");
    for (int i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "name %d", i);
        kymo_instant(names[i]);
    }
    for (int i = 0; i < COUNT; i++)
        kymo_instant(names[i]);
    struct kymo_cursor *cursor = finish("many");

    for (int i = 0; i < 2 * COUNT; i++)
        CHECK_STR(next(cursor).name, names[i % COUNT]);
    done(cursor);
}

static void a_name_longer_than_a_chunk_is_kept_whole(void)
{
    size_t len = 200000;
    char *name = malloc(len + 1);
    memset(name, 'n', len);
    memcpy(name + len - 3, "end", 4);
    begin("long");
    kymo_instant(name);
    struct kymo_cursor *cursor = finish("long");

    struct kymo_event event = next(cursor);
    CHECK_EQ(strlen(event.name), len);
    CHECK_STR(event.name, name);
    done(cursor);
    free(name);
}

static void *named_thread(void *arg)
{
    kymo_thread_name(arg);
    kymo_instant("here");
    return NULL;
}

static void threads_and_metadata_are_described(void)
{
    begin("threads");
    kymo_process_name("my program");
    kymo_metadata("rank", "3");
    kymo_metadata("rank", "4");
    kymo_instant("here");
    pthread_t thread;
    pthread_create(&thread, NULL, named_thread, "worker ☃");
    pthread_join(thread, NULL);
    struct kymo_cursor *cursor = finish("threads");

    struct kymo_thread_info info = {.size = sizeof(info)};
    CHECK_OK(kymo_capture_thread(capture, 0, &info));
    CHECK_EQ(info.tid, getpid());
    CHECK_EQ(info.records, 1);
    CHECK_OK(kymo_capture_thread(capture, 1, &info));
    CHECK_STR(info.name, "worker ☃");
    CHECK(info.tid != getpid());
    CHECK_EQ(kymo_capture_thread(capture, 2, &info), -22);
    const char *key, *value;
    int found = 0;
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &key, &value) == 0; i++) {
        if (strcmp(key, "rank") == 0) {
            CHECK_STR(value, "4");
            found++;
        } else if (strcmp(key, "process_name") == 0) {
            CHECK_STR(value, "my program");
            found++;
        }
    }
    CHECK_EQ(found, 2);
    next(cursor);
    next(cursor);
    done(cursor);
}

static void marking_without_a_session_does_nothing(void)
{
    struct kymo_span span = kymo_span_begin("off");
    CHECK_EQ(span.key, 0);
    kymo_span_end(span);
    kymo_instant("off");
    kymo_counter("off", 1);
    kymo_flow_out("off", 1);
    kymo_thread_name("off");
    kymo_metadata("off", "off");
    CHECK_STR(kymo_intern("off"), "off");
    CHECK(!kymo_running());
}

static void a_span_that_outlives_its_session_does_not_end_in_the_next(void)
{
    begin("one");
    struct kymo_span span = kymo_span_begin("left open");
    struct kymo_cursor *cursor = finish("one");
    CHECK_EQ(next(cursor).kind, KYMO_ENTER);
    done(cursor);

    begin("two");
    kymo_instant("here");
    kymo_span_end(span);
    cursor = finish("two");
    CHECK_EQ(next(cursor).kind, KYMO_INSTANT);
    done(cursor);
}

static void windows_and_threads_select_events(void)
{
    begin("window");
    for (int i = 0; i < 10000; i++)
        kymo_instant("tick");
    struct kymo_cursor *cursor = finish("window");
    kymo_ns times[10000];
    for (int i = 0; i < 10000; i++)
        times[i] = next(cursor).time;
    kymo_cursor_free(cursor);

    struct kymo_window window = {
        .size = sizeof(window), .from = times[2500], .to = times[7500], .thread = 0};
    long expected = 0;
    for (int i = 0; i < 10000; i++)
        expected += times[i] >= window.from && times[i] < window.to;
    CHECK_OK(kymo_cursor_new(capture, &window, &cursor));
    struct kymo_event event = {.size = sizeof(event)};
    long seen = 0;
    while (kymo_cursor_next(cursor, &event) > 0) {
        CHECK(event.time >= window.from && event.time < window.to);
        seen++;
    }
    CHECK_EQ(seen, expected);
    kymo_cursor_free(cursor);
    window.thread = 1;
    CHECK_EQ(kymo_cursor_new(capture, &window, &cursor), -22);
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(spans_nest_and_keep_their_names),
    CHECK_CASE(counters_keep_every_double_exactly),
    CHECK_CASE(flows_and_async_spans_keep_their_ids),
    CHECK_CASE(equal_names_at_different_addresses_have_one_key),
    CHECK_CASE(many_names_survive_the_growth_of_every_table),
    CHECK_CASE(a_name_longer_than_a_chunk_is_kept_whole),
    CHECK_CASE(threads_and_metadata_are_described),
    CHECK_CASE(marking_without_a_session_does_nothing),
    CHECK_CASE(a_span_that_outlives_its_session_does_not_end_in_the_next),
    CHECK_CASE(windows_and_threads_select_events),
};
CHECK_MAIN(cases)
