#include "naming.h"

#include <stddef.h>

#include <kymo/kymo.h>

/* The entry of TABLE for NUMBER: a newer library may know numbers we do not. */
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
        [KYMO_GAP_NESTED] = {"nested", "a marking call interrupted another one"},
        [KYMO_GAP_DAMAGED] = {"damaged", "a block of the file is damaged"},
        [KYMO_GAP_FLIGHT] = {"flight", "older than the flight recorder keeps"},
    };
    return LOOK_UP(names, reason);
}

const char *kymo__cli_name_kind(int kind)
{
    static const char *const names[] = {
        [KYMO_ENTER] = "enter",
        [KYMO_LEAVE] = "leave",
        [KYMO_INSTANT] = "instant",
        [KYMO_COUNTER] = "counter",
        [KYMO_FLOW_OUT] = "flow_out",
        [KYMO_FLOW_IN] = "flow_in",
        [KYMO_ASYNC_BEGIN] = "async_begin",
        [KYMO_ASYNC_END] = "async_end",
        [KYMO_GAP] = "gap",
        [KYMO_COMPLETE] = "complete",
        [KYMO_ARG] = "arg",
        [KYMO_OFF] = "off",
        [KYMO_RESYNC] = "resync",
        [KYMO_SAMPLE] = "sample",
        [KYMO_ARG_TEXT] = "arg_text",
    };
    bool known = kind >= 0 && (size_t)kind < sizeof names / sizeof *names && names[kind];
    return known ? names[kind] : "unknown";
}

const char *kymo__cli_name_detail(int kind, int detail)
{
    static const char *const enter[] = {NULL, "resume", "throw", "open"};
    static const char *const leave[] = {NULL, "yield", "unwind"};
    if (kind == KYMO_ENTER && detail >= 0 && detail < 4)
        return enter[detail];
    if (kind == KYMO_LEAVE && detail >= 0 && detail < 3)
        return leave[detail];
    if (kind == KYMO_OFF)
        return detail == 0 ? "function" : "call site";
    if (kind == KYMO_SAMPLE)
        return detail == KYMO_SAMPLED_CPU ? "cpu" : "wall";
    if (kind == KYMO_GAP)
        return kymo__cli_name_gap(detail).word;
    return NULL;
}

const char *kymo__cli_name_no_loss(const struct kymo_info *info)
{
    bool cut_short = info->ending == KYMO_ENDED_KILLED && info->live_bytes == 0;
    return cut_short ? "not known: the end of the file is missing" : "nothing";
}
