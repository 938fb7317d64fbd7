/* When memory is short, calls fail cleanly or do without. */
#include <pthread.h>

#include "alloc.h"
#include "fault.h"

static bool exists(const char *name)
{
    return access(check_path(name), F_OK) == 0;
}

/* How many entries of metadata the capture has that a recorder with enough memory
   writes. */
static int metadata_in(const struct kymo_capture *capture)
{
    const char *key, *value;
    int count = 0;
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &key, &value) == 0; i++)
        count += *key && *value;
    return count;
}

static void start_fails_cleanly_at_every_allocation(void)
{
    int files = fault_entries("/proc/self/fd"), failed = 0, most = 0, alike = 0;
    for (long n = 0; alike < 20; n++) {
        kymo__alloc_fail_after(n);
        int rc = fault_start(check_path("start"), SMALL_BUDGET, KYMO_HELP);
        kymo__alloc_fail_after(-1);
        CHECK(n < 2000);
        if (rc < 0) {
            CHECK_EQ(rc, -ENOMEM);
            CHECK(!kymo_running());
            CHECK(!exists("start"));
            CHECK(!exists("start.live"));
            CHECK_EQ(fault_entries("/proc/self/fd"), files);
            CHECK_EQ(kymo_stop(), KYMO_EIDLE);
            failed++;
            continue;
        }
        kymo_instant("here");
        CHECK_OK(kymo_stop());
        struct kymo_capture *capture;
        CHECK_OK(kymo_open(check_path("start"), &capture));
        CHECK_EQ(fault_info(capture).ending, KYMO_ENDED_CLEAN);
        CHECK_EQ(fault_info(capture).records, 1);
        int now = metadata_in(capture);
        kymo_close(capture);
        CHECK_EQ(unlink(check_path("start")), 0);
        /* At the end nothing is missing any more. */
        alike = now > most ? 0 : alike + 1;
        most = now > most ? now : most;
    }
    CHECK(failed > 5);
    CHECK(most > 3);
    CHECK_EQ(fault_entries("/proc/self/fd"), files);
}

static void an_older_capture_is_not_lost_to_a_start_without_memory(void)
{
    CHECK_OK(fault_start(check_path("older"), SMALL_BUDGET, KYMO_HELP));
    kymo_instant("one");
    CHECK_OK(kymo_stop());
    kymo__alloc_fail_after(2);
    int rc = fault_start(check_path("older"), SMALL_BUDGET, KYMO_HELP);
    kymo__alloc_fail_after(-1);
    CHECK_EQ(rc, -ENOMEM);
    CHECK(exists("older"));
}

static void recording_without_memory_counts_what_it_loses(void)
{
    enum { NAMES = 3000 };
    static char names[NAMES][24];
    uint64_t lost = 0;
    for (int i = 0; i < NAMES; i++)
        snprintf(names[i], sizeof(names[i]), "name %d", i);
    for (long n = 0; n < 200; n = n * 2 + 1) {
        CHECK_OK(fault_start(check_path("short"), SMALL_BUDGET, KYMO_HELP));
        kymo_instant("first");
        kymo__alloc_fail_after(n);
        for (int i = 0; i < NAMES; i++)
            kymo_instant(names[i]);
        kymo_instant("first");
        kymo__alloc_fail_after(-1);
        kymo_instant(names[NAMES - 1]); /* goes on when there is memory */
        CHECK_OK(kymo_stop());

        struct kymo_capture *capture;
        struct kymo_cursor *cursor;
        struct kymo_event event = {.size = sizeof(event)}, last = event;
        CHECK_OK(kymo_open(check_path("short"), &capture));
        struct kymo_info info = fault_info(capture);
        CHECK_EQ(info.ending, KYMO_ENDED_CLEAN);
        CHECK_EQ(info.records + info.lost_records, NAMES + 3);
        CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
        while (kymo_cursor_next(cursor, &event) > 0) {
            CHECK(strcmp(event.name, "(unknown)") != 0);
            last = event;
        }
        CHECK_STR(last.name, names[NAMES - 1]);
        lost += info.lost_records;
        kymo_cursor_free(cursor);
        kymo_close(capture);
    }
    CHECK(lost > 0);
}

static void stop_without_memory_writes_everything(void)
{
    for (long n = 0; n < 4; n++) {
        CHECK_OK(fault_start(check_path("stop"), SMALL_BUDGET, KYMO_HELP));
        for (int i = 0; i < 10000; i++)
            kymo_instant("tick");
        kymo__alloc_fail_after(n);
        int rc = kymo_stop();
        kymo__alloc_fail_after(-1);
        CHECK(rc == 0 || rc == -ENOMEM);
        CHECK(!kymo_running());

        struct kymo_capture *capture;
        CHECK_OK(kymo_open(check_path("stop"), &capture));
        CHECK_EQ(fault_info(capture).records, 10000);
        CHECK_EQ(fault_info(capture).error, rc);
        CHECK_EQ(fault_info(capture).ending, rc ? KYMO_ENDED_FAILED : KYMO_ENDED_CLEAN);
        kymo_close(capture);
    }
}

