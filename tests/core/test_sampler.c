/* Sampled stacks: how many, whose, and that nothing of it stays or gets into a program's way. */
#include <dirent.h>
#include <fcntl.h>
#include <kymo/source.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define FAULT_MANY_SESSIONS
#include "alloc.h"
#include "fault.h"
#include "perfclock.h"
#include "stackfile.h"

enum { MS = 1000000 };

/* ---- work ---- */

extern const char __start_hot_code[], __stop_hot_code[];

/* Rounds of computing, in code whose place is known. */
__attribute__((noinline, section("hot_code"))) static uint64_t compute(uint64_t rounds)
{
    uint64_t x = rounds | 1;
    for (uint64_t i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

static int64_t ran(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Run for NS of this thread's own time. */
static void work(int64_t ns)
{
    for (int64_t end = ran() + ns; ran() < end;)
        compute(20000);
}

struct worker {
    pthread_t thread;
    int64_t ns, tid;
};

static void *worker_body(void *arg)
{
    struct worker *self = arg;
    self->tid = (int64_t)syscall(SYS_gettid);
    work(self->ns);
    return NULL;
}

static void worker_start(struct worker *worker, int64_t ns)
{
    worker->ns = ns;
    CHECK_EQ(pthread_create(&worker->thread, NULL, worker_body, worker), 0);
}

static int start_at(const char *name, uint32_t hz, int clock)
{
    return kymo_start(&(struct kymo_options){.size = sizeof(struct kymo_options),
                                             .path = check_path(name),
                                             .sample_hz = hz,
                                             .sample_clock = clock});
}

/* Thread sanitizer hands signals on late and drops those that come meanwhile. */
static void needs_signals_in_time(void)
{
    if (FAULT_TSAN)
        CHECK_SKIP("thread sanitizer delays signals");
}

/* Clocks of the performance counters that are open: see perfclock.h. */
static int clocks_now(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;
    CHECK(dir != NULL);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        char target[64] = "";
        ssize_t length = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
        count += length > 0 && strstr(target, "perf_event") != NULL;
    }
    closedir(dir);
    return count;
}

/* Timers and clocks. */
static int timers_now(void)
{
    FILE *f = fopen("/proc/self/timers", "re");
    if (!f)
        CHECK_SKIP("this kernel does not list timers");
    int count = 0;
    for (char line[256]; fgets(line, sizeof(line), f);)
        count += strncmp(line, "ID:", 3) == 0;
    fclose(f);
    return count + clocks_now();
}

/* The one signal from SIGRTMIN on that has a handler, or 0. */
static int signal_in_use(void)
{
    struct sigaction now;
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        if (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_DFL)
            return number;
    return 0;
}

/* ---- how many ---- */

static void periods_add_up_to_the_time_that_threads_ran(void)
{
    needs_signals_in_time();
    struct worker workers[3] = {0};
    struct stackfile f;
    CHECK_OK(start_at("count", 1000, KYMO_SAMPLED_CPU));
    int64_t before = ran();
    for (int i = 0; i < 3; i++)
        worker_start(&workers[i], (200 + 100 * i) * MS);
    work(200 * MS);
    for (int i = 0; i < 3; i++)
        pthread_join(workers[i].thread, NULL);
    int64_t mine = (ran() - before) / MS;
    CHECK_OK(kymo_stop());

    stackfile_read(&f, check_path("count"), __start_hot_code, __stop_hot_code);
    CHECK_EQ(f.threads, 4);
    CHECK_EQ(f.undefined, 0);
    CHECK_EQ(f.without, 0);
    for (int i = 0; i < 3; i++) {
        struct stackfile_thread thread = stackfile_thread(&f, workers[i].tid);
        CHECK_LE(100 + 50 * i, thread.periods); /* it takes a moment to find a new thread */
        CHECK_LE(thread.periods, 205 + 100 * i);
        CHECK(thread.name[0] != '\0');
    }
    struct stackfile_thread main_thread = stackfile_thread(&f, getpid());
    CHECK_LE(mine / 2, main_thread.periods);
    CHECK_LE(main_thread.periods, mine + 5);
    CHECK_LE(f.periods * 8 / 10, f.in_hot); /* that is where they were */
    CHECK_LE(f.in_hot, f.periods);
    CHECK_STR(stackfile_meta(check_path("count"), "sample.period_ns"), "1000000");
    CHECK_STR(stackfile_meta(check_path("count"), "sample.clock"), "cpu");
    CHECK_EQ(atoll(stackfile_meta(check_path("count"), "sample.count")), f.samples);
    stackfile_free(&f);
}

/* The same with timers, where there are no such clocks. */
static void without_clocks(void (*test)(void))
{
    kymo__perfclock_refused = true;
    test();
    kymo__perfclock_refused = false;
}

static void periods_add_up_without_the_exact_clock(void)
{
    without_clocks(periods_add_up_to_the_time_that_threads_ran);
}

static void a_thousand_times_a_second_is_that(void)
{
    needs_signals_in_time();
    struct stackfile f;
    CHECK_OK(start_at("rate", 1000, KYMO_SAMPLED_CPU));
    kymo_instant("known from now on");
    if (!clocks_now()) {
        CHECK_OK(kymo_stop());
        CHECK_SKIP("performance counters may not be used here");
    }
    work(300 * MS);
    CHECK_OK(kymo_stop());
    stackfile_read(&f, check_path("rate"), __start_hot_code, __stop_hot_code);
    CHECK_LE(150, f.samples); /* timers alone would give 75 with a clock of 250 ticks */
    CHECK_LE(f.samples, f.periods);
    CHECK_LE(f.periods, 320);
    stackfile_free(&f);
}

/* A program that closes everything and opens its own. 0, or what went wrong. */
static int close_all_and_stop(void)
{
    if (start_at("numbers", 1000, KYMO_SAMPLED_CPU) < 0)
        return 1;
    kymo_instant("known from now on");
    int first = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (first > 100)
        return 2; /* ours are in the way */
    for (int i = first; i < 65536; i++)
        close(i);
    while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
        ;
    kymo_stop(); /* fails: the file was closed too */
    for (int i = first; i < 1024; i++)
        if (fcntl(i, F_GETFD) < 0 && i != first)
            return 3; /* one that is not ours was closed */
    return 0;
}

static void descriptors_of_the_program_are_its_own(void)
{
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

static bool has_timer(int64_t tid)
{
    char wanted[64];
    bool found = false;
    snprintf(wanted, sizeof(wanted), "notify: signal/tid.%lld\n", (long long)tid);
    FILE *f = fopen("/proc/self/timers", "re");
    if (!f)
        CHECK_SKIP("this kernel does not list timers");
    for (char line[256]; fgets(line, sizeof(line), f);)
        found = found || strcmp(line, wanted) == 0;
    fclose(f);
    return found;
}

static void *record_once(void *arg)
{
    kymo_instant("a mark");
    *(bool *)arg = has_timer((int64_t)syscall(SYS_gettid));
    return NULL;
}

static void a_thread_has_its_timer_from_its_first_record_on(void)
{
    kymo__perfclock_refused = true; /* of those it can be told whose they are */
    for (int i = 0; i < 10; i++) {
        bool other = false, mine = false;
        pthread_t thread;
        CHECK_OK(start_at("first", 1000, KYMO_SAMPLED_CPU));
        CHECK_EQ(pthread_create(&thread, NULL, record_once, &other), 0);
        record_once(&mine);
        pthread_join(thread, NULL);
        CHECK_OK(kymo_stop());
        kymo__perfclock_refused = i < 9;
        CHECK(other);
        CHECK(mine);
    }
}

static void time_asleep_counts_only_by_the_wall_clock(void)
{
    needs_signals_in_time();
    static const int clocks[] = {KYMO_SAMPLED_CPU, KYMO_SAMPLED_WALL};
    struct stackfile f[2];
    for (int i = 0; i < 2; i++) {
        CHECK_OK(start_at("sleep", 100, clocks[i]));
        for (int64_t end = fault_now() + 400 * MS; fault_now() < end;)
            fault_sleep(end - fault_now()); /* a signal ends it early */
        CHECK_OK(kymo_stop());
        stackfile_read(&f[i], check_path("sleep"), NULL, NULL);
        CHECK_STR(stackfile_meta(check_path("sleep"), "sample.clock"), i ? "wall" : "cpu");
        stackfile_free(&f[i]);
    }
    CHECK_LE(f[0].periods, 3);
    CHECK_LE(25, f[1].periods);
    CHECK_LE(f[1].periods, 60);
}

static void while_paused_there_are_no_samples(void)
{
    struct stackfile f;
    CHECK_OK(start_at("pause", 1000, KYMO_SAMPLED_CPU));
    kymo_instant("known from now on");
    work(50 * MS);
    CHECK_OK(kymo_tracer_pause());
    kymo_instant("pause");
    work(300 * MS);
    CHECK_OK(kymo_tracer_resume());
    work(100 * MS);
    CHECK_OK(kymo_stop());
    needs_signals_in_time();

    stackfile_read(&f, check_path("pause"), NULL, NULL);
    CHECK_LE(50, f.periods); /* a part of a period is lost at each end */
    CHECK_LE(f.periods, 200);
    stackfile_free(&f);
}

static void a_sample_that_interrupts_a_mark_counts_with_the_next(void)
{
    struct stackfile f;
    uint64_t more = 0;
    for (int round = 0; round < 20 && !more; round++) {
        CHECK_OK(start_at("nested", 5000, KYMO_SAMPLED_WALL));
        for (int64_t end = fault_now() + 200 * MS; fault_now() < end;)
            for (int i = 0; i < 1000; i++)
                kymo_span_end(kymo_span_begin("span"));
        CHECK_OK(kymo_stop());
        needs_signals_in_time();
        stackfile_read(&f, check_path("nested"), NULL, NULL);
        CHECK_EQ(stackfile_thread(&f, getpid()).lost, 0);
        CHECK_LE(20, f.samples);
        more = f.periods - f.samples;
        stackfile_free(&f);
    }
    CHECK_LE(1, more);
}

/* ---- threads that come and go ---- */

static void *brief(void *arg)
{
    if (arg)
        kymo_instant("brief");
    compute(2000);
    return NULL;
}

static void ten_thousand_threads_leave_no_timer(void);

static void ten_thousand_threads_leave_no_timer_without_the_exact_clock(void)
{
    without_clocks(ten_thousand_threads_leave_no_timer);
}

static void ten_thousand_threads_leave_no_timer(void)
{
    enum { AT_ONCE = 20 };
    const int rounds = FAULT_TIMES(10000, 1000) / AT_ONCE;
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
    for (int i = 0; i < 200 && (timers = timers_now()) > others; i++)
        fault_sleep(5 * MS);
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

static uint32_t quit;

static void *work_until_told(void *arg)
{
    while (!__atomic_load_n(&quit, __ATOMIC_RELAXED)) {
        if (arg)
            kymo_span_end(kymo_span_begin("span"));
        work(MS / 10);
    }
    return NULL;
}

static void a_thousand_sessions_leave_nothing_behind(void)
{
    const int cycles = FAULT_TIMES(1000, 100);
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

/* ---- in a program's way ---- */

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

static void errno_is_not_touched(void)
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

static void a_signal_that_a_thread_has_blocked_until_after_stop_does_no_harm(void)
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
    CHECK_EQ(sigaction(SIGRTMAX - 1, &action, NULL), 0);
    CHECK_OK(start_at("handler", 1000, KYMO_SAMPLED_CPU));
    work(50 * MS);
    CHECK_EQ(handled, 0);
    raise(SIGRTMAX - 1);
    CHECK_EQ(handled, 1);
    CHECK_OK(kymo_stop());
    CHECK_EQ(sigaction(SIGRTMAX - 1, NULL, &now), 0);
    CHECK(now.sa_handler == handle);
    CHECK_EQ(atoll(stackfile_meta(check_path("handler"), "sample.signal")), SIGRTMAX - 2);
    signal(SIGRTMAX - 1, SIG_DFL);
}

static void a_program_that_takes_the_signal_has_it(void)
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

static void what_cannot_be_is_refused(void)
{
    CHECK_EQ(start_at("refused", 10001, KYMO_SAMPLED_CPU), -EINVAL);
    CHECK_EQ(start_at("refused", 100, 2), -EINVAL);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        signal(number, handle);
    signal(SIGPROF, handle);
    int rc = start_at("refused", 100, KYMO_SAMPLED_CPU);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        signal(number, SIG_DFL);
    signal(SIGPROF, SIG_DFL);
    CHECK_EQ(rc, -KYMO_ESIGNALS);
    CHECK(access(check_path("refused"), F_OK) != 0);
    CHECK(access(check_path("refused.live"), F_OK) != 0);
}

static void want_of_memory_is_said_and_leaves_nothing(void)
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

/* ---- with the rest of a session ---- */

static void our_threads_rest_when_asked_to(void)
{
    struct stackfile f;
    int tasks = 0;
    CHECK_OK(start_at("rest", 1000, KYMO_SAMPLED_CPU));
    kymo_instant("known from now on");
    work(50 * MS);
    kymo_writer_rest();
    for (int i = 0; i < 200 && (tasks = fault_entries("/proc/self/task") - 2) > 1; i++)
        fault_sleep(MS);
    work(50 * MS);
    CHECK_OK(kymo_writer_work());
    work(50 * MS);
    CHECK_OK(kymo_stop());
    needs_signals_in_time();
    CHECK_EQ(tasks, 1);
    stackfile_read(&f, check_path("rest"), NULL, NULL);
    CHECK_LE(70, f.periods);
    CHECK_EQ(f.undefined, 0);
    stackfile_free(&f);
}

static void a_child_of_fork_is_not_sampled(void)
{
    CHECK_OK(start_at("fork", 1000, KYMO_SAMPLED_CPU));
    work(20 * MS);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        bool clean = timers_now() == 0 && signal_in_use() == 0;
        work(20 * MS);
        /* It may take samples of its own. */
        bool can = FAULT_TSAN || start_at("child", 1000, KYMO_SAMPLED_CPU) == 0;
        work(100 * MS);
        can = FAULT_TSAN || (can && kymo_stop() == 0); /* where a child may have threads */
        _exit(clean && can ? 0 : 1);
    }
    work(50 * MS);
    CHECK_CHILD(pid);
    CHECK_OK(kymo_stop());
    if (FAULT_TSAN)
        return;
    struct stackfile f;
    stackfile_read(&f, check_path("child"), NULL, NULL);
    CHECK_LE(30, f.periods);
    CHECK_EQ(f.threads, 1);
    stackfile_free(&f);
    stackfile_read(&f, check_path("fork"), NULL, NULL);
    CHECK_EQ(f.threads, 1);
    CHECK_LE(30, f.periods);
    stackfile_free(&f);
}

static void a_flight_recorder_defines_every_stack_it_keeps(void)
{
    struct stackfile f;
    CHECK_OK(kymo_start(&(struct kymo_options){.size = sizeof(struct kymo_options),
                                               .path = check_path("flight"),
                                               .flight_ns = 500 * MS,
                                               .sample_hz = 1000}));
    kymo_instant("known from now on");
    work(50 * MS);
    fault_sleep(700 * MS);
    work(100 * MS);
    CHECK_OK(kymo_stop());
    needs_signals_in_time();
    stackfile_read(&f, check_path("flight"), NULL, NULL);
    CHECK_LE(1, f.samples);
    CHECK_LE(f.periods, 110); /* the first ones have expired */
    CHECK_EQ(f.undefined, 0);
    stackfile_free(&f);
}

static void samples_and_dropped_marks_share_the_budget(void)
{
    pthread_t threads[4];
    struct stackfile f;
    quit = 0;
    CHECK_OK(kymo_start(&(struct kymo_options){.size = sizeof(struct kymo_options),
                                               .path = check_path("drop"),
                                               .budget = SMALL_BUDGET,
                                               .policy = KYMO_DROP,
                                               .sample_hz = 1000}));
    for (int i = 0; i < 4; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, work_until_told, i % 2 ? &quit : NULL), 0);
    for (int64_t end = fault_now() + 300 * MS; fault_now() < end;)
        kymo_span_end(kymo_span_begin("span"));
    __atomic_store_n(&quit, 1u, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK_OK(kymo_stop());
    needs_signals_in_time();
    stackfile_read(&f, check_path("drop"), NULL, NULL);
    CHECK_LE(1, f.samples);
    CHECK_EQ(f.undefined, 0);
    stackfile_free(&f);
}

static void sample_until_killed(void *arg)
{
    uint32_t *ready = arg;
    CHECK_OK(start_at("killed", 1000, KYMO_SAMPLED_CPU));
    struct worker worker;
    worker_start(&worker, 10000 * (int64_t)MS);
    work(300 * MS);
    __atomic_store_n(ready, 1u, __ATOMIC_RELEASE);
    work(10000 * (int64_t)MS);
}

static void a_killed_process_keeps_its_samples(void)
{
    needs_signals_in_time();
    struct stackfile f;
    uint32_t *ready = fault_shared(sizeof(*ready));
    pid_t pid = fault_child(sample_until_killed, ready);
    while (!__atomic_load_n(ready, __ATOMIC_ACQUIRE))
        fault_sleep(MS);
    kill(pid, SIGKILL);
    CHECK_EQ(WTERMSIG(fault_wait(pid)), SIGKILL);

    stackfile_read(&f, check_path("killed"), __start_hot_code, __stop_hot_code);
    CHECK_EQ(f.threads, 2);
    CHECK_LE(150, stackfile_thread(&f, pid).periods);
    CHECK_LE(f.undefined, f.samples / 4); /* those of the last moment */
    CHECK_LE(f.periods / 2, f.in_hot);
    stackfile_free(&f);
}

static void stop_comes_at_any_time(void)
{
    pthread_t threads[6];
    quit = 0;
    for (int i = 0; i < 6; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, work_until_told, i % 2 ? &quit : NULL), 0);
    for (int i = 0; i < FAULT_TIMES(100, 20); i++) {
        CHECK_OK(start_at("anytime", 10000, KYMO_SAMPLED_WALL));
        fault_sleep((int64_t)fault_random(5 * MS));
        CHECK_OK(kymo_stop());
        struct stackfile f;
        if (i % 10 == 0) {
            stackfile_read(&f, check_path("anytime"), NULL, NULL);
            CHECK_EQ(f.undefined, 0);
            stackfile_free(&f);
        }
    }
    __atomic_store_n(&quit, 1u, __ATOMIC_RELAXED);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
}

static const struct check_case cases[] = {
    CHECK_CASE(periods_add_up_to_the_time_that_threads_ran),
    CHECK_CASE(periods_add_up_without_the_exact_clock),
    CHECK_CASE(a_thousand_times_a_second_is_that),
    CHECK_CASE(descriptors_of_the_program_are_its_own),
    CHECK_CASE(a_thread_has_its_timer_from_its_first_record_on),
    CHECK_CASE(time_asleep_counts_only_by_the_wall_clock),
    CHECK_CASE(while_paused_there_are_no_samples),
    CHECK_CASE(a_sample_that_interrupts_a_mark_counts_with_the_next),
    CHECK_CASE(ten_thousand_threads_leave_no_timer),
    CHECK_CASE(ten_thousand_threads_leave_no_timer_without_the_exact_clock),
    CHECK_CASE(a_thousand_sessions_leave_nothing_behind),
    CHECK_CASE(a_read_that_waits_is_not_interrupted),
    CHECK_CASE(errno_is_not_touched),
    CHECK_CASE(a_signal_that_a_thread_has_blocked_until_after_stop_does_no_harm),
    CHECK_CASE(a_signal_with_a_handler_is_left_to_the_program),
    CHECK_CASE(a_program_that_takes_the_signal_has_it),
    CHECK_CASE(what_cannot_be_is_refused),
    CHECK_CASE(want_of_memory_is_said_and_leaves_nothing),
    CHECK_CASE(our_threads_rest_when_asked_to),
    CHECK_CASE(a_child_of_fork_is_not_sampled),
    CHECK_CASE(a_flight_recorder_defines_every_stack_it_keeps),
    CHECK_CASE(samples_and_dropped_marks_share_the_budget),
    CHECK_CASE(a_killed_process_keeps_its_samples),
    CHECK_CASE(stop_comes_at_any_time),
};

static void threads_have_timers(void)
{
    CHECK_SKIP("the emulator has no timers of threads");
}

int main(int argc, char **argv)
{
    static const struct check_case none[] = {CHECK_CASE(threads_have_timers)};
    return getenv("KYMO_EMULATED")
               ? check_main(none, 1, argc, argv)
               : check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
