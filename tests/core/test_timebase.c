/* Ticks become nanoseconds exactly, whatever the counter's rate and age. */
#include "timebase.h"

#include <errno.h>

#include "alloc.h"
#include "check.h"
#include "random.h"

typedef __int128 wide;

enum { COUNT = 200 };
static const double rates[] = {1e9, 24e6, 62.5e6, 3.7e9};
static const int64_t second = 1000000000;

/* COUNT snapshots of a counter of RATE that begins at TICKS, between GAP and 2 GAP
   nanoseconds apart, each off by some tens of nanoseconds as real ones are. */
static void make(struct kymo_snapshot s[COUNT], double rate, uint64_t ticks, int64_t gap,
                 uint64_t *state)
{
    int64_t elapsed = 0, start = 100 * second;
    for (int i = 0; i < COUNT; i++) {
        int64_t noise = (int64_t)(random_next(state) % 100) - 50;
        s[i].ticks = ticks + (uint64_t)((double)elapsed * (rate / 1e9));
        s[i].monotonic = start + elapsed + noise;
        s[i].wall = s[i].monotonic + 1600000000 * second;
        elapsed += gap + (int64_t)(random_next(state) % (uint64_t)gap);
    }
}

static wide floor_div(wide a, wide b)
{
    return a / b - (a % b < 0);
}

/* The straight line through the two snapshots around TICKS, or the nearest two. */
static int64_t reference(const struct kymo_snapshot *s, uint64_t ticks)
{
    int i = 0;
    while (i < COUNT - 2 && s[i + 1].ticks <= ticks)
        i++;
    wide delta = (wide)ticks - (wide)s[i].ticks;
    return s[i].monotonic + (int64_t)floor_div(delta * (s[i + 1].monotonic - s[i].monotonic),
                                               (wide)(s[i + 1].ticks - s[i].ticks));
}

static uint64_t tick_between(uint64_t first, uint64_t last, uint64_t *state)
{
    return first + random_next(state) % (last - first + 1);
}

/* Compare with the reference from a second before the first snapshot to a second
   after the last. */
static void agrees(double rate, uint64_t start, int64_t gap)
{
    struct kymo_snapshot s[COUNT];
    struct kymo_timebase base;
    uint64_t state = start ^ (uint64_t)gap;
    size_t hint = 0;
    make(s, rate, start, gap, &state);
    CHECK_EQ(kymo__timebase_init(&base, s, COUNT, 0), 0);
    CHECK_EQ(base.count, COUNT);
    uint64_t around = (uint64_t)rate;
    for (int i = 0; i < 20000; i++) {
        uint64_t ticks = tick_between(s[0].ticks - around, s[COUNT - 1].ticks + around, &state);
        int64_t got = kymo__timebase_ns(&base, ticks, &hint), want = reference(s, ticks);
        if (got < want - 1 || got > want + 1)
            CHECK_FAIL("tick %" PRIu64 " of %g is %" PRId64 " ns, not %" PRId64, ticks, rate, got,
                       want);
    }
    for (int i = 0; i < COUNT; i++)
        CHECK_EQ(kymo__timebase_ns(&base, s[i].ticks, &hint), s[i].monotonic);
    kymo__timebase_fini(&base);
}

static void conversion_is_exact_to_a_nanosecond_at_every_rate(void)
{
    for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
        agrees(rates[r], UINT64_C(1) << 40, 60000000);
        agrees(rates[r], UINT64_C(1) << 40, 500000000);
    }
}

static void a_counter_that_has_run_for_years_loses_nothing(void)
{
    for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
        uint64_t year = (uint64_t)(rates[r] * 86400 * 365);
        agrees(rates[r], year, 500000000);
        agrees(rates[r], 40 * year, 500000000);
        agrees(rates[r], (UINT64_C(1) << 63) - (uint64_t)rates[r], 500000000);
        agrees(rates[r], UINT64_MAX - (uint64_t)(rates[r] * 300), 500000000);
    }
}

static void hours_between_two_snapshots_lose_nothing(void)
{
    for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++)
        agrees(rates[r], UINT64_C(1) << 50, 10 * 3600 * second);
}

static void a_later_tick_is_never_at_an_earlier_time(void)
{
    struct kymo_snapshot s[COUNT];
    struct kymo_timebase base;
    uint64_t state = 7;
    for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
        make(s, rates[r], 12345, 60000000, &state);
        CHECK_EQ(kymo__timebase_init(&base, s, COUNT, 0), 0);
        size_t hint = 0;
        for (int i = 1; i < COUNT; i++) {
            int64_t last = kymo__timebase_ns(&base, s[i].ticks - 5000, &hint);
            for (uint64_t ticks = s[i].ticks - 4999; ticks < s[i].ticks + 5000; ticks++) {
                int64_t now = kymo__timebase_ns(&base, ticks, &hint);
                CHECK_LE(last, now);
                last = now;
            }
        }
        kymo__timebase_fini(&base);
    }
}

