/* Sampling goes with all else that a session does: rest, fork, expire, drop, be killed, stop. */
#include <kymo/source.h>

#define FAULT_MANY_SESSIONS
#include "sampling.h"
#include "stackfile.h"

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
    pid_t pid = fault_fork();
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
    int64_t woke = fault_now();
    work(100 * MS);
    CHECK_OK(kymo_stop());
    uint64_t since = (uint64_t)(fault_now() - woke) / MS;
    needs_signals_in_time();
    stackfile_read(&f, check_path("flight"), NULL, NULL);
    CHECK_LE(1, f.samples);
    CHECK_LE(f.periods, since + 10); /* the first ones have expired */
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
    CHECK_CASE(our_threads_rest_when_asked_to),
    CHECK_CASE(a_child_of_fork_is_not_sampled),
    CHECK_CASE(a_flight_recorder_defines_every_stack_it_keeps),
    CHECK_CASE(samples_and_dropped_marks_share_the_budget),
    CHECK_CASE(a_killed_process_keeps_its_samples),
    CHECK_CASE(stop_comes_at_any_time),
};
SAMPLING_MAIN(cases)
