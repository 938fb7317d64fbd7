/* A capture whose process died has everything that was recorded before. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "block.h"
#define FAULT_MANY_SESSIONS
#include "fault.h"

enum { WORKERS = 3 };

struct progress {
    uint64_t done[WORKERS];        /* events whose call has returned */
    uint64_t done_before[WORKERS]; /* the same when the process began to end */
    uint32_t began;
};

static struct progress *progress;

static void *work(void *arg)
{
    unsigned worker = (unsigned)(uintptr_t)arg;
    struct numbered self = {0};
    numbered_name_thread(worker);
    for (;;) {
        numbered_record(&self);
        __atomic_store_n(&progress->done[worker], self.next, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* Start recording on all threads; they go on until the process ends. */
static void record(uint64_t budget)
{
    CHECK_OK(fault_start(check_path("killed"), budget, KYMO_HELP));
    for (uintptr_t i = 0; i < WORKERS; i++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, work, (void *)i), 0);
    }
    __atomic_store_n(&progress->began, 1u, __ATOMIC_RELEASE);
}

static void record_until_killed(void *arg)
{
    record(*(const uint64_t *)arg);
    for (;;)
        pause();
}

/* Everything published is there and at most one event more; then remove it. */
static struct kymo_info check_capture(int ending)
{
    struct kymo_capture *capture;
    uint64_t counts[WORKERS];
    CHECK_OK(kymo_open(check_path("killed"), &capture));
    struct kymo_info info = fault_info(capture);
    CHECK_EQ(info.ending, ending);
    CHECK_EQ(info.error, 0);
    CHECK_EQ(info.gaps, 0);
    CHECK_EQ(info.lost_records, 0);
    numbered_read(capture, WORKERS, counts);
    for (int i = 0; i < WORKERS; i++) {
        CHECK_LE(progress->done_before[i], counts[i]);
        CHECK_LE(counts[i], progress->done[i] + 1);
        if (ending == KYMO_ENDED_KILLED)
            CHECK_LE(progress->done[i], counts[i]);
    }
    CHECK_EQ(kymo_capture_verify(capture), 0);
    kymo_close(capture);
    return info;
}

static struct kymo_info kill_after(uint64_t budget, int64_t ns)
{
    memset(progress, 0, sizeof(*progress));
    pid_t pid = fault_child(record_until_killed, &budget);
    while (!__atomic_load_n(&progress->began, __ATOMIC_ACQUIRE)) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            CHECK_FAIL("the child ended by itself");
        fault_sleep(20000);
    }
    fault_sleep(ns);
    kill(pid, SIGKILL);
    CHECK_EQ(WTERMSIG(fault_wait(pid)), SIGKILL);
    return check_capture(KYMO_ENDED_KILLED);
}

/* From 0.1 to 30 milliseconds, short ones more often: the beginning is where the most
   different things happen. */
static int64_t random_moment(void)
{
    return (int64_t)((100000 + fault_random(300000)) << fault_random(7)) % 30000000;
}

static void kill_many_times(uint64_t budget, int times)
{
    progress = fault_shared(sizeof(*progress));
    uint64_t recovered = 0, in_file = 0;
    for (int i = 0; i < times; i++) {
        struct kymo_info info = kill_after(budget, random_moment());
        recovered += info.recovered_records;
        in_file += info.records - info.recovered_records;
    }
    printf("# %" PRIu64 " records from live files, %" PRIu64 " from captures\n", recovered,
           in_file);
    CHECK(recovered > 0);
    munmap(progress, sizeof(*progress));
}

static void nothing_is_lost_by_a_kill_at_any_moment(void)
{
    kill_many_times(0, FAULT_TIMES(50, 12));
}

static void nothing_is_lost_by_a_kill_while_chunks_are_reused(void)
{
    kill_many_times(SMALL_BUDGET, FAULT_TIMES(50, 12));
}

static void nothing_is_lost_by_a_kill_after_blocks_were_written(void)
{
    progress = fault_shared(sizeof(*progress));
    for (int i = 0; i < 2; i++) {
        int64_t moment = 130000000 + (int64_t)fault_random(40000000);
        struct kymo_info info = kill_after(0, moment);
        /* On a busy machine the writer thread may not have run yet. */
        for (int again = 0; again < 4 && info.records == info.recovered_records; again++)
            info = kill_after(0, moment *= 2);
        CHECK(info.recovered_records > 0);
        CHECK(info.records > info.recovered_records);
    }
    munmap(progress, sizeof(*progress));
}

/* Append LEN bytes to the capture, and return how many blocks of it are damaged. */
static int64_t damage_after(int fd, const void *bytes, size_t len)
{
    struct kymo_capture *capture;
    CHECK_EQ(write(fd, bytes, len), (long long)len);
    CHECK_OK(kymo_open(check_path("killed"), &capture));
    int64_t damaged = kymo_capture_verify(capture);
    kymo_close(capture);
    return damaged;
}

/* Where the last complete block of the capture ends. */
static off_t end_of_blocks(int fd)
{
    struct kymo_block_header header;
    off_t at = sizeof(struct kymo_file_header), end = lseek(fd, 0, SEEK_END);
    while (pread(fd, &header, sizeof(header), at) == (ssize_t)sizeof(header) &&
           kymo__block_valid(&header) && at + (off_t)kymo__block_bytes(&header) <= end)
        at += (off_t)kymo__block_bytes(&header);
    return at;
}

