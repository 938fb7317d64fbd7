/* A flight recorder where memory or the disk comes to an end, or the process does. */
#include <signal.h>
#include <sys/resource.h>

#include "alloc.h"
#include "flown.h"
#include "live.h"

/* ---- memory and the disk ---- */

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

static void records_the_disk_has_no_room_for_are_written_later(void)
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
    CHECK_EQ(kymo_flight_write("child"), KYMO_EIDLE);
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
    CHECK_STR(look("parent").names[0], "kymograph flight: parent");
    CHECK_EQ(look("child").kept, 100);
    CHECK_STR(look("child").names[0], "kymograph flight: child");
}

static const struct check_case cases[] = {
    CHECK_CASE(a_start_without_memory_leaves_nothing_behind),
    CHECK_CASE(records_the_disk_has_no_room_for_are_written_later),
    CHECK_CASE(a_killed_process_leaves_what_was_in_chunks),
    CHECK_CASE(a_killed_process_leaves_what_was_written),
    CHECK_CASE(a_forked_child_has_its_own),
};
CHECK_MAIN(cases)
