/* time_part.h — the options --from and --to (or --until): parses the requested time window. */
#ifndef KYMO_CLI_TIME_PART_H
#define KYMO_CLI_TIME_PART_H

#include <stdbool.h>

#include <kymo/kymo.h>

/* In nanoseconds since the start of the capture; 0 and INT64_MAX for everything. */
struct cli_part {
    int64_t from, to;
};

/* Parse the values of --from and of the option named UNTIL; either may be NULL. Prints a message
   and returns false when they are invalid. */
bool kymo__cli_part_read(const char *from, const char *to, const char *until,
                         struct cli_part *part);

/* The same for verbs that accept --to or --until, but not both. */
bool kymo__cli_part_read_either(const char *from, const char *to, const char *until,
                                struct cli_part *part);

/* START + SINCE, saturated. */
kymo_ns kymo__cli_moment(kymo_ns start, int64_t since);

#endif
