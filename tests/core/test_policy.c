/* When the memory budget is used up: help loses nothing, drop counts what it loses. */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "fault.h"

enum { MOST = 64 };

struct worker {
    unsigned index;
    uint64_t events; /* to make */
    uint64_t made;   /* calls that should have left an event */
    pthread_t thread;
};

static struct worker workers[MOST];
static uint32_t running; /* workers that have not finished */
static uint32_t go;

static void *record_numbered(void *arg)
{
    struct worker *worker = arg;
    struct numbered self = {0};
    numbered_name_thread(worker->index);
    while (self.next < worker->events)
        numbered_record(&self);
    __atomic_fetch_sub(&running, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* A span whose begin was given up has no end, so that both cannot be called made. */
static void *record_counted(void *arg)
{
    struct worker *worker = arg;
    numbered_name_thread(worker->index);
    while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
        sched_yield();
    while (worker->made < worker->events) {
        if (worker->made % 1000 < 3)
            sched_yield(); /* so that all of them hold a chunk at the same time */
        struct kymo_span span = kymo_span_begin("span");
        kymo_counter("made", (double)worker->made);
        kymo_span_end(span);
        worker->made += 2 + (span.key != 0);
    }
    __atomic_fetch_sub(&running, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void start_workers(unsigned count, void *(*body)(void *arg), uint64_t events)
{
    running = count;
    go = 0;
    for (unsigned i = 0; i < count; i++) {
        workers[i] = (struct worker){.index = i, .events = events};
        CHECK_EQ(pthread_create(&workers[i].thread, NULL, body, &workers[i]), 0);
    }
    __atomic_store_n(&go, 1u, __ATOMIC_RELEASE);
}

/* Wait for them, looking at the budget meanwhile; what was made in all. */
static uint64_t join_workers(unsigned count)
{
    uint64_t made = 0;
    while (__atomic_load_n(&running, __ATOMIC_ACQUIRE)) {
        struct kymo_stats stats = fault_stats();
        CHECK_LE(stats.pool_bytes, stats.budget_bytes);
        fault_sleep(2000000);
    }
    for (unsigned i = 0; i < count; i++) {
        pthread_join(workers[i].thread, NULL);
        made += workers[i].made;
    }
    return made;
}

static void help_loses_nothing_at_full_speed(void)
{
    const uint64_t events = FAULT_TIMES(250000, 40000);
    for (int round = 0; round < 3; round++) {
        CHECK_OK(fault_start(check_path("help"), SMALL_BUDGET, KYMO_HELP));
        start_workers(4, record_numbered, events);
        join_workers(4);
        struct kymo_stats stats = fault_stats();
        CHECK_EQ(stats.budget_bytes, SMALL_BUDGET);
        CHECK_EQ(stats.dropped_records, 0);
        CHECK_OK(kymo_stop());

        struct kymo_capture *capture;
        uint64_t counts[4];
        CHECK_OK(kymo_open(check_path("help"), &capture));
        CHECK_EQ(fault_info(capture).ending, KYMO_ENDED_CLEAN);
        CHECK_EQ(fault_info(capture).lost_records, 0);
        numbered_read(capture, 4, counts);
        for (int i = 0; i < 4; i++)
            CHECK_EQ(counts[i], events);
        kymo_close(capture);
    }
}

/* In the capture NAME, of COUNT threads, whatever was made between FROM and TO is
   there or counted. Returns what is lost. */
static uint64_t check_accounts(const char *name, unsigned count, kymo_ns from, kymo_ns to)
{
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    uint64_t seen[MOST] = {0}, lost[MOST] = {0}, gaps = 0, made = 0;
    double last[MOST];
    for (unsigned i = 0; i < count; i++) {
        last[i] = -1;
        made += workers[i].made;
    }
    CHECK_OK(kymo_open(check_path(name), &capture));
    struct kymo_info info = fault_info(capture);
    CHECK_EQ(info.ending, KYMO_ENDED_CLEAN);
    CHECK_EQ(info.error, 0);
    CHECK_EQ(kymo_capture_verify(capture), 0);
    CHECK_EQ(info.records + info.lost_records, made);
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while (kymo_cursor_next(cursor, &event) > 0) {
        unsigned worker = numbered_worker(capture, event.thread, count);
        CHECK(event.time >= from && event.time <= to);
        if (event.kind == KYMO_GAP) {
            CHECK_EQ(event.detail, KYMO_GAP_BUDGET);
            CHECK(event.id > 0);
            lost[worker] += event.id;
            gaps++;
            continue;
        }
        seen[worker]++;
        if (event.kind == KYMO_COUNTER) {
            CHECK(event.value > last[worker]);
            last[worker] = event.value;
        }
    }
    CHECK_EQ(gaps, info.gaps);
    for (uint32_t i = 0; i < info.threads; i++) {
        struct kymo_thread_info thread = {.size = sizeof(thread)};
        CHECK_OK(kymo_capture_thread(capture, i, &thread));
        unsigned worker = numbered_worker(capture, i, count);
        CHECK_EQ(thread.records, seen[worker]);
        CHECK_EQ(thread.lost, lost[worker]);
        CHECK_EQ(seen[worker] + lost[worker], workers[worker].made);
    }
    kymo_cursor_free(cursor);
    kymo_close(capture);
    return info.lost_records;
}

static void account(const char *name, int policy, unsigned count, uint64_t events, bool loses)
{
    kymo_ns from = fault_now();
    /* To drop, the writer has to be slower than they are. */
    CHECK_OK(kymo_start(&(struct kymo_options){.size = sizeof(struct kymo_options),
                                               .path = check_path(name),
                                               .budget = SMALL_BUDGET,
                                               .policy = policy,
                                               .level = policy == KYMO_DROP ? 19 : 1}));
    start_workers(count, record_counted, events);
    join_workers(count);
    uint64_t told = fault_stats().dropped_records;
    CHECK_OK(kymo_stop());
    kymo_ns to = fault_now();

    uint64_t lost = check_accounts(name, count, from, to);
    CHECK_EQ(told, lost);
    CHECK(!loses || lost > 0);
    printf("# %" PRIu64 " lost\n", lost);
}

static void drop_counts_everything_it_loses(void)
{
    account("drop", KYMO_DROP, 4, FAULT_TIMES(500000, 100000), true);
}

static void more_threads_than_chunks_all_continue_with_help(void)
{
    account("many help", KYMO_HELP, MOST, FAULT_TIMES(20000, 8000), true);
}

static void more_threads_than_chunks_all_continue_with_drop(void)
{
    account("many drop", KYMO_DROP, MOST, FAULT_TIMES(20000, 4000), true);
}

/* ---- marking from signal handlers ---- */

static uint64_t made_by_handler;
static uint32_t over;

static void mark_from_handler(int number)
{
    (void)number;
    int before = errno;
    struct kymo_span span = kymo_span_begin("handler");
    kymo_counter("made", 1);
    kymo_span_end(span);
    __atomic_fetch_add(&made_by_handler, 2 + (span.key != 0), __ATOMIC_RELAXED);
    errno = before;
}

static void *record_interrupted(void *arg)
{
    struct worker *worker = arg;
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGALRM);
    sigaddset(&both, SIGUSR1);
    /* A handler may not be the first on a thread, nor the first to use a name: both need
       memory. */
    struct kymo_span first = kymo_span_begin("handler");
    kymo_counter("made", 0);
    kymo_span_end(first);
    pthread_sigmask(SIG_UNBLOCK, &both, NULL);
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        struct kymo_span span = kymo_span_begin("span");
        kymo_counter("made", (double)worker->made);
        kymo_span_end(span);
        worker->made += 2 + (span.key != 0);
    }
    worker->made += 2 + (first.key != 0);
    pthread_sigmask(SIG_BLOCK, &both, NULL);
    return NULL;
}

static void storm(int policy)
{
    enum { THREADS = 3 };
    const struct sigaction action = {.sa_handler = mark_from_handler, .sa_flags = SA_RESTART};
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t both, mask;
    sigemptyset(&both);
    sigaddset(&both, SIGALRM);
    sigaddset(&both, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &both, &mask);
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    made_by_handler = 0;
    over = 0;
    CHECK_OK(fault_start(check_path("storm"), SMALL_BUDGET, policy));
    start_workers(THREADS, record_interrupted, 0);
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (int64_t until = fault_now() + 300000000; fault_now() < until;) {
        for (int i = 0; i < THREADS; i++)
            pthread_kill(workers[i].thread, SIGUSR1);
        fault_sleep(20000);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    __atomic_store_n(&over, 1u, __ATOMIC_RELAXED);
    uint64_t made = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        made += workers[i].made;
    }
    CHECK_OK(kymo_stop());
    sigaction(SIGALRM, &ignore, NULL); /* also those that are still on their way */
    sigaction(SIGUSR1, &ignore, NULL);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);

    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    uint64_t seen = 0, nested = 0, from_handler = 0;
    CHECK_OK(kymo_open(check_path("storm"), &capture));
    struct kymo_info info = fault_info(capture);
    CHECK_EQ(info.ending, KYMO_ENDED_CLEAN);
    CHECK_EQ(kymo_capture_verify(capture), 0);
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while (kymo_cursor_next(cursor, &event) > 0) {
        if (event.kind == KYMO_GAP) {
            nested += event.detail == KYMO_GAP_NESTED ? event.id : 0;
            continue;
        }
        CHECK(strcmp(event.name, "span") == 0 || strcmp(event.name, "made") == 0 ||
              strcmp(event.name, "handler") == 0);
        from_handler += strcmp(event.name, "handler") == 0;
        seen++;
    }
    printf("# %" PRIu64 " by handlers, %" PRIu64 " events of their spans kept, %" PRIu64
           " lost inside calls, %" PRIu64 " lost in all\n",
           made_by_handler, from_handler, nested, info.lost_records);
    CHECK(made_by_handler > 0);
    CHECK_EQ(seen, info.records);
    CHECK_EQ(info.records + info.lost_records, made + made_by_handler);
    kymo_cursor_free(cursor);
    kymo_close(capture);
}

static void marks_from_signal_handlers_are_kept_or_counted_with_help(void)
{
    storm(KYMO_HELP);
}

static void marks_from_signal_handlers_are_kept_or_counted_with_drop(void)
{
    storm(KYMO_DROP);
}

static const struct check_case cases[] = {
    CHECK_CASE(help_loses_nothing_at_full_speed),
    CHECK_CASE(drop_counts_everything_it_loses),
    CHECK_CASE(more_threads_than_chunks_all_continue_with_help),
    CHECK_CASE(more_threads_than_chunks_all_continue_with_drop),
    CHECK_CASE(marks_from_signal_handlers_are_kept_or_counted_with_help),
    CHECK_CASE(marks_from_signal_handlers_are_kept_or_counted_with_drop),
};
CHECK_MAIN(cases)
