/* A flight recorder keeps the last that was recorded, writes it when asked, and counts
   what it kept no longer. */
#include <kymo/source.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "alloc.h"
#include "fault.h"
#include "live.h"

enum { MOST = 24 };

static struct kymo_options flight_options(const char *name, uint64_t bytes, kymo_ns ns)
{
    return (struct kymo_options){.size = sizeof(struct kymo_options),
                                 .path = check_path(name),
                                 .flight_bytes = bytes,
                                 .flight_ns = ns};
}

static void flight_start(const char *name, uint64_t bytes, kymo_ns ns)
{
    const struct kymo_options options = flight_options(name, bytes, ns);
    CHECK_OK(kymo_start(&options));
}

/* What a reader finds of threads that record `value` as 0, 1, 2, … and marks. */
struct found {
    struct kymo_info info;
    uint64_t made[MOST]; /* numbers seen or expired or lost, by thread */
    uint64_t kept, expired, lost;
    uint64_t holes;     /* times a number is not the one after the last */
    double first, last; /* of thread 0, or of the only thread there is */
    kymo_ns first_time; /* of the first number */
    unsigned marks;     /* instants */
    char names[4][64];  /* of the first marks */
};

static struct found look(const char *name)
{
    struct found found = {.first = -1};
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    double last[MOST];
    kymo_ns time = INT64_MIN;
    int rc;
    for (int i = 0; i < MOST; i++)
        last[i] = -1;
    CHECK_OK(kymo_open(check_path(name), &capture));
    found.info = fault_info(capture);
    CHECK_EQ(kymo_capture_verify(capture), 0);
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while ((rc = kymo_cursor_next(cursor, &event)) > 0) {
        CHECK(event.thread < MOST);
        CHECK_LE(time, event.time);
        time = event.time;
        if (event.kind == KYMO_GAP) {
            CHECK(event.id > 0);
            *(event.detail == KYMO_GAP_FLIGHT ? &found.expired : &found.lost) += event.id;
            found.made[event.thread] += event.id;
        } else if (event.kind == KYMO_INSTANT) {
            if (found.marks < 4)
                snprintf(found.names[found.marks], sizeof(found.names[0]), "%s", event.name);
            found.marks++;
        } else {
            CHECK_EQ(event.kind, KYMO_COUNTER);
            CHECK_STR(event.name, "value");
            if (event.value <= last[event.thread])
                CHECK_FAIL("thread %u has %.0f after %.0f", event.thread, event.value,
                           last[event.thread]);
            found.holes += event.value != last[event.thread] + 1;
            last[event.thread] = event.value;
            found.made[event.thread]++;
            if (!found.kept++)
                found.first_time = event.time;
            if (found.first < 0)
                found.first = event.value;
            found.last = event.value;
        }
    }
    CHECK_OK(rc);
    CHECK_EQ(found.info.records, found.kept + found.marks);
    CHECK_EQ(found.info.lost_records, found.lost);
    if (found.info.ending == KYMO_ENDED_CLEAN)
        CHECK_EQ(found.info.expired_records, found.expired);
    kymo_cursor_free(cursor);
    kymo_close(capture);
    return found;
}

static void record(uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        kymo_counter("value", (double)i);
}

/* Wait until kymo's thread has moved every full chunk into the ring. */
static void settle(void)
{
    for (uint64_t before = UINT64_MAX, now = 0; now != before;) {
        before = fault_stats().expired_records;
        fault_sleep(FAULT_TIMES(250000000, 500000000));
        now = fault_stats().expired_records;
    }
}

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

/* Record COUNT numbers into a ring of BYTES. The last are kept, without a hole. */
static struct found overflow(uint64_t bytes, uint64_t count, uint64_t budget, int policy)
{
    struct kymo_options options = flight_options("overflow", bytes, 0);
    options.budget = budget;
    options.policy = policy;
    CHECK_OK(kymo_start(&options));
    record(0, count);
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
        CHECK_STR(found.names[0], "kymo flight: test");
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

static void what_is_dropped_is_counted_beside_what_expired(void)
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
    CHECK_STR(found.names[0], "kymo flight: first");
    CHECK_STR(found.names[1], "kymo flight: second");
    CHECK_EQ(found.kept + found.marks, second + 1);
    CHECK(first > 0 && first < second);
    CHECK_EQ(found.last, 800000);
}

