/* A child never records into its parent's capture, however it was made, and never harms
   it. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/syscall.h>

#define FAULT_MANY_SESSIONS
#include "fault.h"
#include "format.h"

/* A child leaves the memory of its parent's session as it is, which looks like a leak. */
static pid_t first_process;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return getpid() != first_process;
}

__attribute__((constructor)) static void note_process(void)
{
    first_process = getpid();
}

static void mark_a_lot(void)
{
    for (int i = 0; i < 2000; i++) {
        struct kymo_span span = kymo_span_begin("child");
        kymo_instant("child");
        kymo_counter("child", i);
        kymo_span_end(span);
    }
    kymo_thread_name("child");
    kymo_metadata("child", "yes");
    kymo_process_name("child");
    kymo_intern("child");
}

/* What a child must find. */
static bool child_is_off(void)
{
    struct kymo_stats stats = {.size = sizeof(stats)};
    return !kymo_running() && kymo_span_begin("child").key == 0 &&
           kymo_stats(&stats) == KYMO_EIDLE && kymo_stop() == KYMO_EIDLE;
}

static struct kymo_live_header header_of(const char *path)
{
    struct kymo_live_header header;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && read(fd, &header, sizeof(header)) == (ssize_t)sizeof(header));
    close(fd);
    return header;
}

/* The checksum of the first LEN bytes of a file. Of a live file, without the chunk of
   definitions: its owner adds a clock reading now and then. */
static uint64_t sum_of(const char *path, size_t len, bool live)
{
    static uint64_t words[1 << 19];
    CHECK(len < sizeof(words));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    words[len / 8] = 0;
    CHECK_EQ(read(fd, words, len), len);
    close(fd);
    if (live) {
        struct kymo_live_header header = header_of(path);
        for (uint32_t i = 0; i < header.chunks; i++) {
            size_t offset = (size_t)header.chunk_offset + i * (size_t)KYMO__CHUNK_BYTES;
            struct kymo_chunk *chunk = (void *)((char *)words + offset);
            if (chunk->type == KYMO__BLOCK_DEFS)
                memset(chunk, 0, sizeof(*chunk));
        }
    }
    uint64_t sum = 0;
    for (size_t i = 0; i * 8 < len; i++)
        sum = sum * 31 + words[i];
    return sum;
}

static size_t size_of(const char *path)
{
    struct stat st;
    CHECK_EQ(stat(path, &st), 0);
    return (size_t)st.st_size;
}

static void begin(const char *name)
{
    CHECK_OK(fault_start(check_path(name), 0, KYMO_HELP));
    kymo_instant("parent");
}

/* Stop; the capture has EVENTS events, all of the parent's. */
static void finish(const char *name, uint64_t events)
{
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    char live[300];
    uint64_t seen = 0;
    CHECK_OK(kymo_stop());
    snprintf(live, sizeof(live), "%s.live", check_path(name));
    CHECK(access(live, F_OK) != 0);
    CHECK_OK(kymo_open(check_path(name), &capture));
    struct kymo_info info = fault_info(capture);
    CHECK_EQ(info.ending, KYMO_ENDED_CLEAN);
    CHECK_EQ(info.lost_records, 0);
    CHECK_EQ(info.pid, getpid());
    CHECK_EQ(kymo_capture_verify(capture), 0);
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while (kymo_cursor_next(cursor, &event) > 0) {
        CHECK_STR(event.name, "parent");
        seen++;
    }
    CHECK_EQ(seen, events);
    for (uint32_t i = 0; i < info.threads; i++) {
        struct kymo_thread_info thread = {.size = sizeof(thread)};
        CHECK_OK(kymo_capture_thread(capture, i, &thread));
        CHECK(strcmp(thread.name, "child") != 0);
    }
    const char *key, *value;
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &key, &value) == 0; i++)
        CHECK(strcmp(value, "child") != 0 && strcmp(key, "child") != 0);
    kymo_cursor_free(cursor);
    kymo_close(capture);
}

/* ---- ways to make a child ---- */

static pid_t by_fork(void)
{
    return fault_fork();
}

static pid_t by__Fork(void)
{
#if __GLIBC_PREREQ(2, 34)
    return _Fork();
#else
    CHECK_SKIP("this C library has no _Fork");
#endif
}

