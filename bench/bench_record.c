/* What recording costs: a span against the least that could be done (two reads of the
   counter, two records stored), with a session and without, on one thread and on all
   cores. */
#include <kymo/kymo.h>
#include <pthread.h>
#include <unistd.h>

#include "alternate.h"
#include <kymo/arch.h>

enum { ROUNDS = 40, RING = 4096 };

struct pair {
    uint64_t a, b;
};

static void floor_pairs(long count)
{
    static struct pair ring[RING];
    volatile struct pair *at = ring;
    for (long i = 0; i < count; i++) {
        at->a = kymo__counter_read();
        at->b = 1;
        at++;
        at->a = kymo__counter_read();
        at->b = 2;
        at++;
        if (at == ring + RING)
            at = ring;
    }
}

static void spans(long count)
{
    for (long i = 0; i < count; i++) {
        struct kymo_span span = kymo_span_begin("span");
        kymo_span_end(span);
    }
}

static void counters(long count)
{
    for (long i = 0; i < count; i++)
        kymo_counter("counter", (double)i);
}

static void empty_loop(long count)
{
    for (long i = 0; i < count; i++)
        __asm__ volatile("");
}

static char path[] = "/tmp/kymograph-bench-XXXXXX";

static void start(uint64_t budget)
{
    struct kymo_options options = {.size = sizeof(options), .path = path, .budget = budget};
    int rc = kymo_start(&options);
    if (rc < 0) {
        fprintf(stderr, "kymograph: %s: %s\n", path, kymo_strerror(rc));
        exit(1);
    }
}

/* Let the writer thread catch up, so that a turn measures recording alone. */
static void settle(void)
{
    struct kymo_stats stats = {.size = sizeof(stats)};
    uint64_t last = 1;
    for (int i = 0; i < 100; i++) {
        usleep(5000);
        if (kymo_stats(&stats) < 0 || stats.written_records == last)
            return;
        last = stats.written_records;
    }
}

struct worker {
    pthread_t thread;
    pthread_barrier_t *barrier;
    long count;
    double ns;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    spans(1000);
    pthread_barrier_wait(w->barrier);
    double t = bench_now();
    spans(w->count);
    w->ns = (bench_now() - t) / (double)w->count;
    return NULL;
}

/* The mean over THREADS threads of a span's time. */
static double on_threads(int threads, long count)
{
    struct worker workers[64];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    double sum = 0;
    for (int i = 0; i < threads; i++) {
        workers[i] = (struct worker){.barrier = &barrier, .count = count};
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        sum += workers[i].ns;
    }
    pthread_barrier_destroy(&barrier);
    return sum / threads;
}

static void scaling(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    cores = cores > 64 ? 64 : cores;
    /* As much as fits into the budget on all cores together, so that what is measured
       is recording and not the one thread that writes for all of them. */
    long count = (256L << 20) / 16 / 2 / 2 / cores;
    printf(
        "\nA span on 1 to %ld threads, CPU time of the recording threads (budget not exceeded)\n",
        cores);
    printf("  %-8s %12s %12s\n", "threads", "ns a span", "of linear");
    for (long n = 1; n <= cores; n *= 2) {
        double ratios[9], times[9];
        for (int r = 0; r < 9; r++) {
            settle();
            double one = on_threads(1, count);
            settle();
            times[r] = on_threads((int)n, count);
            ratios[r] = one / times[r];
        }
        printf("  %-8ld %12.2f %11.2fx\n", n, bench_quantile(times, 9, 0.5),
               bench_quantile(ratios, 9, 0.5));
    }
}

int main(void)
{
    close(mkstemp(path));
    struct contestant on[] = {
        {.name = "floor: 2 counter reads + 2 stores", .run = floor_pairs},
        {.name = "kymograph span", .run = spans},
        {.name = "kymograph counter", .run = counters},
    };
    start(256 << 20);
    bench_alternate(on, 3, ROUNDS, settle);
    printf("A span with a session\n");
    bench_table(on, 3, ROUNDS);
    scaling();
    kymo_stop();

    struct contestant off[] = {
        {.name = "empty loop", .run = empty_loop},
        {.name = "kymograph span, no session", .run = spans},
        {.name = "kymograph counter, no session", .run = counters},
    };
    bench_alternate(off, 3, ROUNDS, NULL);
    printf("\nThe same without a session\n");
    bench_table(off, 3, ROUNDS);
    unlink(path);
    return 0;
}
