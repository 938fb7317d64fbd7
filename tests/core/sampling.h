/* sampling.h — what the tests of the sampler share: work of which it is known how long it ran and
   in which code, and what the process has of the sampler's: timers, clocks, a signal. (Captures
   with samples that are made by hand are in sampled.h.) */
#ifndef KYMO_SAMPLING_H
#define KYMO_SAMPLING_H

#include <dirent.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "fault.h"
#include "perfclock.h"

enum { MS = 1000000 };

/* ---- work ---- */

extern const char __start_hot_code[], __stop_hot_code[];

/* Rounds of computing, in code whose place is known. */
__attribute__((noinline, unused, section("hot_code"))) static uint64_t compute(uint64_t rounds)
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

static inline int64_t ran(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Run for NS of this thread's own time. */
static inline void work(int64_t ns)
{
    for (int64_t end = ran() + ns; ran() < end;)
        compute(20000);
}

struct worker {
    pthread_t thread;
    int64_t ns, tid;
    int64_t ran; /* what it took: the host of a guest may have taken its core away meanwhile */
};

static inline void *worker_body(void *arg)
{
    struct worker *self = arg;
    self->tid = (int64_t)syscall(SYS_gettid);
    work(self->ns);
    self->ran = ran();
    return NULL;
}

static inline void worker_start(struct worker *worker, int64_t ns)
{
    worker->ns = ns;
    CHECK_EQ(pthread_create(&worker->thread, NULL, worker_body, worker), 0);
}

static uint32_t quit; /* tells those who work until told */

/* With ARG, records spans too. */
static inline void *work_until_told(void *arg)
{
    while (!__atomic_load_n(&quit, __ATOMIC_RELAXED)) {
        if (arg)
            kymo_span_end(kymo_span_begin("span"));
        work(MS / 10);
    }
    return NULL;
}

/* ---- the sampler ---- */

static inline int start_at(const char *name, uint32_t hz, int clock)
{
    return kymo_start(&(struct kymo_options){.size = sizeof(struct kymo_options),
                                             .path = check_path(name),
                                             .sample_hz = hz,
                                             .sample_clock = clock});
}

/* Thread sanitizer hands signals on late and drops those that come meanwhile. */
static inline void needs_signals_in_time(void)
{
    if (FAULT_TSAN)
        CHECK_SKIP("thread sanitizer delays signals");
}

/* TEST with timers, as where performance counters may not be used. */
static inline void without_clocks(void (*test)(void))
{
    kymo__perfclock_refused = true;
    test();
    kymo__perfclock_refused = false;
}

/* Clocks of the performance counters that are open: see perfclock.h. */
static inline int clocks_now(void)
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
static inline int timers_now(void)
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

/* The one signal of those the sampler may choose that has a handler, or 0. */
static inline int signal_in_use(void)
{
    struct sigaction now;
    static const int preferred[] = {SIGURG, SIGVTALRM};
    for (size_t i = 0; i < sizeof(preferred) / sizeof(*preferred); i++)
        if (sigaction(preferred[i], NULL, &now) == 0 && now.sa_handler != SIG_DFL &&
            now.sa_handler != SIG_IGN)
            return preferred[i];
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        if (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_DFL)
            return number;
    return 0;
}

static inline void threads_have_timers(void)
{
    CHECK_SKIP("the emulator has no timers of threads");
}

/* CHECK_MAIN, or where threads have no timers one case that says so. */
#define SAMPLING_MAIN(cases)                                                                       \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        static const struct check_case none[] = {CHECK_CASE(threads_have_timers)};                 \
        return getenv("KYMO_EMULATED")                                                             \
                   ? check_main(none, 1, argc, argv)                                               \
                   : check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);              \
    }

#endif