static pid_t by_system_call(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* A child that marks and ends changes no byte of the parent's files. */
static void child_touches_nothing(pid_t (*make)(void))
{
    FAULT_NOT_EMULATED("memory that is wiped in children");
    begin("quiet");
    kymo_instant("parent");
    const char *file = check_path("quiet"), *live = check_path("quiet.live");
    size_t file_size = size_of(file), live_size = size_of(live);
    uint64_t file_sum = sum_of(file, file_size, false), live_sum = sum_of(live, live_size, true);
    fflush(stdout);
    pid_t pid = make();
    if (pid == 0) {
        mark_a_lot();
        _exit(child_is_off() ? 0 : 1);
    }
    CHECK(pid > 0);
    CHECK_CHILD(pid);
    CHECK_EQ(size_of(live), live_size);
    CHECK_EQ(sum_of(live, live_size, true), live_sum);
    CHECK_EQ(sum_of(file, file_size, false), file_sum);
    kymo_instant("parent");
    finish("quiet", 3);
}

static void a_child_of_fork_touches_nothing(void)
{
    child_touches_nothing(by_fork);
}

static void a_child_of__Fork_touches_nothing(void)
{
    child_touches_nothing(by__Fork);
}

static void a_child_of_a_system_call_touches_nothing(void)
{
    if (FAULT_TSAN)
        CHECK_SKIP("the sanitizer does not know of this child");
    child_touches_nothing(by_system_call);
}

/* ---- a child's own session ---- */

static void child_records_itself(pid_t (*make)(void))
{
    FAULT_NOT_EMULATED("memory that is wiped in children");
    begin("parent");
    fflush(stdout);
    pid_t pid = make();
    if (pid == 0) {
        if (fault_start(check_path("parent"), 0, KYMO_HELP) != KYMO_EBUSYFILE)
            _exit(2);
        if (fault_start(check_path("child"), 0, KYMO_HELP) != 0)
            _exit(3);
        mark_a_lot();
        _exit(kymo_stop() == 0 ? 0 : 4);
    }
    CHECK(pid > 0);
    for (int i = 0; i < 1000; i++)
        kymo_instant("parent");
    CHECK_CHILD(pid);
    finish("parent", 1001);

    struct kymo_capture *capture;
    CHECK_OK(kymo_open(check_path("child"), &capture));
    CHECK_EQ(fault_info(capture).ending, KYMO_ENDED_CLEAN);
    CHECK_EQ(fault_info(capture).records, 8000);
    CHECK_EQ(fault_info(capture).pid, pid);
    kymo_close(capture);
}

static void a_child_of_fork_may_record_itself(void)
{
    if (FAULT_TSAN)
        CHECK_SKIP("the sanitizer allows no threads in a child of a program with threads");
    child_records_itself(by_fork);
}

static void a_child_of_a_system_call_may_record_itself(void)
{
    if (FAULT_TSAN || FAULT_ASAN)
        CHECK_SKIP("the sanitizer does not know of this child");
    child_records_itself(by_system_call);
}

/* ---- ways for a child to end ---- */

static void child_ends(void (*end)(int status), pid_t (*make)(void))
{
    begin("ends");
    for (int i = 0; i < 5; i++) {
        fflush(stdout);
        pid_t pid = make();
        if (pid == 0) {
            mark_a_lot();
            end(0);
        }
        CHECK(pid > 0);
        CHECK_CHILD(pid);
        kymo_instant("parent");
        CHECK_EQ(access(check_path("ends.live"), F_OK), 0);
    }
    finish("ends", 6);
}

static void a_child_that_exits_does_no_harm(void)
{
    child_ends(exit, by_fork);
}

static void a_child_that__exits_does_no_harm(void)
{
    child_ends(_exit, by_fork);
}

static void a_child_of_a_system_call_that_exits_does_no_harm(void)
{
    FAULT_NOT_EMULATED("forks of programs with threads");
    if (FAULT_TSAN || FAULT_ASAN)
        CHECK_SKIP("the sanitizer does not know of this child");
    child_ends(exit, by_system_call);
}

static void end_thread(int status)
{
    pthread_exit((void *)(intptr_t)status);
}

static void a_child_whose_thread_ends_does_no_harm(void)
{
    FAULT_NOT_EMULATED("forks of programs with threads");
    if (FAULT_TSAN)
        CHECK_SKIP("the sanitizer waits for a thread that is not in the child");
    child_ends(end_thread, by_fork);
    if (!FAULT_ASAN)
        child_ends(end_thread, by_system_call);
}

static void a_child_may_fork_too(void)
{
    begin("grandchild");
    fflush(stdout);
    pid_t pid = fault_fork();
    if (pid == 0) {
        pid_t grandchild = fault_fork();
        mark_a_lot();
        if (grandchild == 0)
            exit(child_is_off() ? 0 : 1);
        int status = fault_wait(grandchild);
        exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
    }
    CHECK_CHILD(pid);
    finish("grandchild", 1);
}

/* ---- exec ---- */

static void programs_started_while_recording_are_harmless(void)
{
    extern char **environ;
    char *const arguments[] = {"true", NULL};
    begin("exec");
    for (int i = 0; i < 20; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            execv("/bin/true", arguments);
            _exit(127);
        }
        CHECK_CHILD(pid);
        CHECK_EQ(posix_spawnp(&pid, "true", NULL, NULL, arguments, environ), 0);
        CHECK_CHILD(pid);
        kymo_instant("parent");
    }
    CHECK_EQ(system("exit 0"), 0);
    finish("exec", 21);
}

