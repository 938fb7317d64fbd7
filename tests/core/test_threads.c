/* Many threads, threads that come and go, and threads that end at awkward moments. */
#include <pthread.h>

#define FAULT_MANY_SESSIONS
#include "fault.h"

static struct kymo_capture *capture;

static struct kymo_cursor *finish(const char *name)
{
    struct kymo_cursor *cursor;
    CHECK_OK(kymo_stop());
    CHECK_OK(kymo_open(check_path(name), &capture));
    CHECK_EQ(fault_info(capture).ending, KYMO_ENDED_CLEAN);
    CHECK_EQ(fault_info(capture).lost_records, 0);
    CHECK_EQ(kymo_capture_verify(capture), 0);
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    return cursor;
}

static void done(struct kymo_cursor *cursor)
{
    kymo_cursor_free(cursor);
    kymo_close(capture);
}

enum { MANY = 64, SPANS = FAULT_TIMES(10000, 2000) };

static void *record_numbered(void *arg)
{
    struct numbered self = {0};
    numbered_name_thread((unsigned)(uintptr_t)arg);
    while (self.next < 5 * SPANS)
        numbered_record(&self);
    return NULL;
}

static void each_of_64_threads_has_exactly_its_events(void)
{
    pthread_t threads[MANY];
    uint64_t counts[MANY];
    numbered_name(0);
    CHECK_OK(fault_start(check_path("many"), 0, KYMO_HELP));
    for (uintptr_t i = 0; i < MANY; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, record_numbered, (void *)i), 0);
    for (int i = 0; i < MANY; i++)
        pthread_join(threads[i], NULL);
    struct kymo_cursor *cursor = finish("many");

    CHECK_EQ(fault_info(capture).threads, MANY);
    CHECK_EQ(fault_info(capture).records, (uint64_t)MANY * SPANS * 5);
    numbered_read(capture, MANY, counts);
    for (int i = 0; i < MANY; i++)
        CHECK_EQ(counts[i], 5 * SPANS);
    done(cursor);
}

static void *record_shortly(void *arg)
{
    struct kymo_span span = kymo_span_begin("short");
    kymo_counter("number", (double)(uintptr_t)arg);
    kymo_span_end(span);
    return NULL;
}

static void threads_that_come_and_go_are_all_there(void)
{
    enum { COUNT = FAULT_TIMES(2000, 300), AT_A_TIME = 4 };
    CHECK_OK(fault_start(check_path("short"), 0, KYMO_HELP));
    for (uintptr_t i = 0; i < COUNT; i += AT_A_TIME) {
        pthread_t threads[AT_A_TIME];
        for (uintptr_t j = 0; j < AT_A_TIME; j++)
            CHECK_EQ(pthread_create(&threads[j], NULL, record_shortly, (void *)(i + j)), 0);
        for (int j = 0; j < AT_A_TIME; j++)
            pthread_join(threads[j], NULL);
    }
    CHECK_EQ(fault_stats().threads, COUNT);
    /* What they recorded into is used again. */
    CHECK_LE(fault_stats().pool_bytes, fault_stats().budget_bytes / 2);
    struct kymo_cursor *cursor = finish("short");

    CHECK_EQ(fault_info(capture).threads, COUNT);
    static unsigned char steps[COUNT], seen[COUNT];
    memset(steps, 0, sizeof(steps));
    memset(seen, 0, sizeof(seen));
    struct kymo_event event = {.size = sizeof(event)};
    while (kymo_cursor_next(cursor, &event) > 0) {
        static const uint16_t kinds[] = {KYMO_ENTER, KYMO_COUNTER, KYMO_LEAVE, 0};
        CHECK(event.thread < COUNT);
        CHECK_EQ(event.kind, kinds[steps[event.thread]++]);
        if (event.kind == KYMO_COUNTER)
            seen[(int)event.value]++;
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQ(steps[i], 3);
        CHECK_EQ(seen[i], 1);
    }
    done(cursor);
}

/* ---- threads that end while kymo_stop runs ---- */

static uint64_t entered;  /* spans that began in the session */
static uint32_t go, over; /* 1: record; how many threads have done so */

