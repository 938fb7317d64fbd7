/* alternate.h — contestants measured in turns, a few tens of milliseconds each.

   Machines change their speed from second to second, so two things measured one
   after the other cannot be compared. Here every round runs each contestant once;
   what is reported is the least time of each, and the median and spread over rounds
   of its ratio to the first one. */
#ifndef KYMO_ALTERNATE_H
#define KYMO_ALTERNATE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct contestant {
    const char *name;
    void (*run)(long count); /* do it COUNT times */
    long count;              /* 0: found so that one turn lasts about `turn_ns` */
    double *ns;              /* per round, for one */
};

static inline double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline int bench_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The value below which FRACTION of the N values lie. */
static inline double bench_quantile(const double *values, int n, double fraction)
{
    double *sorted = malloc(sizeof(*sorted) * (size_t)n);
    memcpy(sorted, values, sizeof(*sorted) * (size_t)n);
    qsort(sorted, (size_t)n, sizeof(*sorted), bench_by_value);
    double value = sorted[(int)(fraction * (n - 1) + 0.5)];
    free(sorted);
    return value;
}

/* Run all in turns for ROUNDS rounds. BETWEEN, if any, runs before each turn. */
static inline void bench_alternate(struct contestant *all, int n, int rounds, void (*between)(void))
{
    const double turn_ns = 25e6;
    for (int i = 0; i < n; i++) {
        all[i].ns = malloc(sizeof(double) * (size_t)rounds);
        for (long count = 1000; !all[i].count; count *= 2) {
            double t = bench_now();
            all[i].run(count);
            t = bench_now() - t;
            if (t > turn_ns / 4)
                all[i].count = (long)((double)count * turn_ns / t) + 1;
        }
    }
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < n; i++) {
            if (between)
                between();
            double t = bench_now();
            all[i].run(all[i].count);
            all[i].ns[r] = (bench_now() - t) / (double)all[i].count;
        }
}

/* The median over rounds of I's time relative to the first one's. */
static inline double bench_ratio(const struct contestant *all, int i, int rounds, double fraction)
{
    double *ratios = malloc(sizeof(double) * (size_t)rounds);
    for (int r = 0; r < rounds; r++)
        ratios[r] = all[i].ns[r] / all[0].ns[r];
    double value = bench_quantile(ratios, rounds, fraction);
    free(ratios);
    return value;
}

static inline void bench_table(const struct contestant *all, int n, int rounds)
{
    printf("  %-34s %9s %9s %8s  %s\n", "", "least ns", "median", "ratio", "10%..90%");
    for (int i = 0; i < n; i++)
        printf("  %-34s %9.2f %9.2f %7.2fx  %.2f..%.2f\n", all[i].name,
               bench_quantile(all[i].ns, rounds, 0), bench_quantile(all[i].ns, rounds, 0.5),
               bench_ratio(all, i, rounds, 0.5), bench_ratio(all, i, rounds, 0.1),
               bench_ratio(all, i, rounds, 0.9));
}

#endif