static void *record_in_thread(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++)
        kymo_instant("thread");
    return NULL;
}

static void a_thread_that_cannot_be_registered_is_harmless(void)
{
    pthread_t thread;
    CHECK_OK(fault_start(check_path("thread"), SMALL_BUDGET, KYMO_HELP));
    kymo_instant("first");
    kymo__alloc_fail_after(0);
    CHECK_EQ(pthread_create(&thread, NULL, record_in_thread, NULL), 0);
    pthread_join(thread, NULL);
    kymo__alloc_fail_after(-1);
    CHECK_OK(kymo_stop());
    struct kymo_capture *capture;
    CHECK_OK(kymo_open(check_path("thread"), &capture));
    CHECK_EQ(fault_info(capture).records, 1);
    kymo_close(capture);
}

/* ---- reading ---- */

enum { EVENTS = 30000 };

/* Open, read and verify PATH with N allocations. Returns 0 when that was enough. */
static int read_with(const char *path, long n, uint64_t events)
{
    struct kymo_capture *capture = NULL;
    struct kymo_cursor *cursor = NULL;
    struct kymo_event event = {.size = sizeof(event)};
    uint64_t seen = 0;
    int64_t verified = 0;
    kymo__alloc_fail_after(n);
    int rc = kymo_open(path, &capture);
    if (rc == 0)
        rc = kymo_cursor_new(capture, NULL, &cursor);
    if (rc == 0)
        while ((rc = kymo_cursor_next(cursor, &event)) > 0)
            seen += event.kind != KYMO_GAP;
    if (rc == 0)
        verified = kymo_capture_verify(capture);
    kymo__alloc_fail_after(-1);
    kymo_cursor_free(cursor);
    kymo_close(capture);
    if (rc == 0 && verified >= 0) {
        CHECK_EQ(seen, events); /* not a part of it */
        return 0;
    }
    CHECK_EQ(rc ? rc : verified, -ENOMEM);
    return -ENOMEM;
}

static void read_with_ever_more(const char *path, uint64_t events)
{
    int files = fault_entries("/proc/self/fd"), failed = 0;
    long n = 0;
    for (int enough = 0; enough < 10; n++) {
        CHECK(n < 5000);
        if (read_with(path, n, events) < 0) {
            CHECK_EQ(enough, 0);
            failed++;
        } else {
            enough++;
        }
        CHECK_EQ(fault_entries("/proc/self/fd"), files);
    }
    CHECK(failed > 10);
}

static void record_for_reading(void)
{
    static char names[500][16];
    pthread_t thread;
    CHECK_OK(fault_start(check_path("read"), SMALL_BUDGET, KYMO_HELP));
    kymo_thread_name("reader's");
    for (int i = 0; i < EVENTS; i++) {
        char *name = names[i % 500];
        if (!*name)
            snprintf(name, sizeof(names[0]), "name %d", i);
        kymo_instant(name);
    }
    CHECK_EQ(pthread_create(&thread, NULL, record_in_thread, NULL), 0);
    pthread_join(thread, NULL);
}

static void record_and_die(void *arg)
{
    (void)arg;
    record_for_reading();
    _exit(0);
}

static void reading_fails_cleanly_at_every_allocation(void)
{
    record_for_reading();
    CHECK_OK(kymo_stop());
    read_with_ever_more(check_path("read"), EVENTS + 100);
}

static void reading_without_an_index_fails_cleanly_at_every_allocation(void)
{
    struct stat st;
    record_for_reading();
    CHECK_OK(kymo_stop());
    CHECK_EQ(stat(check_path("read"), &st), 0);
    CHECK_EQ(truncate(check_path("read"), st.st_size - 10), 0);
    read_with_ever_more(check_path("read"), EVENTS + 100);
}

static void reading_what_a_killed_process_left_fails_cleanly_at_every_allocation(void)
{
    CHECK_CHILD(fault_child(record_and_die, NULL));
    read_with_ever_more(check_path("read"), EVENTS + 100);
}

static const struct check_case cases[] = {
    CHECK_CASE(start_fails_cleanly_at_every_allocation),
    CHECK_CASE(an_older_capture_is_not_lost_to_a_start_without_memory),
    CHECK_CASE(recording_without_memory_counts_what_it_loses),
    CHECK_CASE(stop_without_memory_writes_everything),
    CHECK_CASE(a_thread_that_cannot_be_registered_is_harmless),
    CHECK_CASE(reading_fails_cleanly_at_every_allocation),
    CHECK_CASE(reading_without_an_index_fails_cleanly_at_every_allocation),
    CHECK_CASE(reading_what_a_killed_process_left_fails_cleanly_at_every_allocation),
};
CHECK_MAIN(cases)
