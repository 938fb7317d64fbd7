/* Sampling does not get into a program's way, and nothing of it stays. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define FAULT_MANY_SESSIONS
#include "alloc.h"
#include "sampling.h"
#include "stackdesk.h"
#include "stackfile.h"
#include "timers.h"

/* ---- in a program's way ---- */

/* A program that closes everything and opens its own. 0, or what went wrong. */
static int close_all_and_stop(void)
{
    if (start_at("numbers", 1000, KYMO_SAMPLED_CPU) < 0)
        return 1;
    kymo_instant("known from now on");
    /* Not while the sampler reads the list of threads, for which it has another for a moment. */
    kymo__desk_before_fork();
    int first = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (first > 100)
        return 2; /* ours are in the way */
    for (int i = first; i < 65536; i++)
        close(i);
    /* The writer thread may open its file again meanwhile, and close it in the end. */
    bool opened[1024] = {false};
    for (int fd; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;)
        opened[fd] = true;
    kymo__desk_after_fork();
    kymo_stop(); /* fails: the file was closed too */
    for (int i = first; i < 1024; i++)
        if (opened[i] && fcntl(i, F_GETFD) < 0)
            return 3; /* one that is not ours was closed */
    return 0;
}

static void descriptors_of_the_program_are_left_alone(void)
{
    if (FAULT_TSAN)
        CHECK_SKIP("a program that closes our descriptors is a race to thread sanitizer");
    const struct rlimit few = {.rlim_cur = 1024, .rlim_max = 1024};
    int status;
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_NOFILE, &few);
        _exit(close_all_and_stop());
    }
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

static void *write_late(void *arg)
{
    fault_sleep(100 * MS);
    CHECK_EQ(write(*(int *)arg, "x", 1), 1);
    return NULL;
}

static void a_read_that_waits_is_not_interrupted(void)
{
    int ends[2];
    pthread_t thread;
    CHECK_EQ(pipe(ends), 0);
    CHECK_OK(start_at("read", 2000, KYMO_SAMPLED_WALL));
    CHECK_EQ(pthread_create(&thread, NULL, write_late, &ends[1]), 0);
    char byte = 0;
    ssize_t n = read(ends[0], &byte, 1);
    pthread_join(thread, NULL);
    CHECK_OK(kymo_stop());
    CHECK_EQ(n, 1);
    CHECK_EQ(byte, 'x');
    close(ends[0]);
    close(ends[1]);
}

static void errno_is_preserved(void)
{
    CHECK_OK(start_at("errno", 5000, KYMO_SAMPLED_WALL));
    bool kept = true;
    errno = 77;
    for (int i = 0; i < 2000; i++) {
        compute(20000);
        kept = kept && errno == 77;
    }
    CHECK_OK(kymo_stop());
    CHECK(kept);
}

static void *work_deaf(void *arg)
{
    sigset_t every;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, NULL);
    work(100 * MS); /* its timer sends a signal, which waits */
    __atomic_store_n((uint32_t *)arg, 1u, __ATOMIC_RELEASE);
    while (__atomic_load_n((uint32_t *)arg, __ATOMIC_ACQUIRE) != 2)
        fault_sleep(MS);
    sigemptyset(&every);
    pthread_sigmask(SIG_SETMASK, &every, NULL); /* and would end the process */
    return NULL;
}

static void a_signal_blocked_until_after_stop_is_harmless(void)
{
    uint32_t step = 0;
    pthread_t thread;
    CHECK_OK(start_at("deaf", 1000, KYMO_SAMPLED_CPU));
    CHECK_EQ(pthread_create(&thread, NULL, work_deaf, &step), 0);
    while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) != 1)
        fault_sleep(MS);
    CHECK_OK(kymo_stop());
    __atomic_store_n(&step, 2u, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
}

/* A program that has begun to start another one, which still has all descriptors. The system call
   itself: of fork the library would hear. 0, or what went wrong. */
static int stop_while_spawning(void)
{
    if (start_at("spawning", 1000, KYMO_SAMPLED_CPU) < 0)
        return 1;
    kymo_instant("known from now on");
    pid_t spawned = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (spawned == 0) {
        fault_sleep(1000 * MS);
        _exit(0);
    }
    if (kymo_stop() < 0)
        return 2;
    work(50 * MS); /* a signal would end it */
    kill(spawned, SIGKILL);
    return waitpid(spawned, NULL, 0) == spawned ? 0 : 3;
}

static void no_signal_comes_after_stop_while_a_program_is_spawned(void)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(stop_while_spawning());
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

static uint32_t handled;

