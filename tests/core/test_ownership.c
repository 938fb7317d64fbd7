/* What the recorder uses stays its own, whatever the program and others do: descriptors that are
   closed and opened again, files that are truncated, threads that are cancelled or held up, and
   two recorders that want one file. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "fault.h"

static uint64_t records_in(const char *path)
{
    struct kymo_capture *capture;
    CHECK_OK(kymo_open(path, &capture));
    uint64_t records = fault_info(capture).records;
    kymo_close(capture);
    return records;
}

static void record(int count)
{
    for (int i = 0; i < count; i++)
        kymo_counter("value", i * 0.7310585);
}

static void close_all(void)
{
    syscall(SYS_close_range, 3, ~0u, 0);
}

static off_t size_of(const char *path)
{
    struct stat st;
    CHECK_EQ(stat(path, &st), 0);
    return st.st_size;
}

/* ---- descriptors ---- */

static int open_data(const char *name)
{
    char bytes[4096];
    memset(bytes, 'A', sizeof(bytes));
    int fd = open(check_path(name), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
    return fd;
}

static void close_and_record(void *arg)
{
    (void)arg;
    CHECK_OK(fault_start(check_path("closed"), 0, KYMO_HELP));
    record(1000);
    close_all();
    /* Whatever number the recorder had, it is a file of the program's now. */
    char name[32];
    int last = open_data("data");
    while (last < 5000 && (last = fcntl(last, F_DUPFD_CLOEXEC, last + 1)) > 0)
        continue;
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "more %d", i);
        record(200000);
    }
    CHECK_OK(kymo_stop());
    _exit(0);
}

static void a_program_that_closes_every_descriptor_is_still_recorded(void)
{
    CHECK_CHILD(fault_child(close_and_record, NULL));
    CHECK_EQ(size_of(check_path("data")), 4096);
    CHECK_EQ(records_in(check_path("closed")), 801000);
}

static void close_and_lose(void *arg)
{
    (void)arg;
    CHECK_OK(fault_start(check_path("lost"), SMALL_BUDGET, KYMO_HELP));
    record(1000);
    close_all();
    CHECK_EQ(rename(check_path("lost"), check_path("moved")), 0);
    int first = open_data("one");
    for (int fd = first; fd < 5000; fd = fcntl(fd, F_DUPFD_CLOEXEC, fd + 1))
        CHECK(fd >= 0);
    for (int i = 0; i < 100 && kymo_running(); i++) {
        record(100000);
        fault_sleep(1000000);
    }
    CHECK(!kymo_running());
    CHECK_EQ(kymo_stop(), KYMO_ETAKEN);
    _exit(0);
}

static void without_its_file_the_recorder_stops_and_says_so(void)
{
    CHECK_CHILD(fault_child(close_and_lose, NULL));
    CHECK_EQ(size_of(check_path("one")), 4096);
}

static void descriptors_are_out_of_the_way(void)
{
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(before);
    CHECK_OK(fault_start(check_path("high"), 0, KYMO_HELP));
    int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(after);
    CHECK_EQ(before, after);
    CHECK_OK(kymo_stop());
}

static void reuse_after_raw_fork(void *arg)
{
    (void)arg;
    CHECK_OK(fault_start(check_path("parent"), 0, KYMO_HELP));
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        close_all();
        int fd = open_data("child");
        int top = fd;
        for (int next = fd; next < 5000; next = fcntl(next, F_DUPFD_CLOEXEC, next + 1))
            top = next;
        int open_before = fault_entries("/proc/self/fd");
        int rc = fault_start(check_path("own"), 0, KYMO_HELP);
        int stopped = rc == 0 ? kymo_stop() : rc;
        _exit(stopped == 0 && fcntl(top, F_GETFD) >= 0 &&
                      fault_entries("/proc/self/fd") == open_before
                  ? 0
                  : 3);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    CHECK_OK(kymo_stop());
    _exit(0);
}

static void a_raw_fork_child_keeps_the_descriptors_it_opened(void)
{
    FAULT_NOT_EMULATED("threads in forked children");
#if FAULT_ASAN || FAULT_TSAN
    CHECK_SKIP("the sanitizer does not know a raw fork");
#endif
    CHECK_CHILD(fault_child(reuse_after_raw_fork, NULL));
}

/* ---- files ---- */

static void captures_are_readable_for_their_owner_alone(void)
{
    struct stat st;
    mode_t before = umask(0);
    CHECK_OK(fault_start(check_path("private"), 0, KYMO_HELP));
    CHECK_EQ(stat(check_path("private"), &st), 0);
    CHECK_EQ(st.st_mode & 0777, 0600);
    CHECK_EQ(stat(check_path("private.live"), &st), 0);
    CHECK_EQ(st.st_mode & 0777, 0600);
    CHECK_OK(kymo_stop());
    umask(before);
}