static void what_is_still_in_chunks_is_written_too(void)
{
    flight_start("burst", 4096, 0);
    record(0, 50000); /* sooner than kymo's thread looks, or not */
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
    CHECK_STR(found.names[0], "kymo flight: ");
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
    for (int i = 0; i < 300000; i++)
        kymo_counter("said early", i * 0.1);
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
    CHECK_EQ(kymo_flight_write("idle"), -KYMO_EIDLE);
    kymo_flight_request();
    CHECK_OK(fault_start(check_path("plain"), 0, KYMO_HELP));
    CHECK_EQ(kymo_flight_write("plain"), -KYMO_ENOTFLIGHT);
    CHECK(strstr(kymo_strerror(-KYMO_ENOTFLIGHT), "flight recorder"));
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

static void a_start_without_memory_leaves_nothing_behind(void)
{
    const struct kymo_options options = flight_options("memory", 1 << 20, 0);
    int rc = -ENOMEM;
    for (long n = 0; rc == -ENOMEM; n++) {
        CHECK(n < 1000);
        kymo__alloc_fail_after(n);
        rc = kymo_start(&options);
        kymo__alloc_fail_after(-1);
        CHECK(rc == 0 || access(check_path("memory"), F_OK) != 0);
    }
    CHECK_OK(rc);
    record(0, 10);
    kymo__alloc_fail_after(0);
    rc = kymo_flight_write("memory");
    kymo__alloc_fail_after(-1);
    CHECK_EQ(rc, -ENOMEM);
    CHECK_OK(kymo_flight_write("memory"));
    CHECK_OK(kymo_stop());
    CHECK_EQ(look("memory").kept, 10);
    CHECK_EQ(look("memory").marks, 1);
}

/* ---- signals ---- */

static void ask(int number)
{
    (void)number;
    kymo_flight_request();
}

static void a_signal_handler_may_ask(void)
{
    const struct sigaction action = {.sa_handler = ask};
    struct sigaction before;
    sigaction(SIGUSR2, &action, &before);
    flight_start("signal", 1 << 20, 0);
    record(0, 1000);
    raise(SIGUSR2);
    int64_t until = fault_now() + 10000000000;
    while (fault_stats().written_records < 1001 && fault_now() < until)
        fault_sleep(1000000);
    CHECK_EQ(fault_stats().written_records, 1001);
    record(1000, 1010);
    CHECK_OK(kymo_stop());
    sigaction(SIGUSR2, &before, NULL);

    struct found found = look("signal");
    CHECK_EQ(found.kept, 1010);
    CHECK_EQ(found.marks, 1);
    CHECK_STR(found.names[0], "kymo flight: signal");
    CHECK_EQ(found.info.threads, 2); /* the mark is on kymo's own */
}

/* ---- many threads ---- */

static struct worker {
    pthread_t thread;
    uint64_t limit, made;
    uint32_t index;
} workers[MOST];

static uint32_t running;

static void *work(void *arg)
{
    struct worker *worker = arg;
    numbered_name_thread(worker->index);
    for (; worker->made < worker->limit; worker->made++)
        kymo_counter("value", (double)worker->made);
    __atomic_fetch_sub(&running, 1u, __ATOMIC_RELEASE);
    return NULL;
}

static void start_workers(unsigned count, uint64_t limit)
{
    running = count;
    for (unsigned i = 0; i < count; i++) {
        workers[i] = (struct worker){.index = i, .limit = limit};
        CHECK_EQ(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
}

static void join_workers(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
}

/* COUNT threads record at full speed while the ring is written again and again, by calls
   and by requests: every number is in the file once, or counted. */
static void race(unsigned count, uint64_t limit, uint64_t bytes, kymo_ns span, int policy)
{
    struct kymo_options options = flight_options("race", bytes, span);
    options.budget = SMALL_BUDGET;
    options.policy = policy;
    CHECK_OK(kymo_start(&options));
    start_workers(count, limit);
    unsigned written = 0;
    while (__atomic_load_n(&running, __ATOMIC_ACQUIRE)) {
        if (written % 4 == 3)
            kymo_flight_request();
        else
            CHECK_OK(kymo_flight_write("race"));
        written++;
        fault_sleep((int64_t)fault_random(3000000));
    }
    join_workers(count);
    struct kymo_stats stats = fault_stats();
    CHECK_OK(kymo_stop());

    struct found found = look("race");
    CHECK_EQ(found.info.ending, KYMO_ENDED_CLEAN);
    /* Marks may be dropped or expire like everything. */
    uint64_t all = found.kept + found.expired + found.lost;
    CHECK_LE(count * limit, all + found.marks);
    CHECK_LE(all, count * limit + written);
    CHECK_LE(stats.expired_records, found.expired);
    printf("# written %u times: %" PRIu64 " kept, %" PRIu64 " expired, %" PRIu64 " lost, %" PRIu64
           " chunks helped\n",
           written, found.kept, found.expired, found.lost, stats.helped_chunks);
    unsigned whole = 0;
    for (int i = 0; i < MOST; i++)
        whole += found.made[i] == limit;
    CHECK_LE(count, whole);
}

static void writing_while_threads_help_repeats_and_loses_nothing(void)
{
    race(4, FAULT_TIMES(600000, 60000), 64 << 10, 0, KYMO_HELP);
    race(4, FAULT_TIMES(600000, 60000), 8 << 20, 0, KYMO_HELP);
}

static void writing_while_threads_drop_repeats_nothing(void)
{
    race(4, FAULT_TIMES(600000, 60000), 64 << 10, 0, KYMO_DROP);
}

static void writing_while_records_grow_too_old_repeats_and_loses_nothing(void)
{
    race(4, FAULT_TIMES(600000, 60000), 8 << 20, 2000000, KYMO_HELP);
}

static void more_threads_than_chunks_can_be_written(void)
{
    race(MOST - 4, FAULT_TIMES(30000, 5000), 256 << 10, 0, KYMO_DROP);
}

static uint32_t over;

static void *write_until_over(void *arg)
{
    uint64_t *written = arg;
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        kymo_flight_request();
        int rc = kymo_flight_write("again");
        if (rc != 0 && rc != -KYMO_EIDLE)
            *written = UINT64_MAX / 2; /* which fails the check below */
        *written += rc == 0;
    }
    return NULL;
}

static void sessions_may_stop_and_start_while_others_ask(void)
{
    uint64_t written[3] = {0};
    pthread_t threads[3];
    over = 0;
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, write_until_over, &written[i]), 0);
    for (int i = 0; i < FAULT_TIMES(60, 15); i++) {
        flight_start("others", 1 << 20, 0);
        record(0, 1000);
        fault_sleep((int64_t)fault_random(2000000));
        CHECK_OK(kymo_stop());
        CHECK_EQ(look("others").kept, 1000);
    }
    __atomic_store_n(&over, 1u, __ATOMIC_RELEASE);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("# written %" PRIu64 " times\n", written[0] + written[1] + written[2]);
    CHECK(written[0] + written[1] + written[2] < UINT64_MAX / 4);
}

