/* doctor_clock.c — checks the CPU counter that timestamps every record: can it be read, is its
   rate constant, and does it agree with the system clock? */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "clock.h"
#include "doctor.h"
#include "units.h"

enum { STEPS = 2, STEP_NS = 25000000, ATTEMPTS = 3 };

/* How many parts per million two halves of the measurement may differ. The system clock is
   adjusted by up to 500 ppm while it follows a time server. */
static const double tolerance = 600;

struct reading {
    double ticks, ns;
};

/* Read both clocks at one moment: try a few times and keep the pair read closest together. */
static struct reading read_both(void)
{
    struct reading best = {0, 0};
    int64_t narrowest = INT64_MAX;
    for (int i = 0; i < 16; i++) {
        int64_t before = kymo__clock_ns(CLOCK_MONOTONIC);
        uint64_t ticks = kymo__counter_read();
        int64_t after = kymo__clock_ns(CLOCK_MONOTONIC);
        if (after - before < narrowest) {
            narrowest = after - before;
            best = (struct reading){(double)ticks, (double)before + (double)(after - before) / 2};
        }
    }
    return best;
}

/* Ticks per second, averaged over STEPS steps; *SPREAD is how much the steps differ, in ppm. */
static double measure_rate(double *spread)
{
    double rates[STEPS], sum = 0;
    struct reading from = read_both();
    for (int i = 0; i < STEPS; i++) {
        struct timespec pause = {0, STEP_NS};
        nanosleep(&pause, NULL);
        struct reading to = read_both();
        rates[i] = (to.ticks - from.ticks) / (to.ns - from.ns) * 1e9;
        sum += rates[i];
        from = to;
    }
    *spread = fabs(rates[1] - rates[0]) / (sum / STEPS) * 1e6;
    return sum / STEPS;
}

/* Reading the counter raises SIGSEGV in sandboxes that forbid it. */
static bool forbidden(void)
{
#if defined(__x86_64__)
    int mode = 0;
    return prctl(PR_GET_TSC, &mode) == 0 && mode == PR_TSC_SIGSEGV;
#else
    return false;
#endif
}

static const char slower[] = "records use CLOCK_MONOTONIC instead: correct, but a few dozen "
                             "nanoseconds slower each";

void kymo__cli_doctor_counter(struct cli_doctor *doctor)
{
    if (strcmp(KYMO__COUNTER_NAME, "none") == 0 || forbidden()) {
        kymo__cli_doctor_report(doctor, CLI_WARN, "counter", slower,
                                "this process cannot read the processor's counter");
        return;
    }
    uint64_t first = kymo__counter_read(), second = kymo__counter_read();
    for (int i = 0; i < 1000 && second == first; i++)
        second = kymo__counter_read();
    if (second <= first || !kymo__counter_sound()) {
        kymo__cli_doctor_report(
            doctor, CLI_WARN, "counter", slower, "the %s %s", KYMO__COUNTER_NAME,
            second <= first ? "does not advance" : "changes its rate with the processor's speed");
        return;
    }
    kymo__cli_doctor_report(doctor, CLI_FINE, "counter", NULL, "%s, constant rate",
                            KYMO__COUNTER_NAME);

    double spread = 0, rate = 0;
    for (int i = 0; i < ATTEMPTS; i++) {
        rate = measure_rate(&spread);
        if (spread <= tolerance)
            break;
    }
    bool fine = spread <= tolerance;
    kymo__cli_doctor_report(
        doctor, fine ? CLI_FINE : CLI_WARN, "clock",
        fine
            ? NULL
            : "times may be off by that much; record with CLOCK_MONOTONIC (kymo_options.clock = 1)",
        "%s; %s CLOCK_MONOTONIC %s %.1f ppm over %d ms", kymo__cli_frequency(rate).text,
        fine ? "agrees with" : "differs from", fine ? "within" : "by", spread,
        STEPS * STEP_NS / 1000000);
}
