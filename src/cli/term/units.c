#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SECOND = 1000000000 };

struct cli_text kymo__cli_grouped(uint64_t number)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, number);
    struct cli_text grouped = {""};
    char *out = grouped.text;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *out++ = ' ';
        *out++ = digits[i];
    }
    *out = '\0';
    return grouped;
}

struct cli_text kymo__cli_count(uint64_t number, const char *one, const char *many)
{
    struct cli_text count;
    snprintf(count.text, sizeof count.text, "%.40s %.20s", kymo__cli_grouped(number).text,
             number == 1 ? one : many);
    return count;
}

struct cli_text kymo__cli_bytes(uint64_t bytes)
{
    static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    struct cli_text size;
    if (bytes < 1024) {
        snprintf(size.text, sizeof size.text, "%" PRIu64 " %s", bytes,
                 bytes == 1 ? "byte" : "bytes");
        return size;
    }
    double amount = (double)bytes / 1024;
    int step = 0;
    for (; amount >= 1023.95 && step < 5; step++)
        amount /= 1024;
    snprintf(size.text, sizeof size.text, "%.1f %s", amount, unit[step]);
    return size;
}

struct cli_text kymo__cli_estimate(uint64_t bytes, double error)
{
    struct cli_text text = kymo__cli_bytes(bytes);
    size_t used = strlen(text.text);
    if (error > 0)
        snprintf(text.text + used, sizeof text.text - used, " ± %s",
                 kymo__cli_bytes((uint64_t)error).text);
    return text;
}

struct cli_text kymo__cli_duration(int64_t nanoseconds)
{
    struct cli_text span;
    int64_t seconds = nanoseconds / SECOND;
    if (nanoseconds < 1000)
        snprintf(span.text, sizeof span.text, "%" PRId64 " ns", nanoseconds);
    else if (nanoseconds < 1000000)
        snprintf(span.text, sizeof span.text, "%.3f µs", (double)nanoseconds / 1e3);
    else if (nanoseconds < SECOND)
        snprintf(span.text, sizeof span.text, "%.3f ms", (double)nanoseconds / 1e6);
    else if (seconds < 60)
        snprintf(span.text, sizeof span.text, "%.3f s", (double)nanoseconds / 1e9);
    else if (seconds < 3600)
        snprintf(span.text, sizeof span.text, "%" PRId64 " min %02" PRId64 " s", seconds / 60,
                 seconds % 60);
    else
        snprintf(span.text, sizeof span.text, "%.20s h %02" PRId64 " min",
                 kymo__cli_grouped((uint64_t)(seconds / 3600)).text, seconds / 60 % 60);
    return span;
}

struct cli_text kymo__cli_frequency(double per_second)
{
    struct cli_text rate;
    if (per_second >= 1e9)
        snprintf(rate.text, sizeof rate.text, "%.6f GHz", per_second / 1e9);
    else if (per_second >= 1e6)
        snprintf(rate.text, sizeof rate.text, "%.3f MHz", per_second / 1e6);
    else
        snprintf(rate.text, sizeof rate.text, "%.3f kHz", per_second / 1e3);
    return rate;
}

static struct cli_text wall(int64_t ns_since_1970, int decimals)
{
    struct cli_text moment = {"unknown"};
    int64_t rest = ns_since_1970 % SECOND;
    time_t seconds = (time_t)(ns_since_1970 / SECOND);
    if (rest < 0) {
        rest += SECOND;
        seconds--;
    }
    struct tm local;
    if (!localtime_r(&seconds, &local))
        return moment;
    for (int i = decimals; i < 9; i++)
        rest /= 10;

    char day[32], offset[8];
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &local);
    strftime(offset, sizeof offset, "%z", &local);
    snprintf(moment.text, sizeof moment.text, "%s.%0*" PRId64 "%.3s:%s", day, decimals, rest,
             offset, strlen(offset) > 3 ? offset + 3 : "00");
    return moment;
}

struct cli_text kymo__cli_wall(int64_t ns_since_1970)
{
    return wall(ns_since_1970, 3);
}

struct cli_text kymo__cli_wall_full(int64_t ns_since_1970)
{
    return wall(ns_since_1970, 9);
}

bool kymo__cli_read_duration(const char *text, int64_t *nanoseconds)
{
    static const struct {
        const char *name;
        double nanoseconds;
    } units[] = {
        {"", 1e9},        {"s", 1e9}, {"ms", 1e6},   {"us", 1e3},   {"\u00b5s", 1e3},
        {"\u03bcs", 1e3}, {"ns", 1},  {"min", 60e9}, {"h", 3600e9},
    };
    size_t length = strspn(text, "0123456789.");
    char number[40];
    if (length == 0 || length >= sizeof number)
        return false;
    memcpy(number, text, length);
    number[length] = '\0';

    /* long double holds every nanosecond of 292 years exactly, double does not. */
    char *end;
    long double amount = strtold(number, &end);
    if (*end)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(text + length, units[i].name) == 0) {
            amount = amount * (long double)units[i].nanoseconds + 0.5L;
            if (amount >= (long double)INT64_MAX)
                return false;
            *nanoseconds = (int64_t)amount;
            return true;
        }
    }
    return false;
}

bool kymo__cli_read_number(const char *text, uint64_t *number)
{
    if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    if (errno)
        return false;
    *number = value;
    return true;
}
