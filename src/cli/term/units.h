/* units.h — formats numbers for people: grouped, with units, and times of day.

   Each returns its text by value, for use within one expression: printf("%s\n",
   kymo__cli_bytes(n).text). */
#ifndef KYMO_CLI_UNITS_H
#define KYMO_CLI_UNITS_H

#include <stdbool.h>
#include <stdint.h>

struct cli_text {
    char text[64];
};

struct cli_text kymo__cli_grouped(uint64_t number);               /* 48 212 334 */
struct cli_text kymo__cli_bytes(uint64_t bytes);                  /* 1.4 GiB */
struct cli_text kymo__cli_estimate(uint64_t bytes, double error); /* 1.4 GiB ± 20.0 MiB */
struct cli_text kymo__cli_duration(int64_t nanoseconds);          /* 12.345 s */
struct cli_text kymo__cli_frequency(double per_second);           /* 2.100 GHz */
struct cli_text kymo__cli_wall(int64_t ns_since_1970);      /* 2026-03-01T09:30:00.250+01:00 */
struct cli_text kymo__cli_wall_full(int64_t ns_since_1970); /* with nanoseconds */

/* Grouped and followed by the word: "1 record", "1 204 records". */
struct cli_text kymo__cli_count(uint64_t number, const char *one, const char *many);

/* Read "1.5s", "200ms", "30us", "10ns", "2min", "1h", or plain seconds; none may be negative.
   False when TEXT is anything else or too large. */
bool kymo__cli_read_duration(const char *text, int64_t *nanoseconds);

/* Read a non-negative integer. False when TEXT is anything else or too large. */
bool kymo__cli_read_number(const char *text, uint64_t *number);

#endif
