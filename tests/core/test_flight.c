/* A flight recorder keeps the last that was recorded, writes it when asked, and counts
   what it kept no longer. */
#include <kymo/source.h>

#include "flown.h"
#include "live.h"

/* ---- what is kept ---- */

static void what_fits_is_kept_and_written_by_stop(void)
{
    flight_start("fits", 16 << 20, 0);
    record(0, 50000);
    CHECK_EQ(fault_stats().written_records, 0);
    CHECK_OK(kymo_stop());

    struct found found = look("fits");
    CHECK_EQ(found.info.ending, KYMO_ENDED_CLEAN);
    CHECK_EQ(found.info.indexed, 1);
    CHECK_EQ(found.kept, 50000);
    CHECK_EQ(found.info.expired_records, 0);
    CHECK(access(check_path("fits.live"), F_OK) != 0);
}

/* Record COUNT numbers into a ring of BYTES, or more if all were dropped because the writer thread had
   no turn on a processor. The last are kept, without a hole. */
static struct found overflow(uint64_t bytes, uint64_t count, uint64_t budget, int policy)
{
    struct kymo_options options = flight_options("overflow", bytes, 0);
    options.budget = budget;
    options.policy = policy;
    CHECK_OK(kymo_start(&options));
    record(0, count);
    for (; policy == KYMO_DROP && !fault_stats().expired_records; count += 100000)
        record(count, count + 100000);
    settle();
    CHECK_OK(kymo_flight_write("test"));
    struct kymo_stats stats = fault_stats();
    CHECK_OK(kymo_stop());

    struct found found = look("overflow");
    CHECK_EQ(found.kept + found.marks + found.expired + found.lost, count + 1);
    CHECK_EQ(stats.expired_records, found.expired);
    CHECK_EQ(stats.dropped_records, found.lost);
    if (policy == KYMO_HELP) {
        CHECK_EQ(found.last, count - 1);
        CHECK_EQ(found.marks, 1);
        CHECK_STR(found.names[0], "kymograph flight: test");
    }
    return found;
}

static void the_last_that_fits_is_kept_and_the_rest_counted(void)
{
    const uint64_t count = FAULT_TIMES(2000000, 300000);
    struct found found = overflow(256 << 10, count, 0, KYMO_HELP);
    CHECK_EQ(found.info.ending, KYMO_ENDED_CLEAN);
    CHECK_EQ(found.lost, 0);
    CHECK_EQ(found.info.gaps, 0);
    CHECK(found.expired > 0);
    CHECK_EQ(found.holes, 1); /* before the first */
    CHECK_EQ(found.first, count - found.kept);
    /* The ring was nearly full, and nothing but it and the open chunk was written. */
    CHECK_LE(found.info.file_bytes, (256 << 10) + (64 << 10));
    CHECK(found.info.file_bytes > (256 << 10) * 3 / 4);
    printf("# %" PRIu64 " of %" PRIu64 " kept\n", found.kept, count);
}

static void a_ring_smaller_than_a_block_keeps_what_chunks_hold(void)
{
    struct found found = overflow(64, 100000, 0, KYMO_HELP);
    CHECK_EQ(found.holes, 1);
    CHECK(found.kept > 0 && found.kept <= KYMO__CHUNK_RECORDS);
    CHECK_EQ(found.lost, 0);
}

static void threads_that_help_lose_nothing(void)
{
    struct found found = overflow(128 << 10, FAULT_TIMES(2000000, 300000), SMALL_BUDGET, KYMO_HELP);
    CHECK_EQ(found.lost, 0);
    CHECK(found.expired > 0);
}

static void dropped_and_expired_records_are_counted_separately(void)
{
    struct found found = overflow(128 << 10, FAULT_TIMES(2000000, 500000), SMALL_BUDGET, KYMO_DROP);
    CHECK(found.expired > 0);
    printf("# %" PRIu64 " lost, %" PRIu64 " expired\n", found.lost, found.expired);
}

