#include "naming.h"

#include <stddef.h>

#include <kymo/kymo.h>
#include <kymo/lane.h>

/* The entry of TABLE for NUMBER; newer captures may have numbers unknown to us. */
static struct cli_name look_up(const struct cli_name *table, size_t count, int number)
{
    if (number >= 0 && (size_t)number < count && table[number].word)
        return table[number];
    return (struct cli_name){"unknown", "unknown to this version of kymograph"};
}

#define LOOK_UP(table, number) look_up(table, sizeof(table) / sizeof *(table), number)

struct cli_name kymo__cli_name_ending(int ending)
{
    static const struct cli_name names[] = {
        [KYMO_ENDED_CLEAN] = {"clean", "stopped cleanly"},
        [KYMO_ENDED_RUNNING] = {"running", "still being recorded"},
        [KYMO_ENDED_KILLED] = {"killed", "the process ended without stopping the recording"},
        [KYMO_ENDED_FAILED] = {"failed", "writing failed"},
    };
    return LOOK_UP(names, ending);
}

struct cli_name kymo__cli_name_clock(int clock)
{
    static const struct cli_name names[] = {
        [KYMO_CLOCK_TSC] = {"tsc", "x86-64 time-stamp counter"},
        [KYMO_CLOCK_CNTVCT] = {"cntvct", "aarch64 virtual counter"},
        [KYMO_CLOCK_MONOTONIC] = {"monotonic", "the system's monotonic clock"},
    };
    return LOOK_UP(names, clock);
}

struct cli_name kymo__cli_name_gap(int reason)
{
    static const struct cli_name names[] = {
        [KYMO_GAP_BUDGET] = {"budget", "the memory budget was used up"},
        [KYMO_GAP_DISK] = {"disk", "the file could not be written"},
        [KYMO_GAP_NESTED] = {"nested", "a marking call interrupted another"},
        [KYMO_GAP_DAMAGED] = {"damaged", "a block of the file is damaged"},
        [KYMO_GAP_FLIGHT] = {"flight", "older than the flight recorder keeps"},
        [KYMO_GAP_PAYLOAD] = {"payload", "a payload was too long or had no schema"},
    };
    return LOOK_UP(names, reason);
}

const char *kymo__cli_name_kind(int kind)
{
    return kymo_kind_word((unsigned)kind);
}

const char *kymo__cli_name_detail(int kind, int detail)
{
    bool usual = (kind == KYMO_ENTER || kind == KYMO_LEAVE) && detail == 0;
    return usual ? NULL : kymo_detail_word((unsigned)kind, (unsigned)detail);
}

const char *kymo__cli_name_no_loss(const struct kymo_info *info)
{
    bool cut_short = info->ending == KYMO_ENDED_KILLED && info->live_bytes == 0;
    return cut_short ? "unknown: the end of the file is missing" : "nothing";
}

const char *kymo__cli_name_class(unsigned class)
{
    return kymo_class_word(class);
}