static void truncate_live(void *arg)
{
    off_t size = *(const off_t *)arg;
    CHECK_OK(fault_start(check_path("cut"), 0, KYMO_HELP));
    record(10000);
    CHECK_EQ(truncate(check_path("cut.live"), size), 0);
    for (int i = 0; i < 100 && kymo_running(); i++) {
        record(100000);
        fault_sleep(10000000);
    }
    CHECK(!kymo_running());
    CHECK_EQ(kymo_stop(), KYMO_ECUT);
    /* Nothing of it is left: the next one works, and SIGBUS is the program's. */
    struct sigaction now;
    CHECK_EQ(sigaction(SIGBUS, NULL, &now), 0);
    CHECK(now.sa_handler == SIG_DFL);
    CHECK_OK(fault_start(check_path("after"), 0, KYMO_HELP));
    record(10);
    CHECK_OK(kymo_stop());
    CHECK_EQ(records_in(check_path("after")), 10);
    _exit(0);
}

static void a_truncated_live_file_stops_the_recording_and_not_the_program(void)
{
#if FAULT_ASAN || FAULT_TSAN
    CHECK_SKIP("the sanitizer handles SIGBUS itself");
#endif
    static const off_t sizes[] = {0, 4096, 500000}; /* less than a child's session begins with */
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        CHECK_CHILD(fault_child(truncate_live, (void *)&sizes[i]));
}

static void raise_bus(void *arg)
{
    (void)arg;
    CHECK_OK(fault_start(check_path("bus"), 0, KYMO_HELP));
    int fd = open_data("short");
    volatile char *map = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    map[1 << 19] = 1;
    _exit(0);
}

static void an_unrelated_sigbus_still_ends_the_program(void)
{
#if FAULT_ASAN || FAULT_TSAN
    CHECK_SKIP("the sanitizer handles SIGBUS itself");
#endif
    int status;
    CHECK(waitpid(fault_child(raise_bus, NULL), &status, 0) > 0);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGBUS);
}

/* ---- two recorders ---- */

static void hold_signals(void *arg)
{
    (void)arg;
    CHECK_OK(fault_start(check_path("precious"), 0, KYMO_HELP));
    record(7);
    CHECK_OK(kymo_stop());
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_IGN);
    const struct kymo_options options = {
        .size = sizeof(options), .path = check_path("precious"), .sample_hz = 100};
    CHECK_EQ(kymo_start(&options), KYMO_ESIGNALS);
    _exit(0);
}

static void a_start_that_fails_leaves_the_older_capture(void)
{
    CHECK_CHILD(fault_child(hold_signals, NULL));
    CHECK_EQ(records_in(check_path("precious")), 7);
    CHECK(access(check_path("precious.live"), F_OK) != 0);
}

struct race {
    int64_t at;
    uint32_t started, refused, other;
};

static void start_at_once(void *arg)
{
    struct race *race = arg;
    while (fault_now() < race->at)
        continue;
    int rc = fault_start(check_path("same"), SMALL_BUDGET, KYMO_HELP);
    __atomic_fetch_add(rc == 0                ? &race->started
                       : rc == KYMO_EBUSYFILE ? &race->refused
                                              : &race->other,
                       1, __ATOMIC_RELAXED);
    if (rc == 0) {
        record(100);
        fault_sleep(30000000);
        CHECK_OK(kymo_stop());
    }
    _exit(0);
}

static void only_one_of_two_simultaneous_starts_gets_the_file(void)
{
    struct race *race = fault_shared(sizeof(*race));
    for (int turn = 0; turn < 40; turn++) {
        pid_t children[3];
        memset(race, 0, sizeof(*race));
        race->at = fault_now() + 5000000;
        for (int i = 0; i < 3; i++)
            if ((children[i] = fork()) == 0)
                start_at_once(race);
        for (int i = 0; i < 3; i++)
            waitpid(children[i], NULL, 0);
        CHECK_EQ(race->other, 0);
        CHECK_EQ(race->started + race->refused, 3);
        /* One after the other is no race: who comes 30 ms late may replace it. */
        CHECK(race->started >= 1);
        CHECK_EQ(records_in(check_path("same")), 100);
    }
}

/* A process that is about to remove its live file waits here. */
static uint32_t *removal; /* 0: does not wait; 1: waits when it comes; 2: waits; 3: goes on */