static void what_is_older_than_asked_for_expires(void)
{
    const kymo_ns span = 300000000;
    flight_start("span", 0, span);
    CHECK_EQ(fault_stats().expired_records, 0);
    record(0, 20000);
    fault_sleep(span + 100000000);
    record(20000, 20100);
    fault_sleep(span / 3);
    record(20100, 20200);
    kymo_ns now = fault_now();
    CHECK_OK(kymo_flight_write("span"));
    CHECK_OK(kymo_stop());

    /* The last chunk of the first 20000 was still open, and goes too. */
    struct found found = look("span");
    CHECK_EQ(found.expired, 20000);
    CHECK_EQ(found.kept, 200);
    CHECK_EQ(found.first, 20000);
    CHECK(found.first_time >= now - span);
}

static void a_thread_that_records_seldom_keeps_no_longer_than_others(void)
{
    flight_start("seldom", 0, 100000000);
    for (uint64_t i = 0; i < 8; i++) {
        record(i, i + 1);
        fault_sleep(40000000);
    }
    kymo_ns now = fault_now();
    CHECK_OK(kymo_flight_write("seldom"));
    CHECK_OK(kymo_stop());

    struct found found = look("seldom");
    CHECK_EQ(found.kept + found.expired, 8);
    CHECK(found.kept >= 1 && found.kept <= 3);
    CHECK_EQ(found.last, 7);
    CHECK(found.first_time >= now - 100000000);
}

static void sleep_for_long(void *state)
{
    (void)state;
    fault_sleep(600000000);
}

static void a_stop_that_takes_long_keeps_what_was_young_when_it_began(void)
{
    static const struct kymo_source source = {
        .size = sizeof(source), .name = "slow to stop", .stop = sleep_for_long};
    CHECK_OK(kymo_source_register(&source, NULL));
    flight_start("slow", 0, 500000000);
    record(0, 5000);
    fault_sleep(100000000);
    CHECK_OK(kymo_stop());
    CHECK_OK(kymo_source_unregister(&source));

    struct found found = look("slow");
    CHECK_EQ(found.kept, 5000);
    CHECK_EQ(found.expired, 0);
}

static void *create(void *user, struct kymo_queue *queue)
{
    (void)queue;
    return user;
}

static int64_t turn_in(void *state, const struct kymo_converter *converter,
                       const struct kymo_compressed *enters, size_t count, kymo_ns end,
                       kymo_finish_fn *finish, void *arg)
{
    const uint64_t *events = state;
    (void)converter, (void)enters, (void)count;
    for (uint64_t i = 0; i < *events; i++)
        finish(arg, &(struct kymo_finished){.size = sizeof(struct kymo_finished),
                                            .name = "kernel",
                                            .start = end - (kymo_ns)(*events - i),
                                            .end = end});
    return (int64_t)*events;
}

static void events_a_tracer_delivers_at_the_end_do_not_expire_the_rest(void)
{
    static const struct kymo_tracer tracer = {
        .size = sizeof(tracer), .name = "late", .create = create, .get_events = turn_in};
    uint64_t events = 100000;
    struct kymo_capture *capture;
    CHECK_OK(kymo_tracer_register(&tracer, &events));
    flight_start("tracer", 128 << 10, 0);
    record(0, 5000);
    settle();
    CHECK_OK(kymo_stop());
    CHECK_OK(kymo_tracer_unregister(&tracer));

    CHECK_OK(kymo_open(check_path("tracer"), &capture));
    struct kymo_thread_info thread = {.size = sizeof(thread)};
    CHECK_OK(kymo_capture_thread(capture, 0, &thread));
    CHECK_EQ(thread.records, 5000);
    CHECK_OK(kymo_capture_thread(capture, 1, &thread));
    struct kymo_info info = fault_info(capture);
    CHECK_EQ(info.records, 5000 + thread.records);
    CHECK_EQ(thread.records + info.expired_records + info.lost_records, events);
    CHECK_EQ(info.lost_records, 0);
    printf("# %" PRIu64 " of the tracer's events kept\n", thread.records);
    kymo_close(capture);
}

