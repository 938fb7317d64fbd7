/* A capture can be read at any time while it is being recorded. */
#include <pthread.h>
#include <signal.h>

#include "fault.h"

enum { WORKERS = 3 };

static uint64_t limit;   /* events per thread */
static uint32_t working; /* threads that have not reached it */

static void *work(void *arg)
{
    struct numbered self = {0};
    numbered_name_thread((unsigned)(uintptr_t)arg);
    while (self.next < limit)
        numbered_record(&self);
    __atomic_fetch_sub(&working, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Open and read everything. */
static struct kymo_info look(const char *name, uint64_t *counts)
{
    struct kymo_capture *capture;
    CHECK_OK(kymo_open(check_path(name), &capture));
    struct kymo_info info = fault_info(capture);
    CHECK_EQ(info.lost_records, 0);
    CHECK_EQ(info.error, 0);
    CHECK_EQ(info.damaged_blocks, 0);
    numbered_read(capture, WORKERS, counts);
    kymo_close(capture);
    return info;
}

/* Record at full speed and look at the capture until recording is over. Returns how
   often it was looked at meanwhile. */
static int record_and_look(uint64_t budget)
{
    pthread_t threads[WORKERS];
    uint64_t before[WORKERS] = {0}, now[WORKERS];
    int looks = 0;
    numbered_name(0);
    working = WORKERS;
    CHECK_OK(fault_start(check_path("running"), budget, KYMO_HELP));
    for (uintptr_t i = 0; i < WORKERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)i), 0);
    while (__atomic_load_n(&working, __ATOMIC_ACQUIRE)) {
        struct kymo_info info = look("running", now);
        CHECK_EQ(info.ending, KYMO_ENDED_RUNNING);
        CHECK_EQ(info.pid, getpid());
        for (int i = 0; i < WORKERS; i++) {
            CHECK_LE(before[i], now[i]);
            before[i] = now[i];
        }
        looks++;
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    /* Everything has been recorded, hardly all of it written. */
    look("running", now);
    for (int i = 0; i < WORKERS; i++)
        CHECK_EQ(now[i], limit);
    CHECK_OK(kymo_stop());
    CHECK_EQ(look("running", now).ending, KYMO_ENDED_CLEAN);
    for (int i = 0; i < WORKERS; i++)
        CHECK_EQ(now[i], limit);
    return looks;
}

static void a_running_capture_is_a_beginning_that_grows(void)
{
    int looks = 0;
    limit = FAULT_TIMES(150000, 20000);
    for (int round = 0; round < 8; round++)
        looks += record_and_look(0);
    printf("# looked %d times\n", looks);
}

static void a_running_capture_whose_chunks_are_reused_is_a_beginning_that_grows(void)
{
    int looks = 0;
    limit = FAULT_TIMES(150000, 20000);
    for (int round = 0; round < 8; round++)
        looks += record_and_look(SMALL_BUDGET);
    printf("# looked %d times\n", looks);
}

/* ---- by another process ---- */

struct shared {
    uint32_t began, enough;
};

static void record_until_enough(void *arg)
{
    struct shared *shared = arg;
    pthread_t threads[WORKERS];
    limit = FAULT_TIMES(400000, 40000);
    CHECK_OK(fault_start(check_path("other"), SMALL_BUDGET, KYMO_HELP));
    __atomic_store_n(&shared->began, 1u, __ATOMIC_RELEASE);
    for (uintptr_t i = 0; i < WORKERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)i), 0);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    while (!__atomic_load_n(&shared->enough, __ATOMIC_ACQUIRE))
        fault_sleep(1000000);
    CHECK_OK(kymo_stop());
}

static void another_process_may_look(void)
{
    FAULT_NOT_EMULATED("locks of open files");
    struct shared *shared = fault_shared(sizeof(*shared));
    uint64_t before[WORKERS] = {0}, now[WORKERS];
    numbered_name(0);
    pid_t pid = fault_child(record_until_enough, shared);
    while (!__atomic_load_n(&shared->began, __ATOMIC_ACQUIRE))
        fault_sleep(100000);
    int looks = 0;
    for (int still = 0; still < 2;) {
        struct kymo_info info = look("other", now);
        CHECK_EQ(info.ending, KYMO_ENDED_RUNNING);
        CHECK_EQ(info.pid, pid);
        still = now[0] && memcmp(before, now, sizeof(now)) == 0 ? still + 1 : 0;
        for (int i = 0; i < WORKERS; i++)
            CHECK_LE(before[i], now[i]);
        memcpy(before, now, sizeof(now));
        looks++;
    }
    __atomic_store_n(&shared->enough, 1u, __ATOMIC_RELEASE);
    CHECK_CHILD(pid);
    CHECK_EQ(look("other", now).ending, KYMO_ENDED_CLEAN);
    for (int i = 0; i < WORKERS; i++)
        CHECK_EQ(now[i], FAULT_TIMES(400000, 40000));
    printf("# looked %d times\n", looks);
    munmap(shared, sizeof(*shared));
}

static void a_cursor_continues_after_recording_has_stopped(void)
{
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    CHECK_OK(fault_start(check_path("stopped"), 0, KYMO_HELP));
    for (int i = 0; i < 20000; i++)
        kymo_counter("value", i);
    CHECK_OK(kymo_open(check_path("stopped"), &capture));
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    for (int i = 0; i < 10; i++)
        CHECK_EQ(kymo_cursor_next(cursor, &event), 1);
    CHECK_OK(kymo_stop());
    for (int i = 10; i < 20000; i++) {
        CHECK_EQ(kymo_cursor_next(cursor, &event), 1);
        CHECK_EQ(event.value, i);
    }
    CHECK_EQ(kymo_cursor_next(cursor, &event), 0);
    kymo_cursor_free(cursor);
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_running_capture_is_a_beginning_that_grows),
    CHECK_CASE(a_running_capture_whose_chunks_are_reused_is_a_beginning_that_grows),
    CHECK_CASE(another_process_may_look),
    CHECK_CASE(a_cursor_continues_after_recording_has_stopped),
};
CHECK_MAIN(cases)