static void programs_started_while_recording_inherit_no_descriptor(void)
{
    char command[200];
    begin("descriptors");
    snprintf(command, sizeof(command), "ls -l /proc/self/fd | grep -q descriptors");
    CHECK(system(command) != 0);
    finish("descriptors", 1);
}

/* ---- fork while others record ---- */

enum { RECORDERS = 3 };
static uint32_t quit;
static uint64_t made;

static void *record_until_quit(void *arg)
{
    (void)arg;
    uint64_t mine = 0;
    for (; !__atomic_load_n(&quit, __ATOMIC_RELAXED); mine++)
        kymo_instant("parent");
    __atomic_fetch_add(&made, mine, __ATOMIC_RELAXED);
    return NULL;
}

static void *fork_many_times(void *arg)
{
    int *bad = arg;
    for (int i = 0; i < FAULT_TIMES(100, 25); i++) {
        kymo_instant("parent");
        pid_t pid = i % 4 == 3 && !FAULT_ASAN ? by_system_call() : fork();
        if (pid == 0) {
            mark_a_lot();
            if (i % 2)
                _exit(child_is_off() ? 0 : 1);
            exit(0);
        }
        if (pid < 0 || fault_wait(pid) != 0)
            ++*bad;
    }
    return NULL;
}

static void fork_while_threads_record_loses_nothing(void)
{
    FAULT_NOT_EMULATED("forks of programs with threads");
    if (FAULT_TSAN)
        CHECK_SKIP("the sanitizer cannot fork while threads hold its locks");
    pthread_t recorders[RECORDERS], forker;
    int bad = 0;
    quit = 0;
    made = FAULT_TIMES(100, 25);
    CHECK_OK(fault_start(check_path("busy"), SMALL_BUDGET, KYMO_HELP));
    fflush(stdout);
    for (int i = 0; i < RECORDERS; i++)
        CHECK_EQ(pthread_create(&recorders[i], NULL, record_until_quit, NULL), 0);
    fault_sleep(FAULT_ASAN ? 30000000 : 0); /* see fault_fork; these never rest */
    CHECK_EQ(pthread_create(&forker, NULL, fork_many_times, &bad), 0);
    pthread_join(forker, NULL);
    __atomic_store_n(&quit, 1u, __ATOMIC_RELAXED);
    for (int i = 0; i < RECORDERS; i++)
        pthread_join(recorders[i], NULL);
    CHECK_EQ(bad, 0);
    finish("busy", made);
    printf("# %" PRIu64 " events meanwhile\n", made);
}

/* A child forked while another thread is starting or stopping finds no lock held. */
static void *start_and_stop(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&quit, __ATOMIC_RELAXED)) {
        fault_start(check_path("cycle"), SMALL_BUDGET, KYMO_HELP);
        kymo_instant("parent");
        kymo_stop();
    }
    return NULL;
}