static void handle(int number)
{
    (void)number;
    __atomic_fetch_add(&handled, 1u, __ATOMIC_RELAXED);
}

static void a_signal_with_a_handler_is_left_to_the_program(void)
{
    const struct sigaction action = {.sa_handler = handle};
    struct sigaction now;
    const int preferred[] = {SIGURG, SIGVTALRM, SIGRTMAX - 1, SIGRTMAX - 2};
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(sigaction(preferred[i], &action, NULL), 0);
        CHECK_OK(start_at("handler", 1000, KYMO_SAMPLED_CPU));
        work(50 * MS);
        CHECK_EQ(handled, i);
        raise(preferred[i]);
        CHECK_EQ(handled, i + 1);
        CHECK_OK(kymo_stop());
        CHECK_EQ(sigaction(preferred[i], NULL, &now), 0);
        CHECK(now.sa_handler == handle);
        CHECK_EQ(atoll(stackfile_meta(check_path("handler"), "sample.signal")), preferred[i + 1]);
    }
    for (int i = 0; i < 3; i++)
        signal(preferred[i], SIG_DFL);
}

static void *work_deep(void *arg)
{
    /* Of 16 KiB, what the kernel puts there for a handler has to fit, and little more. */
    volatile char used[16384 - 9 * 1024];
    used[0] = used[sizeof(used) - 1] = 1;
    work(100 * MS);
    return used[0] ? arg : NULL;
}