static void memory_and_file_stay_bounded_over_ten_million_records(void)
{
    if (FAULT_TSAN || FAULT_ASAN)
        CHECK_SKIP("a sanitizer's own memory would be measured");
    const uint64_t ring = 4 << 20, budget = 8 << 20;
    struct kymo_options options = flight_options("bounded", ring, 0);
    options.budget = budget;
    CHECK_OK(kymo_start(&options));
    record(0, 1000000);
    uint64_t before = (uint64_t)fault_resident(), most = 0;
    for (uint64_t i = 1; i < 10; i++) {
        record(i * 1000000, (i + 1) * 1000000);
        uint64_t now = (uint64_t)fault_resident();
        most = now > most ? now : most;
    }
    CHECK_LE(fault_stats().written_bytes, 65536);
    CHECK_OK(kymo_stop());
    printf("# %" PRIu64 " KiB resident after a tenth, %" PRIu64 " KiB at most\n", before >> 10,
           most >> 10);
    CHECK_LE(most, before + budget + ring + (2 << 20));

    struct found found = look("bounded");
    CHECK_EQ(found.kept + found.expired, 10000000);
    CHECK_EQ(found.last, 9999999);
    CHECK_LE(found.info.file_bytes, ring + budget);
}

/* ---- writing ---- */

static void writing_twice_gives_two_windows_without_repeats(void)
{
    flight_start("twice", 256 << 10, 0);
    record(0, 400000);
    settle();
    CHECK_OK(kymo_flight_write("first"));
    uint64_t first = fault_stats().written_records;
    record(400000, 800000);
    settle();
    CHECK_OK(kymo_flight_write("second"));
    uint64_t second = fault_stats().written_records;
    record(800000, 800001);
    CHECK_OK(kymo_stop());

    struct found found = look("twice");
    CHECK_EQ(found.kept + found.expired, 800001);
    CHECK_EQ(found.holes, 2);
    CHECK_EQ(found.marks, 2);
    CHECK_STR(found.names[0], "kymograph flight: first");
    CHECK_STR(found.names[1], "kymograph flight: second");
    CHECK_EQ(found.kept + found.marks, second + 1);
    CHECK(first > 0 && first < second);
    CHECK_EQ(found.last, 800000);
}

static void records_still_in_chunks_are_written_too(void)
{
    flight_start("burst", 4096, 0);
    record(0, 50000); /* sooner than kymograph's thread looks, or not */
    CHECK_OK(kymo_flight_write("burst"));
    uint64_t written = fault_stats().written_records;
    record(50000, 100000);
    CHECK_OK(kymo_stop());

    struct found found = look("burst");
    CHECK_EQ(found.kept + found.expired, 100000);
    CHECK_EQ(found.last, 99999);
    CHECK(found.kept + 1 > written);
    printf("# %" PRIu64 " of 100000 kept\n", found.kept);
}

static void parts_of_one_chunk_follow_one_another(void)
{
    flight_start("parts", 1 << 20, 0);
    for (uint64_t i = 0; i < 100; i++) {
        record(i, i + 1);
        CHECK_OK(kymo_flight_write(""));
    }
    CHECK_OK(kymo_flight_write(NULL));
    CHECK_OK(kymo_stop());

    struct found found = look("parts");
    CHECK_EQ(found.kept, 100);
    CHECK_EQ(found.holes, 0);
    CHECK_EQ(found.expired, 0);
    CHECK_EQ(found.marks, 101);
    CHECK_STR(found.names[0], "kymograph flight: ");
}

static void a_capture_may_be_looked_at_between_two_writes(void)
{
    flight_start("between", 64 << 10, 0);
    record(0, 300000);
    settle();
    CHECK_OK(kymo_flight_write("once"));
    record(300000, 300010);

    struct found found = look("between");
    CHECK_EQ(found.info.ending, KYMO_ENDED_RUNNING);
    CHECK_EQ(found.info.recovered_records, 10);
    CHECK_EQ(found.kept + found.expired, 300010);
    CHECK_EQ(found.holes, 1);

    CHECK_OK(kymo_stop());
    struct found after = look("between");
    CHECK_EQ(after.kept, found.kept);
    CHECK_EQ(after.expired, found.expired);
}