/* Threads that end leave their last chunk behind, and there may be more of them than
   expired records have slots. */
static void *short_life(void *arg)
{
    record(0, (uint64_t)(uintptr_t)arg);
    return NULL;
}

static void many_threads_in_turn_are_counted_each(void)
{
    const unsigned threads = FAULT_TIMES(3 * KYMO__EXPIRED_SLOTS, KYMO__EXPIRED_SLOTS + 100);
    const uint64_t each = 3;
    struct kymo_capture *capture;
    flight_start("turn", 4096, 0);
    for (unsigned i = 0; i < threads; i++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, short_life, (void *)(uintptr_t)each), 0);
        pthread_join(thread, NULL);
    }
    CHECK_OK(kymo_stop());

    CHECK_OK(kymo_open(check_path("turn"), &capture));
    struct kymo_info info = fault_info(capture);
    CHECK_EQ(info.threads, threads);
    CHECK_EQ(info.records + info.expired_records, threads * each);
    CHECK_EQ(info.lost_records, 0);
    CHECK(info.expired_records > 0);
    uint64_t *counts = calloc(threads, sizeof(*counts));
    uint32_t thread;
    uint64_t count;
    int reason;
    for (uint64_t i = 0; kymo_capture_gap(capture, i, &thread, &reason, &count, NULL, NULL) == 0;
         i++) {
        CHECK_EQ(reason, KYMO_GAP_FLIGHT);
        counts[thread] += count;
    }
    for (uint32_t i = 0; i < threads; i++) {
        struct kymo_thread_info one = {.size = sizeof(one)};
        CHECK_OK(kymo_capture_thread(capture, i, &one));
        CHECK_EQ(one.records + counts[i], each);
    }
    free(counts);
    kymo_close(capture);
}