static void the_hint_makes_no_difference(void)
{
    struct kymo_snapshot s[COUNT];
    struct kymo_timebase base;
    uint64_t state = 3;
    make(s, 3.7e9, 1000000000000, 100000000, &state);
    CHECK_EQ(kymo__timebase_init(&base, s, COUNT, 0), 0);
    size_t followed = 0;
    for (int i = 0; i < 10000; i++) {
        uint64_t ticks = tick_between(0, s[COUNT - 1].ticks * 2, &state);
        size_t fresh = 0, any = random_next(&state) % (COUNT + 10);
        int64_t want = kymo__timebase_ns(&base, ticks, &fresh);
        CHECK_EQ(kymo__timebase_ns(&base, ticks, &followed), want);
        CHECK_EQ(kymo__timebase_ns(&base, ticks, &any), want);
    }
    kymo__timebase_fini(&base);
}

static void the_tick_of_a_time_is_the_first_that_is_not_before_it(void)
{
    struct kymo_snapshot s[COUNT];
    struct kymo_timebase base;
    uint64_t state = 11;
    for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
        make(s, rates[r], UINT64_C(1) << 60, 60000000, &state);
        CHECK_EQ(kymo__timebase_init(&base, s, COUNT, 0), 0);
        size_t hint = 0;
        int64_t first = s[0].monotonic - second, last = s[COUNT - 1].monotonic + second;
        for (int i = 0; i < 20000; i++) {
            /* Half of them right at a snapshot, where two segments meet. */
            int64_t ns = i & 1 ? s[(size_t)i % COUNT].monotonic + (i / COUNT) % 20 - 10
                               : first + (int64_t)(random_next(&state) % (uint64_t)(last - first));
            uint64_t ticks = kymo__timebase_ticks(&base, ns);
            CHECK_LE(ns, kymo__timebase_ns(&base, ticks, &hint));
            CHECK_LE(kymo__timebase_ns(&base, ticks - 1, &hint), ns - 1);
        }
        kymo__timebase_fini(&base);
    }
}

static void times_beyond_all_ticks_give_the_first_and_the_last(void)
{
    const struct kymo_snapshot s = {
        .ticks = 3 * (uint64_t)second, .monotonic = second, .wall = second};
    struct kymo_timebase base;
    CHECK_EQ(kymo__timebase_init(&base, &s, 1, 1e12), 0);
    CHECK_EQ(kymo__timebase_ticks(&base, INT64_MIN), 0);
    CHECK_EQ(kymo__timebase_ticks(&base, 0), 0);
    CHECK_EQ(kymo__timebase_ticks(&base, INT64_MAX), UINT64_MAX);
    kymo__timebase_fini(&base);
}

static void with_one_snapshot_the_stated_rate_is_used(void)
{
    const struct kymo_snapshot s = {.ticks = 1000000, .monotonic = 5000, .wall = 9000};
    struct kymo_timebase base;
    size_t hint = 0;
    CHECK_EQ(kymo__timebase_init(&base, &s, 1, 24e6), 0);
    CHECK_EQ(base.ticks_per_second, 24000000);
    CHECK_EQ(base.wall_offset, 4000);
    CHECK_EQ(kymo__timebase_ns(&base, 1000000, &hint), 5000);
    const int64_t seconds[] = {1, 60, 86400};
    for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
        uint64_t ticks = 1000000 + 24000000 * (uint64_t)seconds[i];
        int64_t error = kymo__timebase_ns(&base, ticks, &hint) - 5000 - second * seconds[i];
        CHECK_LE(-1, error);
        CHECK_LE(error, 0);
    }
    CHECK_LE(kymo__timebase_ns(&base, 0, &hint), 5000 - 41666666);
    kymo__timebase_fini(&base);
}

static void without_snapshot_or_rate_a_tick_is_a_nanosecond(void)
{
    const double unknown[] = {0, -1, 1, 1e300};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        struct kymo_timebase base;
        size_t hint = 0;
        CHECK_EQ(kymo__timebase_init(&base, NULL, 0, unknown[i]), 0);
        CHECK_EQ(base.ticks_per_second, 1000000000);
        CHECK_EQ(base.wall_offset, 0);
        CHECK_EQ(kymo__timebase_ns(&base, 123456789, &hint), 123456789);
        CHECK_EQ(kymo__timebase_ticks(&base, 123456789), 123456789);
        kymo__timebase_fini(&base);
    }
}

static void snapshots_in_any_order_give_the_same_times(void)
{
    struct kymo_snapshot s[COUNT], mixed[COUNT];
    struct kymo_timebase base;
    uint64_t state = 5;
    size_t hint = 0;
    make(s, 24e6, 1 << 30, 100000000, &state);
    memcpy(mixed, s, sizeof(s));
    for (int i = COUNT - 1; i > 0; i--) {
        int other = (int)(random_next(&state) % (uint64_t)(i + 1));
        struct kymo_snapshot swap = mixed[i];
        mixed[i] = mixed[other];
        mixed[other] = swap;
    }
    CHECK_EQ(kymo__timebase_init(&base, mixed, COUNT, 0), 0);
    for (int i = 0; i < COUNT; i++)
        CHECK_EQ(kymo__timebase_ns(&base, s[i].ticks, &hint), s[i].monotonic);
    kymo__timebase_fini(&base);
}