static void names_are_known_when_their_first_records_have_expired(void)
{
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    flight_start("names", 64 << 10, 0);
    kymo_thread_name("the recorder");
    for (int i = 0; i < 300000; i++) {
        kymo_counter("said early", i * 0.1);
        if (i % 60000 == 59999)
            settle(); /* a writer that gets no core would lose some */
    }
    kymo_instant("said late");
    settle();
    CHECK_OK(kymo_stop());

    CHECK_OK(kymo_open(check_path("names"), &capture));
    CHECK(fault_info(capture).expired_records > 0);
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    CHECK_EQ(kymo_cursor_next(cursor, &event), 1);
    CHECK_EQ(event.kind, KYMO_GAP);
    CHECK_EQ(event.detail, KYMO_GAP_FLIGHT);
    while (kymo_cursor_next(cursor, &event) > 0)
        CHECK(strcmp(event.name, "said early") == 0 || strcmp(event.name, "said late") == 0);
    CHECK_STR(event.name, "said late");
    struct kymo_thread_info thread = {.size = sizeof(thread)};
    CHECK_OK(kymo_capture_thread(capture, 0, &thread));
    CHECK_STR(thread.name, "the recorder");
    CHECK_EQ(thread.lost, 0);
    kymo_cursor_free(cursor);
    kymo_close(capture);
}

static void only_a_flight_recorder_can_be_asked(void)
{
    CHECK_EQ(kymo_flight_write("idle"), KYMO_EIDLE);
    kymo_flight_request();
    CHECK_OK(fault_start(check_path("plain"), 0, KYMO_HELP));
    CHECK_EQ(kymo_flight_write("plain"), KYMO_ENOTFLIGHT);
    CHECK(strstr(kymo_strerror(KYMO_ENOTFLIGHT), "flight recorder"));
    kymo_flight_request();
    record(0, 10);
    CHECK_OK(kymo_stop());
    CHECK_EQ(look("plain").marks, 0);

    const struct kymo_options refused = flight_options("refused", 0, -1);
    CHECK_EQ(kymo_start(&refused), -EINVAL);
    const struct kymo_options enormous = flight_options("refused", UINT64_MAX, 0);
    CHECK_EQ(kymo_start(&enormous), -ENOMEM);
    CHECK(access(check_path("refused"), F_OK) != 0);

    /* A request to another session is not one to this. */
    flight_start("next", 1 << 20, 0);
    record(0, 10);
    fault_sleep(250000000);
    CHECK_EQ(fault_stats().written_records, 0);
    CHECK_OK(kymo_stop());
    CHECK_EQ(look("next").marks, 0);
}

static const struct check_case cases[] = {
    CHECK_CASE(what_fits_is_kept_and_written_by_stop),
    CHECK_CASE(the_last_that_fits_is_kept_and_the_rest_counted),
    CHECK_CASE(a_ring_smaller_than_a_block_keeps_what_chunks_hold),
    CHECK_CASE(threads_that_help_lose_nothing),
    CHECK_CASE(dropped_and_expired_records_are_counted_separately),
    CHECK_CASE(what_is_older_than_asked_for_expires),
    CHECK_CASE(a_thread_that_records_seldom_keeps_no_longer_than_others),
    CHECK_CASE(a_stop_that_takes_long_keeps_what_was_young_when_it_began),
    CHECK_CASE(events_a_tracer_delivers_at_the_end_do_not_expire_the_rest),
    CHECK_CASE(memory_and_file_stay_bounded_over_ten_million_records),
    CHECK_CASE(writing_twice_gives_two_windows_without_repeats),
    CHECK_CASE(records_still_in_chunks_are_written_too),
    CHECK_CASE(parts_of_one_chunk_follow_one_another),
    CHECK_CASE(a_capture_may_be_looked_at_between_two_writes),
    CHECK_CASE(names_are_known_when_their_first_records_have_expired),
    CHECK_CASE(only_a_flight_recorder_can_be_asked),
};
CHECK_MAIN(cases)