/* ---- a tracer ---- */

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
        finish(arg, &(struct kymo_finished){
                        .name = "kernel", .start = end - (kymo_ns)(*events - i), .end = end});
    return (int64_t)*events;
}

static void what_a_tracer_turns_in_at_the_end_does_not_push_out_the_rest(void)
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

/* ---- memory and the disk ---- */

static uint64_t resident_bytes(void)
{
    unsigned long pages = 0, ignored = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    CHECK(file && fscanf(file, "%lu %lu", &ignored, &pages) == 2);
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
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
    uint64_t before = resident_bytes(), most = 0;
    for (uint64_t i = 1; i < 10; i++) {
        record(i * 1000000, (i + 1) * 1000000);
        uint64_t now = resident_bytes();
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

static void fill_the_disk_while_writing(void *arg)
{
    (void)arg;
    signal(SIGXFSZ, SIG_IGN);
    flight_start("disk", 4 << 20, 0);
    record(0, 300000);
    const struct rlimit small = {fault_stats().written_bytes + 100000, RLIM_INFINITY};
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    CHECK_EQ(kymo_flight_write("full"), -EFBIG);
    record(300000, 600000);
    CHECK_EQ(kymo_flight_write("still full"), -EFBIG);
    CHECK_EQ(fault_stats().dropped_records, 0);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
    CHECK_OK(kymo_flight_write("room"));
    CHECK_EQ(kymo_stop(), -EFBIG); /* of the first write that failed */

    struct found found = look("disk");
    CHECK_EQ(found.kept, 600000);
    CHECK_EQ(found.holes, 0);
    CHECK_EQ(found.expired, 0);
    CHECK_EQ(found.marks, 3);
}

static void what_the_disk_has_no_room_for_is_kept_for_later(void)
{
    CHECK_CHILD(fault_child(fill_the_disk_while_writing, NULL));
}

/* ---- ends ---- */

static uint32_t *ready;

static void record_and_wait(void *arg)
{
    bool write = arg != NULL;
    flight_start("killed", 128 << 10, 0);
    record(0, 300000);
    settle();
    if (write)
        CHECK_OK(kymo_flight_write("before"));
    record(300000, 300010);
    __atomic_store_n(ready, 1u, __ATOMIC_RELEASE);
    for (;;)
        pause();
}

static struct found kill_it(bool write)
{
    ready = fault_shared(sizeof(*ready));
    pid_t pid = fault_child(record_and_wait, write ? ready : NULL);
    while (!__atomic_load_n(ready, __ATOMIC_ACQUIRE)) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            CHECK_FAIL("the child ended by itself");
        fault_sleep(1000000);
    }
    kill(pid, SIGKILL);
    CHECK_EQ(WTERMSIG(fault_wait(pid)), SIGKILL);
    munmap(ready, sizeof(*ready));
    struct found found = look("killed");
    CHECK_EQ(found.info.ending, KYMO_ENDED_KILLED);
    CHECK_EQ(found.kept + found.info.expired_records, 300010);
    CHECK_EQ(found.last, 300009);
    CHECK_EQ(found.holes, 1);
    return found;
}

static void a_killed_process_leaves_what_was_in_chunks(void)
{
    struct found found = kill_it(false);
    CHECK_EQ(found.info.recovered_records, found.kept);
    CHECK_LE(found.kept, KYMO__CHUNK_RECORDS);
    CHECK_EQ(found.marks, 0);
}

static void a_killed_process_leaves_what_was_written(void)
{
    struct found found = kill_it(true);
    CHECK_EQ(found.info.recovered_records, 10);
    CHECK(found.kept > KYMO__CHUNK_RECORDS);
    CHECK_EQ(found.marks, 1);
}

static void record_as_a_child(void *arg)
{
    (void)arg;
    CHECK_EQ(kymo_flight_write("child"), -KYMO_EIDLE);
    kymo_flight_request();
    flight_start("child", 1 << 20, 0);
    record(0, 100);
    CHECK_OK(kymo_flight_write("child"));
    CHECK_OK(kymo_stop());
}

static void a_forked_child_has_its_own(void)
{
    FAULT_NOT_EMULATED("threads in forked children");
    if (FAULT_TSAN)
        CHECK_SKIP("ThreadSanitizer lets no child of a process with threads have threads");
    flight_start("parent", 1 << 20, 0);
    record(0, 100);
    CHECK_CHILD(fault_child(record_as_a_child, NULL));
    CHECK_OK(kymo_flight_write("parent"));
    CHECK_OK(kymo_stop());
    CHECK_EQ(look("parent").kept, 100);
    CHECK_STR(look("parent").names[0], "kymo flight: parent");
    CHECK_EQ(look("child").kept, 100);
    CHECK_STR(look("child").names[0], "kymo flight: child");
}

static const struct check_case cases[] = {
    CHECK_CASE(what_fits_is_kept_and_written_by_stop),
    CHECK_CASE(the_last_that_fits_is_kept_and_the_rest_counted),
    CHECK_CASE(a_ring_smaller_than_a_block_keeps_what_chunks_hold),
    CHECK_CASE(threads_that_help_lose_nothing),
    CHECK_CASE(what_is_dropped_is_counted_beside_what_expired),
    CHECK_CASE(what_is_older_than_asked_for_expires),
    CHECK_CASE(a_thread_that_records_seldom_keeps_no_longer_than_others),
    CHECK_CASE(writing_twice_gives_two_windows_without_repeats),
    CHECK_CASE(what_is_still_in_chunks_is_written_too),
    CHECK_CASE(parts_of_one_chunk_follow_one_another),
    CHECK_CASE(a_capture_may_be_looked_at_between_two_writes),
    CHECK_CASE(names_are_known_when_their_first_records_have_expired),
    CHECK_CASE(only_a_flight_recorder_can_be_asked),
    CHECK_CASE(a_start_without_memory_leaves_nothing_behind),
    CHECK_CASE(a_signal_handler_may_ask),
    CHECK_CASE(writing_while_threads_help_repeats_and_loses_nothing),
    CHECK_CASE(writing_while_threads_drop_repeats_nothing),
    CHECK_CASE(writing_while_records_grow_too_old_repeats_and_loses_nothing),
    CHECK_CASE(more_threads_than_chunks_can_be_written),
    CHECK_CASE(sessions_may_stop_and_start_while_others_ask),
    CHECK_CASE(many_threads_in_turn_are_counted_each),
    CHECK_CASE(what_a_tracer_turns_in_at_the_end_does_not_push_out_the_rest),
    CHECK_CASE(memory_and_file_stay_bounded_over_ten_million_records),
    CHECK_CASE(what_the_disk_has_no_room_for_is_kept_for_later),
    CHECK_CASE(a_killed_process_leaves_what_was_in_chunks),
    CHECK_CASE(a_killed_process_leaves_what_was_written),
    CHECK_CASE(a_forked_child_has_its_own),
};
CHECK_MAIN(cases)