static void snapshots_in_which_time_runs_backwards_are_left_out(void)
{
    const struct kymo_snapshot s[] = {
        {1000000000, 10 * second, 0}, {2000000000, 11 * second, 0}, {2500000000, 9 * second, 0},
        {3000000000, 12 * second, 0}, {3000000000, 15 * second, 0}, {4000000000, 13 * second, 0},
        {4200000000, -second, 0},     {4300000000, INT64_MIN, 0},   {4400000000, INT64_MAX, 0},
    };
    struct kymo_timebase base;
    size_t hint = 0;
    CHECK_EQ(kymo__timebase_init(&base, s, sizeof(s) / sizeof(s[0]), 0), 0);
    CHECK_EQ(base.count, 4);
    for (uint64_t ticks = 0; ticks < 6000000000; ticks += 77777777)
        CHECK_EQ(kymo__timebase_ns(&base, ticks, &hint), (int64_t)ticks + 9 * second);
    CHECK_EQ(base.ticks_per_second, 1000000000);
    kymo__timebase_fini(&base);
}

/* A segment of a microsecond would give a rate that is off by several percent, and
   the events after it would be as well. */
static void time_is_never_continued_from_two_snapshots_close_together(void)
{
    const struct kymo_snapshot s[] = {{1000, 1000, 0},
                                      {1000000000, 1000000000, 0},
                                      {2000000000, 2000000000, 0},
                                      {2000001000, 2000001070, 0}};
    struct kymo_timebase base;
    size_t hint = 0;
    CHECK_EQ(kymo__timebase_init(&base, s, 4, 0), 0);
    int64_t error = kymo__timebase_ns(&base, 4000000000, &hint) - 4000000000;
    CHECK_LE(error, 1000);
    CHECK_LE(-1000, error);
    kymo__timebase_fini(&base);
}

static void arbitrary_snapshots_are_harmless(void)
{
    uint64_t state = 99;
    for (int round = 0; round < 2000; round++) {
        struct kymo_snapshot s[8];
        for (int i = 0; i < 8; i++) {
            s[i].ticks = random_size(&state);
            s[i].monotonic =
                (int64_t)(random_next(&state) & 1 ? random_size(&state) : -random_size(&state));
            s[i].wall = (int64_t)random_next(&state);
        }
        struct kymo_timebase base;
        CHECK_EQ(kymo__timebase_init(&base, s, (size_t)round % 9, (double)random_size(&state)), 0);
        size_t hint = 0;
        for (int i = 0; i < 50; i++) {
            int64_t ns = kymo__timebase_ns(&base, random_size(&state), &hint);
            CHECK_LE(-(INT64_C(1) << 62), ns);
            CHECK_LE(ns, INT64_C(1) << 62);
            kymo__timebase_ticks(&base, (int64_t)random_next(&state));
        }
        CHECK_LE(-(INT64_C(1) << 62), base.wall_offset);
        CHECK_LE(base.wall_offset, INT64_C(1) << 62);
        kymo__timebase_ns(&base, 0, &hint);
        kymo__timebase_ns(&base, UINT64_MAX, &hint);
        kymo__timebase_ticks(&base, INT64_MIN);
        kymo__timebase_ticks(&base, INT64_MAX);
        kymo__timebase_fini(&base);
    }
}

static void running_out_of_memory_is_reported(void)
{
    const struct kymo_snapshot s = {1, 1, 1};
    for (long n = 0; n < 2; n++) {
        struct kymo_timebase base;
        kymo__alloc_fail_after(n);
        int rc = kymo__timebase_init(&base, &s, 1, 0);
        kymo__alloc_fail_after(-1);
        CHECK_EQ(rc, -ENOMEM);
    }
}

static const struct check_case cases[] = {
    CHECK_CASE(conversion_is_exact_to_a_nanosecond_at_every_rate),
    CHECK_CASE(a_counter_that_has_run_for_years_loses_nothing),
    CHECK_CASE(hours_between_two_snapshots_lose_nothing),
    CHECK_CASE(a_later_tick_is_never_at_an_earlier_time),
    CHECK_CASE(the_hint_makes_no_difference),
    CHECK_CASE(the_tick_of_a_time_is_the_first_that_is_not_before_it),
    CHECK_CASE(times_beyond_all_ticks_give_the_first_and_the_last),
    CHECK_CASE(with_one_snapshot_the_stated_rate_is_used),
    CHECK_CASE(without_snapshot_or_rate_a_tick_is_a_nanosecond),
    CHECK_CASE(snapshots_in_any_order_give_the_same_times),
    CHECK_CASE(snapshots_in_which_time_runs_backwards_are_left_out),
    CHECK_CASE(time_is_never_continued_from_two_snapshots_close_together),
    CHECK_CASE(arbitrary_snapshots_are_harmless),
    CHECK_CASE(running_out_of_memory_is_reported),
};
CHECK_MAIN(cases)