static void a_block_that_was_being_written_is_no_damage(void)
{
    char block[sizeof(struct kymo_block_header) + 8];
    progress = fault_shared(sizeof(*progress));
    struct kymo_info info = {0};
    for (int64_t moment = 130000000; info.records == info.recovered_records; moment *= 2)
        info = kill_after(0, moment); /* until the writer thread has run */
    int fd = open(check_path("killed"), O_RDWR | O_APPEND | O_CLOEXEC);
    CHECK_EQ(pread(fd, block, sizeof(block), sizeof(struct kymo_file_header)), sizeof(block));
    const off_t end = end_of_blocks(fd); /* the kill may have left such a block */
    CHECK_EQ(ftruncate(fd, end), 0);
    CHECK_EQ(damage_after(fd, block, 20), 0);
    CHECK_EQ(damage_after(fd, block + 20, sizeof(block) - 20), 0);
    CHECK_EQ(ftruncate(fd, end), 0);
    memset(block, 'x', sizeof(block));
    CHECK_EQ(damage_after(fd, block, sizeof(block)), 1);
    close(fd);
    munmap(progress, sizeof(*progress));
}

/* ---- other ways to end ---- */

static void record_a_little(void)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    record(0);
    fault_sleep(3000000);
    for (int i = 0; i < WORKERS; i++)
        do
            progress->done_before[i] = __atomic_load_n(&progress->done[i], __ATOMIC_ACQUIRE);
        while (!progress->done_before[i]);
}

static void crash(void *arg)
{
    (void)arg;
    record_a_little();
    signal(SIGSEGV, SIG_DFL); /* not the sanitizer's */
    int *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile int *)nothing = 1;
}

static void end_by_abort(void *arg)
{
    (void)arg;
    record_a_little();
    abort();
}

static void end_by__exit(void *arg)
{
    (void)arg;
    record_a_little();
    _exit(5);
}

static void end_by_exit(void *arg)
{
    (void)arg;
    record_a_little();
    exit(5);
}

static void end_by_quick_exit(void *arg)
{
    (void)arg;
    record_a_little();
    quick_exit(5);
}

/* A child ends by BODY, with status 5 or SIGNAL. */
static void end(void (*body)(void *arg), int signal_number, int ending)
{
    progress = fault_shared(sizeof(*progress));
    int status = fault_wait(fault_child(body, NULL));
    CHECK_EQ(WIFSIGNALED(status) ? WTERMSIG(status) : 0, signal_number);
    CHECK_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : 0, signal_number ? 0 : 5);
    CHECK(progress->done_before[WORKERS - 1] > 0);
    check_capture(ending);
    CHECK_EQ(access(check_path("killed.live"), F_OK) == 0, ending == KYMO_ENDED_KILLED);
    munmap(progress, sizeof(*progress));
}

static void a_crash_loses_nothing(void)
{
    end(crash, SIGSEGV, KYMO_ENDED_KILLED);
}

static void abort_loses_nothing(void)
{
    end(end_by_abort, SIGABRT, KYMO_ENDED_KILLED);
}

static void ending_with__exit_loses_nothing(void)
{
    end(end_by__exit, 0, KYMO_ENDED_KILLED);
}

static void ending_with_quick_exit_loses_nothing(void)
{
    end(end_by_quick_exit, 0, KYMO_ENDED_KILLED);
}

static void exit_with_threads_still_recording_stops_cleanly(void)
{
    end(end_by_exit, 0, KYMO_ENDED_CLEAN);
}

static void the_capture_of_a_killed_process_is_replaced_by_the_next(void)
{
    progress = fault_shared(sizeof(*progress));
    kill_after(SMALL_BUDGET, 2000000);
    CHECK_EQ(access(check_path("killed.live"), F_OK), 0);

    CHECK_OK(fault_start(check_path("killed"), 0, KYMO_HELP));
    CHECK_OK(kymo_stop());

    struct kymo_capture *capture;
    CHECK_OK(kymo_open(check_path("killed"), &capture));
    CHECK_EQ(fault_info(capture).ending, KYMO_ENDED_CLEAN);
    CHECK_EQ(fault_info(capture).records, 0);
    kymo_close(capture);
    CHECK(access(check_path("killed.live"), F_OK) != 0);
    munmap(progress, sizeof(*progress));
}

static const struct check_case cases[] = {
    CHECK_CASE(nothing_is_lost_by_a_kill_at_any_moment),
    CHECK_CASE(nothing_is_lost_by_a_kill_while_chunks_are_reused),
    CHECK_CASE(nothing_is_lost_by_a_kill_after_blocks_were_written),
    CHECK_CASE(a_block_that_was_being_written_is_no_damage),
    CHECK_CASE(a_crash_loses_nothing),
    CHECK_CASE(abort_loses_nothing),
    CHECK_CASE(ending_with__exit_loses_nothing),
    CHECK_CASE(ending_with_quick_exit_loses_nothing),
    CHECK_CASE(exit_with_threads_still_recording_stops_cleanly),
    CHECK_CASE(the_capture_of_a_killed_process_is_replaced_by_the_next),
};
CHECK_MAIN(cases)