static void sample_small_stacks(void *arg)
{
    (void)arg;
    pthread_attr_t attributes;
    pthread_t threads[4];
    pthread_attr_init(&attributes);
    CHECK_EQ(pthread_attr_setstacksize(&attributes, 16384), 0);
    CHECK_OK(start_at("small", 2000, KYMO_SAMPLED_CPU));
    for (int i = 0; i < 4; i++)
        CHECK_EQ(pthread_create(&threads[i], &attributes, work_deep, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK_OK(kymo_stop());
    _exit(0);
}

static void threads_with_small_stacks_are_sampled_on_a_signal_stack(void)
{
    if (FAULT_ASAN || FAULT_TSAN)
        CHECK_SKIP("with a sanitizer such a stack is too small for everything");
    CHECK_CHILD(fault_child(sample_small_stacks, NULL));
    CHECK(atoll(stackfile_meta(check_path("small"), "sample.count")) > 50);
}

static void *be_there_until_told(void *arg)
{
    uint32_t *tid = arg;
    __atomic_store_n(tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    while (__atomic_load_n(tid, __ATOMIC_ACQUIRE))
        fault_sleep(MS);
    return NULL;
}

/* Give a thread that is there until its id becomes 0 the first place of TIMERS. */
static struct kymo_timed *time_another(struct kymo_timers *timers, pthread_t *thread, uint32_t *tid)
{
    *tid = 0;
    CHECK_EQ(pthread_create(thread, NULL, be_there_until_told, tid), 0);
    while (!__atomic_load_n(tid, __ATOMIC_ACQUIRE))
        fault_sleep(MS);
    kymo__timers_meet(timers, *tid);
    CHECK_EQ(kymo__timed[0].tid, *tid);
    return &kymo__timed[0];
}

static void end_the_other(struct kymo_timers *timers, pthread_t thread, uint32_t *tid)
{
    const uint32_t other = __atomic_exchange_n(tid, 0u, __ATOMIC_ACQ_REL);
    pthread_join(thread, NULL);
    do
        kymo__timers_look(timers);
    while (kymo__timed[0].session && kymo__timed[0].tid == other); /* the system may be late */
}

static void a_late_signal_gets_a_stack_that_no_other_thread_gets(void)
{
    const uint32_t self = (uint32_t)getpid();
    struct kymo_timers timers = {.session = 1,
                                 .signal = SIGURG,
                                 .clock = KYMO_SAMPLED_WALL,
                                 .period = 1000 * MS,
                                 .paused = true};
    pthread_t thread;
    uint32_t tid;
    CHECK_OK(kymo__timers_reserve());
    kymo__desk_lock();

    /* Its handler has begun when the timer is removed. */
    kymo__timers_meet(&timers, self);
    CHECK_EQ(kymo__timed[0].tid, self);
    kymo__timers_remove(&timers);
    void *late = kymo__timed_take_stack(&kymo__timed[0], self);
    struct kymo_timed *timed = time_another(&timers, &thread, &tid);
    void *others = kymo__timed_take_stack(timed, tid);
    CHECK(late && others && late != others);

    /* A thread that has ended needs its stack no more. */
    end_the_other(&timers, thread, &tid);
    CHECK(kymo__load_relaxed(&kymo__timed[0].stack) == others);
    kymo__timers_remove(&timers);

    /* It may take a stack that was meant for another thread: that one's end does not matter. */
    timed = time_another(&timers, &thread, &tid);
    CHECK(kymo__timed_take_stack(timed, self) == others);
    CHECK(kymo__timed_take_stack(timed, tid) == NULL);
    end_the_other(&timers, thread, &tid);
    CHECK(kymo__load_relaxed(&kymo__timed[0].stack) != others);
    kymo__timers_remove(&timers);
    kymo__desk_unlock();
}

static void reset_signals(void *arg)
{
    (void)arg;
    CHECK_OK(start_at("reset", 1000, KYMO_SAMPLED_CPU));
    kymo_instant("known from now on");
    work(30 * MS);
    for (int turn = 0; turn < 20; turn++) {
        for (int number = 1; number < NSIG; number++)
            signal(number, SIG_DFL);
        work(5 * MS);
    }
    CHECK_OK(kymo_stop());
    _exit(0);
}

static void a_program_that_resets_all_signals_keeps_running(void)
{
    for (int i = 0; i < 5; i++)
        CHECK_CHILD(fault_child(reset_signals, NULL));
    CHECK(strstr(stackfile_meta(check_path("reset"), "sample.ended"), "the program") != NULL);
}

static void a_program_can_take_over_the_signal(void)
{
    needs_signals_in_time();
    const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    struct sigaction now;
    CHECK_OK(start_at("taken", 1000, KYMO_SAMPLED_CPU));
    kymo_instant("known from now on");
    work(20 * MS);
    int number = signal_in_use();
    CHECK_EQ(sigaction(number, &action, NULL), 0);
    for (int i = 0; i < 200 && timers_now(); i++)
        fault_sleep(5 * MS);
    CHECK_EQ(timers_now(), 0); /* it was noticed */
    __atomic_store_n(&handled, 0u, __ATOMIC_RELAXED);
    work(50 * MS);
    CHECK_EQ(handled, 0);
    CHECK_OK(kymo_stop());
    CHECK_EQ(sigaction(number, NULL, &now), 0);
    CHECK(now.sa_handler == handle);
    CHECK(strstr(stackfile_meta(check_path("taken"), "sample.ended"), "the program") != NULL);
    signal(number, SIG_DFL);
}

static void invalid_options_are_refused(void)
{
    CHECK_EQ(start_at("refused", 10001, KYMO_SAMPLED_CPU), -EINVAL);
    CHECK_EQ(start_at("refused", 100, 2), -EINVAL);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        signal(number, handle);
    signal(SIGPROF, handle);
    signal(SIGVTALRM, handle);
    signal(SIGURG, handle);
    int rc = start_at("refused", 100, KYMO_SAMPLED_CPU);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        signal(number, SIG_DFL);
    signal(SIGPROF, SIG_DFL);
    signal(SIGVTALRM, SIG_DFL);
    signal(SIGURG, SIG_DFL);
    CHECK_EQ(rc, KYMO_ESIGNALS);
    CHECK(access(check_path("refused"), F_OK) != 0);
    CHECK(access(check_path("refused.live"), F_OK) != 0);
}

static void running_out_of_memory_is_reported_and_leaves_nothing(void)
{
    int rc = -ENOMEM;
    for (long n = 0; n < 200 && rc == -ENOMEM; n++) {
        kymo__alloc_fail_after(n);
        rc = start_at("memory", 100, KYMO_SAMPLED_CPU);
        kymo__alloc_fail_after(-1);
        if (rc == -ENOMEM) {
            CHECK(access(check_path("memory"), F_OK) != 0);
            CHECK_EQ(signal_in_use(), 0);
        }
    }
    CHECK_OK(rc);
    CHECK_OK(kymo_stop());
}

/* ---- what stays ---- */

static void *brief(void *arg)
{
    if (arg)
        kymo_instant("brief");
    compute(2000);
    return NULL;
}

static void thousands_of_threads_leave_no_timer(void)
{
    enum { AT_ONCE = 20 };
    const int rounds = FAULT_TIMES(2000, 1000) / AT_ONCE;
    pthread_t threads[AT_ONCE];
    /* A sanitizer has a thread of its own. */
    int others = FAULT_TSAN ? 2 : 1;
    CHECK_OK(start_at("brief", 1000, KYMO_SAMPLED_CPU));
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < AT_ONCE; i++)
            CHECK_EQ(pthread_create(&threads[i], NULL, brief, i % 4 ? NULL : &threads), 0);
        for (int i = 0; i < AT_ONCE; i++)
            pthread_join(threads[i], NULL);
    }
    int timers = 0;
    for (int i = 0; i < 6000 && (timers = timers_now()) > others; i++)
        fault_sleep(5 * MS); /* it looks less often if that takes long */
    struct kymo_stats stats = fault_stats();
    CHECK_OK(kymo_stop());
    CHECK_LE(timers, others);
    CHECK_EQ(timers_now(), 0);
    CHECK_LE((uint64_t)rounds * AT_ONCE / 4, stats.threads);

    struct kymo_capture *capture;
    CHECK_OK(kymo_open(check_path("brief"), &capture));
    CHECK_EQ(fault_info(capture).lost_records, 0);
    kymo_close(capture);
}

static void thousands_of_threads_leave_no_timer_without_the_exact_clock(void)
{
    without_clocks(thousands_of_threads_leave_no_timer);
}

static void hundreds_of_sessions_leave_nothing_behind(void)
{
    const int cycles = FAULT_TIMES(200, 100);
    pthread_t threads[2];
    long resident = 0;
    int files = 0, tasks = 0;
    quit = 0;
    CHECK_EQ(pthread_create(&threads[0], NULL, work_until_told, NULL), 0);
    CHECK_EQ(pthread_create(&threads[1], NULL, work_until_told, &quit), 0);
    for (int i = 0; i < cycles; i++) {
        if (i == cycles / 4) {
            resident = fault_resident();
            files = fault_entries("/proc/self/fd");
            tasks = fault_entries("/proc/self/task");
        }
        CHECK_OK(start_at("cycle", 1000, i % 3 ? KYMO_SAMPLED_CPU : KYMO_SAMPLED_WALL));
        CHECK(signal_in_use() != 0);
        if (i % 8 == 0)
            work(3 * MS);
        CHECK_OK(kymo_stop());
        CHECK_EQ(signal_in_use(), 0);
    }
    int files_after = fault_entries("/proc/self/fd"), tasks_after = tasks;
    for (int i = 0; i < 200 && (tasks_after = fault_entries("/proc/self/task")) > tasks; i++)
        fault_sleep(MS);
    __atomic_store_n(&quit, 1u, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(files_after, files);
    CHECK_LE(tasks_after, tasks);
    CHECK_EQ(timers_now(), 0);
    if (!FAULT_ASAN && !FAULT_TSAN) /* they keep what was freed */
        CHECK_LE(fault_resident(), resident + (2 << 20));
}

/* As in a container that allows neither kind of timer. Returns 0 or -1. */
static int forbid_timers(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_create, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof(rules) / sizeof(*rules), .filter = rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
               ? -1
               : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void forbidden_timers_are_named_as_the_reason(void)
{
    enum { NO_FILTER = 100 };
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(forbid_timers() < 0                                          ? NO_FILTER
              : start_at("timers", 100, KYMO_SAMPLED_CPU) != KYMO_ENOTIMER ? 1
              : access(check_path("timers"), F_OK) == 0                    ? 2
              : access(check_path("timers.live"), F_OK) == 0               ? 3
                                                                           : 0);
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTER)
        CHECK_SKIP("this kernel takes no filter of system calls");
    CHECK_EQ(status, 0);
}

static const struct check_case cases[] = {
    /* First, before this process has had a session: the lock that fork then takes is a new one in
       the child, which thread sanitizer believes to be held there still. */
    CHECK_CASE(descriptors_of_the_program_are_left_alone),
    CHECK_CASE(no_signal_comes_after_stop_while_a_program_is_spawned),
    CHECK_CASE(a_read_that_waits_is_not_interrupted),
    CHECK_CASE(errno_is_preserved),
    CHECK_CASE(a_signal_blocked_until_after_stop_is_harmless),
    CHECK_CASE(a_signal_with_a_handler_is_left_to_the_program),
    CHECK_CASE(threads_with_small_stacks_are_sampled_on_a_signal_stack),
    CHECK_CASE(a_late_signal_gets_a_stack_that_no_other_thread_gets),
    CHECK_CASE(a_program_that_resets_all_signals_keeps_running),
    CHECK_CASE(a_program_can_take_over_the_signal),
    CHECK_CASE(invalid_options_are_refused),
    CHECK_CASE(forbidden_timers_are_named_as_the_reason),
    CHECK_CASE(running_out_of_memory_is_reported_and_leaves_nothing),
    CHECK_CASE(thousands_of_threads_leave_no_timer),
    CHECK_CASE(thousands_of_threads_leave_no_timer_without_the_exact_clock),
    CHECK_CASE(hundreds_of_sessions_leave_nothing_behind),
};
SAMPLING_MAIN(cases)
