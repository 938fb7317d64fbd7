/* Sampled stacks: how many, and whose. */
#include <kymo/source.h>

#define FAULT_MANY_SESSIONS
#include "sampling.h"
#include "stackfile.h"

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
        CHECK_LE(thread.periods, workers[i].ran / MS + 5);
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
    const int64_t before = ran();
    work(300 * MS);
    const int64_t ran_ms = (ran() - before) / MS;
    CHECK_OK(kymo_stop());
    stackfile_read(&f, check_path("rate"), __start_hot_code, __stop_hot_code);
    CHECK_LE(76, f.samples); /* timers alone would give 75 with a clock of 250 ticks */
    CHECK_LE(f.samples, f.periods);
    CHECK_LE(f.periods, ran_ms + 20);
    stackfile_free(&f);
}

/* Works without hearing signals, and with them. */
static void *work_deaf_at_first(void *arg)
{
    sigset_t every;
    kymo_instant("known from now on");
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, NULL);
    work(200 * MS);
    pthread_sigmask(SIG_UNBLOCK, &every, NULL);
    work(50 * MS);
    *(int64_t *)arg = ran() / MS;
    return NULL;
}

static void time_with_signals_blocked_counts_once(void)
{
    needs_signals_in_time();
    int64_t ran_ms;
    pthread_t thread;
    struct stackfile f;
    CHECK_OK(start_at("deaf", 1000, KYMO_SAMPLED_CPU));
    CHECK_EQ(pthread_create(&thread, NULL, work_deaf_at_first, &ran_ms), 0);
    pthread_join(thread, NULL);
    CHECK_OK(kymo_stop());
    stackfile_read(&f, check_path("deaf"), NULL, NULL);
    CHECK_LE(f.samples, 70); /* those that could not be heard are one */
    CHECK_LE(ran_ms / 2, f.periods);
    CHECK_LE(f.periods, ran_ms + 10);
    stackfile_free(&f);
}

static void time_with_signals_blocked_counts_once_without_the_exact_clock(void)
{
    without_clocks(time_with_signals_blocked_counts_once);
}

static void time_with_signals_blocked_counts_once_with_a_queued_signal(void)
{
    signal(SIGURG, SIG_IGN); /* then it is a real-time one */
    signal(SIGVTALRM, SIG_IGN);
    time_with_signals_blocked_counts_once();
    signal(SIGVTALRM, SIG_DFL);
    signal(SIGURG, SIG_DFL);
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
    int64_t spent[2]; /* in milliseconds, by each clock */
    for (int i = 0; i < 2; i++) {
        const int64_t began = i ? fault_now() : ran();
        CHECK_OK(start_at("sleep", 100, clocks[i]));
        for (int64_t end = fault_now() + 400 * MS; fault_now() < end;)
            fault_sleep(end - fault_now()); /* a signal ends it early */
        CHECK_OK(kymo_stop());
        spent[i] = ((i ? fault_now() : ran()) - began) / MS;
        stackfile_read(&f[i], check_path("sleep"), NULL, NULL);
        CHECK_STR(stackfile_meta(check_path("sleep"), "sample.clock"), i ? "wall" : "cpu");
        stackfile_free(&f[i]);
    }
    CHECK_LE(f[0].periods, spent[0] / 10 + 3);
    CHECK_LE(25, f[1].periods);
    CHECK_LE(f[1].periods, spent[1] / 10 + 20);
}

static void while_paused_there_are_no_samples(void)
{
    struct stackfile f;
    CHECK_OK(start_at("pause", 1000, KYMO_SAMPLED_CPU));
    kymo_instant("known from now on");
    const int64_t began = ran();
    work(50 * MS);
    CHECK_OK(kymo_tracer_pause());
    const int64_t paused = ran();
    kymo_instant("pause");
    work(300 * MS);
    const int64_t resumed = ran();
    CHECK_OK(kymo_tracer_resume());
    work(100 * MS);
    const int64_t sampled_ms = (paused - began + ran() - resumed) / MS;
    CHECK_OK(kymo_stop());
    needs_signals_in_time();

    stackfile_read(&f, check_path("pause"), NULL, NULL);
    CHECK_LE(50, f.periods); /* a part of a period is lost at each end */
    CHECK_LE(f.periods, sampled_ms + 50);
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
        CHECK_LE(1, f.samples); /* how many depends on who else wants the cores */
        more = f.periods - f.samples;
        stackfile_free(&f);
    }
    CHECK_LE(1, more);
}

static const struct check_case cases[] = {
    CHECK_CASE(periods_add_up_to_the_time_that_threads_ran),
    CHECK_CASE(periods_add_up_without_the_exact_clock),
    CHECK_CASE(a_thousand_times_a_second_is_that),
    CHECK_CASE(time_with_signals_blocked_counts_once),
    CHECK_CASE(time_with_signals_blocked_counts_once_without_the_exact_clock),
    CHECK_CASE(time_with_signals_blocked_counts_once_with_a_queued_signal),
    CHECK_CASE(a_thread_has_its_timer_from_its_first_record_on),
    CHECK_CASE(time_asleep_counts_only_by_the_wall_clock),
    CHECK_CASE(while_paused_there_are_no_samples),
    CHECK_CASE(a_sample_that_interrupts_a_mark_counts_with_the_next),
};
SAMPLING_MAIN(cases)