static void *record_and_end(void *arg)
{
    uint64_t mine = 0;
    while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
        sched_yield();
    for (uintptr_t i = 0; i < 10 + (uintptr_t)arg * 20; i++) {
        struct kymo_span span = kymo_span_begin("span");
        mine += span.key != 0;
        kymo_span_end(span);
    }
    __atomic_fetch_add(&entered, mine, __ATOMIC_RELAXED);
    __atomic_fetch_add(&over, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void threads_that_end_while_stop_runs_lose_nothing(void)
{
    enum { THREADS = 16 };
    uint64_t total = 0;
    for (int round = 0; round < FAULT_TIMES(100, 40); round++) {
        pthread_t threads[THREADS];
        entered = 0;
        go = over = 0;
        CHECK_OK(fault_start(check_path("ending"), SMALL_BUDGET * 2, KYMO_HELP));
        for (uintptr_t i = 0; i < THREADS; i++)
            CHECK_EQ(pthread_create(&threads[i], NULL, record_and_end, (void *)i), 0);
        __atomic_store_n(&go, 1u, __ATOMIC_RELEASE);
        uint32_t some = (uint32_t)fault_random(THREADS);
        while (__atomic_load_n(&over, __ATOMIC_RELAXED) < some)
            sched_yield();
        CHECK_OK(kymo_stop());
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);

        CHECK_OK(kymo_open(check_path("ending"), &capture));
        struct kymo_cursor *cursor;
        CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
        struct kymo_event event = {.size = sizeof(event)};
        uint64_t seen = 0;
        while (kymo_cursor_next(cursor, &event) > 0)
            seen += event.kind == KYMO_ENTER;
        CHECK_EQ(seen, entered);
        CHECK_EQ(fault_info(capture).ending, KYMO_ENDED_CLEAN);
        done(cursor);
        total += seen;
    }
    printf("# %" PRIu64 " spans\n", total);
}

/* ---- recording while a thread's data is destroyed ---- */

static pthread_key_t early, late; /* made before and after the recorder's own */

static void record_in_destructor(void *arg)
{
    struct kymo_span span = kymo_span_begin("destructor");
    if (span.key)
        __atomic_fetch_add(&entered, 1, __ATOMIC_RELAXED);
    kymo_span_end(span);
    /* And once more, in the next round of destructors. */
    uintptr_t again = (uintptr_t)arg;
    if (again > 1)
        pthread_setspecific(again % 2 ? early : late, (void *)(again - 1));
}

static void *record_and_be_destroyed(void *arg)
{
    (void)arg;
    pthread_setspecific(early, (void *)4);
    kymo_instant("alive");
    pthread_setspecific(late, (void *)4);
    return NULL;
}

static void destructors_of_thread_data_may_record(void)
{
    enum { THREADS = 50 };
    entered = 0;
    CHECK_EQ(pthread_key_create(&early, record_in_destructor), 0);
    CHECK_OK(fault_start(check_path("destructors"), 0, KYMO_HELP));
    kymo_instant("main");
    CHECK_EQ(pthread_key_create(&late, record_in_destructor), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, record_and_be_destroyed, NULL), 0);
        pthread_join(thread, NULL);
    }
    struct kymo_cursor *cursor = finish("destructors");

    struct kymo_event event = {.size = sizeof(event)};
    uint64_t alive = 0, begun = 0, ended = 0;
    while (kymo_cursor_next(cursor, &event) > 0) {
        alive += strcmp(event.name, "alive") == 0;
        begun += event.kind == KYMO_ENTER;
        ended += event.kind == KYMO_LEAVE;
    }
    CHECK_EQ(alive, THREADS);
    CHECK(entered >= 4 * THREADS);
    CHECK_EQ(begun, entered);
    CHECK_EQ(ended, entered);
    done(cursor);
    pthread_key_delete(early);
    pthread_key_delete(late);
}

static const struct check_case cases[] = {
    CHECK_CASE(each_of_64_threads_has_exactly_its_events),
    CHECK_CASE(threads_that_come_and_go_are_all_there),
    CHECK_CASE(threads_that_end_while_stop_runs_lose_nothing),
    CHECK_CASE(destructors_of_thread_data_may_record),
};
CHECK_MAIN(cases)
