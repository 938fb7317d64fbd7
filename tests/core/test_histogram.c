/* Percentiles are right to one part in a hundred, whatever is counted. */
#include "histogram.h"

#include <stdlib.h>

#include "alloc.h"
#include "check.h"
#include "random.h"

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void percentiles_are_right_to_one_percent(void)
{
    enum { COUNT = 5000 };
    static int64_t values[COUNT];
    uint64_t state = 1;
    struct kymo_histogram h = {0};
    for (int i = 0; i < COUNT; i++) {
        values[i] = (int64_t)(random_size(&state) >> 2);
        CHECK_EQ(kymo__histogram_add(&h, values[i]), 0);
    }
    qsort(values, COUNT, sizeof(values[0]), by_size);

    for (int percent = 1; percent <= 100; percent++) {
        int64_t exact = values[(COUNT * percent + 99) / 100 - 1];
        int64_t found = kymo__histogram_at(&h, percent / 100.0);
        CHECK_LE(exact - exact / 100, found);
        CHECK_LE(found, exact + exact / 100);
    }
    kymo__histogram_fini(&h);
}

static void small_values_are_exact(void)
{
    struct kymo_histogram h = {0};
    for (int64_t i = 0; i < 128; i++)
        CHECK_EQ(kymo__histogram_add(&h, i), 0);

    for (int64_t i = 0; i < 128; i++)
        CHECK_EQ(kymo__histogram_at(&h, (double)(i + 1) / 128), i);
    kymo__histogram_fini(&h);
}

static void the_extremes_fit(void)
{
    struct kymo_histogram h = {0};
    CHECK_EQ(kymo__histogram_at(&h, 0.5), 0);
    CHECK_EQ(kymo__histogram_add(&h, INT64_MIN), 0);
    CHECK_EQ(kymo__histogram_at(&h, 1), 0);
    CHECK_EQ(kymo__histogram_add(&h, INT64_MAX), 0);
    CHECK_LE(INT64_MAX - INT64_MAX / 100, kymo__histogram_at(&h, 1));
    CHECK_EQ(kymo__histogram_at(&h, 0), 0);
    kymo__histogram_fini(&h);
}

static void merged_ones_count_for_both(void)
{
    struct kymo_histogram a = {0}, b = {0};
    for (int i = 0; i < 99; i++)
        CHECK_EQ(kymo__histogram_add(&a, 10), 0);
    CHECK_EQ(kymo__histogram_add(&b, 1000000), 0);
    CHECK_EQ(kymo__histogram_merge(&a, &b), 0);

    CHECK_EQ(kymo__histogram_at(&a, 0.99), 10);
    CHECK_LE(990000, kymo__histogram_at(&a, 1));
    kymo__histogram_fini(&a);
    kymo__histogram_fini(&b);
}

static void memory_may_run_out(void)
{
    struct kymo_histogram a = {0}, b = {0};
    for (int i = 0; i < KYMO__HISTOGRAM_FEW; i++)
        CHECK_EQ(kymo__histogram_add(&a, 5), 0);
    for (int i = 0; i <= KYMO__HISTOGRAM_FEW; i++)
        CHECK_EQ(kymo__histogram_add(&b, 5), 0);
    kymo__alloc_fail_after(0);
    int added = kymo__histogram_add(&a, 5), merged = kymo__histogram_merge(&a, &b);
    kymo__alloc_fail_after(-1);

    CHECK(added < 0);
    CHECK(merged < 0);
    CHECK_EQ(kymo__histogram_at(&a, 1), 5);
    kymo__histogram_fini(&a);
    kymo__histogram_fini(&b);
}

static const struct check_case cases[] = {
    CHECK_CASE(percentiles_are_right_to_one_percent),
    CHECK_CASE(small_values_are_exact),
    CHECK_CASE(the_extremes_fit),
    CHECK_CASE(merged_ones_count_for_both),
    CHECK_CASE(memory_may_run_out),
};

CHECK_MAIN(cases)