static void fork_while_sessions_start_and_stop_leaves_the_child_able_to_record(void)
{
    FAULT_NOT_EMULATED("forks of programs with threads");
    if (FAULT_TSAN || FAULT_ASAN)
        CHECK_SKIP("the sanitizer cannot fork while threads hold its locks");
    pthread_t thread;
    quit = 0;
    CHECK_EQ(pthread_create(&thread, NULL, start_and_stop, NULL), 0);
    for (int i = 0; i < FAULT_TIMES(60, 15); i++) {
        fault_sleep((int64_t)fault_random(3000000));
        char path[300];
        snprintf(path, sizeof(path), "%s/child %d", check_dir, i);
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            alarm(20);
            mark_a_lot();
            if (kymo_stop() != KYMO_EIDLE)
                _exit(2);
            if (fault_start(path, SMALL_BUDGET, KYMO_HELP) != 0)
                _exit(3);
            mark_a_lot();
            if (kymo_stop() != 0)
                _exit(4);
            exit(0);
        }
        CHECK_CHILD(pid);
        unlink(path);
    }
    __atomic_store_n(&quit, 1u, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

static int threads_here(void)
{
    int count = -2; /* for . and .. */
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    while (readdir(tasks))
        count++;
    closedir(tasks);
    return count;
}

/* The same when nothing begins or ends: a thread that was joined may still be counted for a moment. */
static int settled_threads(void)
{
    int least = threads_here();
    for (int i = 0; i < 20; i++) {
        fault_sleep(5000000);
        int now = threads_here();
        least = now < least ? now : least;
    }
    return least;
}

static void mark_parent(int times)
{
    for (int i = 0; i < times; i++)
        kymo_instant("parent");
}

static void *nothing(void *arg)
{
    return arg;
}

static void while_the_writer_rests_there_is_one_thread_and_nothing_is_lost(void)
{
    enum { MANY = 200000 }; /* more than the budget holds */
    /* A sanitizer starts a thread of its own with the first there is, and may be slow. */
    pthread_t first;
    CHECK_EQ(pthread_create(&first, NULL, nothing, NULL), 0);
    pthread_join(first, NULL);
    fault_sleep(FAULT_TIMES(1000000, 200000000));
    const int before = settled_threads();
    CHECK_OK(fault_start(check_path("rest"), SMALL_BUDGET, KYMO_HELP));
    CHECK_EQ(threads_here(), before + 1);
    for (int i = 0; i < 10; i++) {
        kymo_writer_rest();
        CHECK_EQ(threads_here(), before);
        kymo_writer_rest();
        mark_parent(MANY / 10);
        CHECK_OK(kymo_writer_work());
        CHECK_OK(kymo_writer_work());
        CHECK_EQ(threads_here(), before + 1);
    }
    kymo_writer_rest();
    mark_parent(10);
    finish("rest", MANY + 10);
    kymo_writer_rest();
    CHECK_EQ(kymo_writer_work(), KYMO_EIDLE);
}

static void the_writer_may_rest_while_threads_record(void)
{
    pthread_t recorders[RECORDERS];
    quit = 0;
    made = 0;
    CHECK_OK(fault_start(check_path("restless"), SMALL_BUDGET, KYMO_HELP));
    for (int i = 0; i < RECORDERS; i++)
        CHECK_EQ(pthread_create(&recorders[i], NULL, record_until_quit, NULL), 0);
    for (int i = 0; i < FAULT_TIMES(50, 10); i++) {
        kymo_writer_rest();
        CHECK_OK(kymo_writer_work());
    }
    __atomic_store_n(&quit, 1u, __ATOMIC_RELAXED);
    for (int i = 0; i < RECORDERS; i++)
        pthread_join(recorders[i], NULL);
    finish("restless", made);
}

static const struct check_case cases[] = {
    CHECK_CASE(while_the_writer_rests_there_is_one_thread_and_nothing_is_lost),
    CHECK_CASE(the_writer_may_rest_while_threads_record),
    CHECK_CASE(a_child_of_fork_touches_nothing),
    CHECK_CASE(a_child_of__Fork_touches_nothing),
    CHECK_CASE(a_child_of_a_system_call_touches_nothing),
    CHECK_CASE(a_child_of_fork_may_record_itself),
    CHECK_CASE(a_child_of_a_system_call_may_record_itself),
    CHECK_CASE(a_child_that_exits_does_no_harm),
    CHECK_CASE(a_child_that__exits_does_no_harm),
    CHECK_CASE(a_child_of_a_system_call_that_exits_does_no_harm),
    CHECK_CASE(a_child_whose_thread_ends_does_no_harm),
    CHECK_CASE(a_child_may_fork_too),
    CHECK_CASE(programs_started_while_recording_are_harmless),
    CHECK_CASE(programs_started_while_recording_inherit_no_descriptor),
    CHECK_CASE(fork_while_threads_record_loses_nothing),
    CHECK_CASE(fork_while_sessions_start_and_stop_leaves_the_child_able_to_record),
};
CHECK_MAIN(cases)
