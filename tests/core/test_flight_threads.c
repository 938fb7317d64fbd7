/* A flight recorder is asked by signal handlers and by other threads, while threads record. */
#include <pthread.h>
#include <signal.h>

#include "flown.h"
#include "live.h"

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
    CHECK_STR(found.names[0], "kymograph flight: signal");
    CHECK_EQ(found.info.threads, 2); /* the mark is on kymograph's own */
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
        if (rc != 0 && rc != KYMO_EIDLE)
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

static const struct check_case cases[] = {
    CHECK_CASE(a_signal_handler_may_ask),
    CHECK_CASE(writing_while_threads_help_repeats_and_loses_nothing),
    CHECK_CASE(writing_while_threads_drop_repeats_nothing),
    CHECK_CASE(writing_while_records_grow_too_old_repeats_and_loses_nothing),
    CHECK_CASE(more_threads_than_chunks_can_be_written),
    CHECK_CASE(sessions_may_stop_and_start_while_others_ask),
    CHECK_CASE(many_threads_in_turn_are_counted_each),
};
CHECK_MAIN(cases)
