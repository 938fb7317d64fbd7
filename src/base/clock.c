/* clock.c — see clock.h. */
#include "clock.h"

#include <string.h>

#include "file.h"

uint32_t kymo__clock_counter = 0;

KYMO__COLD uint64_t kymo__ticks_without(void)
{
    return (uint64_t)kymo__clock_ns(CLOCK_MONOTONIC);
}

/* The kernel watches the counter and removes it from this list if processors disagree; without the
   list, trust it. */
static bool trusted_by_kernel(void)
{
    const char *path = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    char line[256];
    return kymo__file_text(path, line, sizeof(line)) <= 0 || strstr(line, "tsc") ||
           strstr(line, "arch_sys");
}

int kymo__clock_choose(int monotonic)
{
    bool counter = !monotonic && kymo__counter_sound() && trusted_by_kernel();
    kymo__store_relaxed(&kymo__clock_counter, counter);
    return counter ? KYMO__COUNTER_CLOCK : KYMO_CLOCK_MONOTONIC;
}

int kymo__clock_keep(int monotonic)
{
    bool counter = kymo__load_relaxed(&kymo__clock_counter);
    return counter && !monotonic ? KYMO__COUNTER_CLOCK : kymo__clock_choose(monotonic);
}

struct kymo_snapshot kymo__clock_snapshot(void)
{
    struct kymo_snapshot best = {0};
    uint64_t narrowest = UINT64_MAX;
    int64_t offset = 0, nearest = INT64_MAX; /* wall minus monotonic, and within how much */
    bool counter = kymo__load_relaxed(&kymo__clock_counter);
    /* An attempt interrupted between its readings has a wide gap. The best reading of the wall clock
       may be of another attempt. */
    for (int attempt = 0; attempt < 8; attempt++) {
        uint64_t before = kymo_ticks();
        int64_t monotonic = kymo__clock_ns(CLOCK_MONOTONIC);
        uint64_t after = kymo_ticks();
        int64_t wall = kymo__clock_ns(CLOCK_REALTIME);
        int64_t again = kymo__clock_ns(CLOCK_MONOTONIC);
        if (again - monotonic < nearest) {
            nearest = again - monotonic;
            offset = wall - monotonic - nearest / 2;
        }
        if (after < before || after - before >= narrowest)
            continue;
        narrowest = after - before;
        best.ticks = counter ? before + narrowest / 2 : (uint64_t)monotonic;
        best.monotonic = monotonic;
    }
    best.wall = best.monotonic + offset;
    return best;
}

static uint64_t measured; /* ticks per second; a counter that is trusted does not change its rate */

uint64_t kymo__clock_rate_measured(void)
{
    return kymo__load_relaxed(&measured);
}

void kymo__clock_rate_know(uint64_t rate)
{
    uint64_t none = 0;
    kymo__swap_if(&measured, &none, rate);
}

uint64_t kymo__clock_rate(const struct kymo_snapshot *since)
{
    if (!kymo__load_relaxed(&kymo__clock_counter))
        return 1000000000;
    uint64_t stated = kymo__counter_rate();
    if (stated)
        return stated;
    uint64_t known = kymo__load_relaxed(&measured);
    if (known)
        return known;
    const int64_t enough = 1000000;
    struct kymo_snapshot now;
    do
        now = kymo__clock_snapshot();
    while (now.monotonic - since->monotonic < enough);
    known = (uint64_t)((double)(now.ticks - since->ticks) * 1e9 /
                       (double)(now.monotonic - since->monotonic));
    kymo__store_relaxed(&measured, known);
    return known;
}