int unlink(const char *path)
{
    size_t len = strlen(path);
    if (removal && len > 5 && strcmp(path + len - 5, ".live") == 0) {
        uint32_t comes = 1;
        if (__atomic_compare_exchange_n(removal, &comes, 2, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            while (__atomic_load_n(removal, __ATOMIC_ACQUIRE) == 2)
                fault_sleep(1000000);
    }
    return unlinkat(AT_FDCWD, path, 0);
}

static void record_and_stop_slowly(void *arg)
{
    (void)arg;
    fault_mount("proc", "/proc", NULL);
    CHECK_OK(fault_start(check_path("turns"), 0, KYMO_HELP));
    record(20);
    __atomic_store_n(removal, 1, __ATOMIC_RELEASE);
    CHECK_OK(kymo_stop());
}

static void record_elsewhere(void *arg)
{
    if (unshare(CLONE_NEWPID) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
        CHECK_SKIP("no PID namespace can be made here");
    CHECK_CHILD(fault_child(record_and_stop_slowly, arg));
}

/* Until it has removed its live file, nobody may take its place: it would remove that of the other. Only
   the lock tells one that is in another PID namespace. */
static void who_stops_leaves_the_live_file_of_the_next(void)
{
    removal = fault_shared(sizeof(*removal));
    pid_t pid = fault_child(record_elsewhere, NULL);
    int status;
    while (__atomic_load_n(removal, __ATOMIC_ACQUIRE) != 2) {
        if (waitpid(pid, &status, WNOHANG) != pid) {
            fault_sleep(1000000);
            continue;
        }
        if (WEXITSTATUS(status) == 77)
            CHECK_SKIP("no PID namespace can be made here");
        CHECK_FAIL("the child ended with %d", status);
    }
    int rc = fault_start(check_path("turns"), 0, KYMO_HELP);
    __atomic_store_n(removal, 3, __ATOMIC_RELEASE);
    CHECK_CHILD(pid);
    if (rc != KYMO_EBUSYFILE)
        CHECK_OK(rc);
    else
        CHECK_OK(fault_start(check_path("turns"), 0, KYMO_HELP));
    CHECK_EQ(access(check_path("turns.live"), F_OK), 0);
    record(30);
    CHECK_OK(kymo_stop());
    CHECK_EQ(records_in(check_path("turns")), 30);
    removal = NULL;
}

/* Somebody deleted the capture, and another process records under its name. */
static void record_there(void *arg)
{
    int *pipes = arg;
    char byte = (char)(fault_start(check_path("again"), 0, KYMO_HELP) == 0);
    record(20);
    CHECK(byte && write(pipes[1], &byte, 1) == 1 && read(pipes[2], &byte, 1) == 1);
    CHECK_EQ(kymo_stop(), KYMO_EDELETED);
}

static void who_lost_its_name_leaves_the_live_file_of_the_other(void)
{
    int pipes[4];
    char byte;
    CHECK_EQ(pipe(pipes), 0);
    CHECK_EQ(pipe(pipes + 2), 0);
    pid_t pid = fault_child(record_there, (int[]){0, pipes[1], pipes[2]});
    CHECK_EQ(read(pipes[0], &byte, 1), 1);
    CHECK_EQ(unlink(check_path("again")), 0);
    CHECK_OK(fault_start(check_path("again"), 0, KYMO_HELP)); /* its live file, too */
    record(30);
    CHECK_EQ(write(pipes[3], &byte, 1), 1);
    CHECK_CHILD(pid);
    CHECK_EQ(access(check_path("again.live"), F_OK), 0);
    CHECK_OK(kymo_stop());
    CHECK_EQ(records_in(check_path("again")), 30);
}

static void a_recorder_in_another_pid_namespace_is_respected(void)
{
    int ready[2], done[2];
    char byte = 0;
    CHECK_EQ(pipe(ready), 0);
    CHECK_EQ(pipe(done), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWPID) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
            _exit(77);
        pid_t inner = fork();
        if (inner == 0) {
            byte = (char)(fault_start(check_path("spaces"), 0, KYMO_HELP) == 0);
            record(50);
            if (write(ready[1], &byte, 1) < 0 || read(done[0], &byte, 1) < 0)
                _exit(1);
            _exit(kymo_stop() == 0 ? 0 : 2);
        }
        int status;
        waitpid(inner, &status, 0);
        _exit(WEXITSTATUS(status));
    }
    close(ready[1]);
    bool started = read(ready[0], &byte, 1) == 1;
    int rc = started ? fault_start(check_path("spaces"), 0, KYMO_HELP) : 0;
    if (started && rc == 0)
        kymo_stop();
    int status;
    if (write(done[1], &byte, 1) < 0)
        CHECK_FAIL("write");
    waitpid(pid, &status, 0);
    if (!started)
        CHECK_SKIP("no PID namespace can be made here");
    CHECK_EQ(rc, KYMO_EBUSYFILE);
    CHECK_EQ(status, 0);
    CHECK_EQ(records_in(check_path("spaces")), 50);
}

static void a_child_that_was_forked_raw_does_not_keep_the_file(void)
{
#if FAULT_ASAN || FAULT_TSAN
    CHECK_SKIP("the sanitizer does not know a raw fork");
#endif
    CHECK_OK(fault_start(check_path("shared"), 0, KYMO_HELP));
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        for (;;)
            pause();
    CHECK_OK(kymo_stop());
    int rc = fault_start(check_path("shared"), 0, KYMO_HELP);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    CHECK_OK(rc);
    CHECK_OK(kymo_stop());
}

/* ---- threads ---- */

static uint32_t go;

static void *name_much(void *arg)
{
    char name[64];
    kymo_instant("first");
    while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
        continue;
    for (int i = 0; i < 200000; i++) {
        snprintf(name, sizeof(name), "a name built at run time %d", i);
        kymo_instant(kymo_intern(name));
    }
    pthread_testcancel();
    return arg;
}

static void *record_first(void *arg)
{
    while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
        continue;
    kymo_instant("first");
    pthread_testcancel();
    return arg;
}

static void cancel(void *(*body)(void *))
{
    pthread_t thread;
    void *result;
    alarm(60);
    CHECK_OK(fault_start(check_path("cancel"), SMALL_BUDGET, KYMO_HELP));
    __atomic_store_n(&go, 0, __ATOMIC_RELEASE);
    CHECK_EQ(pthread_create(&thread, NULL, body, NULL), 0);
    fault_sleep(2000000);
    CHECK_EQ(pthread_cancel(thread), 0);
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    CHECK_EQ(pthread_join(thread, &result), 0);
    CHECK(result == PTHREAD_CANCELED);
    kymo_instant("after"); /* no lock went with the thread */
    CHECK_OK(kymo_stop());
    alarm(0);
}

static void a_cancelled_thread_leaves_no_lock_behind(void)
{
    cancel(name_much);
    CHECK_EQ(records_in(check_path("cancel")), 200002);
    cancel(record_first);
    CHECK_EQ(records_in(check_path("cancel")), 2);
}

/* The system call that tells a thread its name may take long. */
static __thread int slow;
static uint32_t held;

int prctl(int option, ...)
{
    if (slow && option == PR_GET_NAME) {
        __atomic_store_n(&held, 1, __ATOMIC_RELEASE);
        while (__atomic_load_n(&held, __ATOMIC_ACQUIRE) == 1)
            fault_sleep(1000000);
    }
    va_list more;
    va_start(more, option);
    void *name = option == PR_GET_NAME || option == PR_SET_NAME ? va_arg(more, void *) : NULL;
    va_end(more);
    return (int)syscall(SYS_prctl, option, name, 0, 0, 0);
}

static void *record_slowly(void *arg)
{
    slow = 1;
    for (int i = 0; i < 20000; i++)
        kymo_instant("from the slow thread");
    return arg;
}

static void a_thread_suspended_during_stop_continues_unharmed(void)
{
    pthread_t thread;
    __atomic_store_n(&held, 0, __ATOMIC_RELEASE);
    CHECK_OK(fault_start(check_path("held"), SMALL_BUDGET, KYMO_HELP));
    record(10);
    CHECK_EQ(pthread_create(&thread, NULL, record_slowly, NULL), 0);
    while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE))
        fault_sleep(1000000);
    CHECK_OK(kymo_stop());
    __atomic_store_n(&held, 2, __ATOMIC_RELEASE);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(records_in(check_path("held")), 10);
    CHECK_OK(fault_start(check_path("held"), SMALL_BUDGET, KYMO_HELP));
    record(20);
    CHECK_OK(kymo_stop());
    CHECK_EQ(records_in(check_path("held")), 20);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_program_that_closes_every_descriptor_is_still_recorded),
    CHECK_CASE(without_its_file_the_recorder_stops_and_says_so),
    CHECK_CASE(descriptors_are_out_of_the_way),
    CHECK_CASE(a_raw_fork_child_keeps_the_descriptors_it_opened),
    CHECK_CASE(captures_are_readable_for_their_owner_alone),
    CHECK_CASE(a_truncated_live_file_stops_the_recording_and_not_the_program),
    CHECK_CASE(an_unrelated_sigbus_still_ends_the_program),
    CHECK_CASE(a_start_that_fails_leaves_the_older_capture),
    CHECK_CASE(only_one_of_two_simultaneous_starts_gets_the_file),
    CHECK_CASE(who_stops_leaves_the_live_file_of_the_next),
    CHECK_CASE(who_lost_its_name_leaves_the_live_file_of_the_other),
    CHECK_CASE(a_recorder_in_another_pid_namespace_is_respected),
    CHECK_CASE(a_child_that_was_forked_raw_does_not_keep_the_file),
    CHECK_CASE(a_cancelled_thread_leaves_no_lock_behind),
    CHECK_CASE(a_thread_suspended_during_stop_continues_unharmed),
};
CHECK_MAIN(cases)
