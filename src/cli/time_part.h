/* time_part.h — the options --from and --to (or --until): which part of a capture is wanted. */
#ifndef KYMO_CLI_TIME_PART_H
#define KYMO_CLI_TIME_PART_H

#include <stdbool.h>

#include <kymo/kymo.h>

/* Nanoseconds since the start of the capture; 0 and INT64_MAX for everything. */
struct cli_part {
    int64_t from, to;
};

/* Read the values of --from and of the option called UNTIL, either of which may be NULL.
   False after a complaint. */
bool kymo__cli_part_read(const char *from, const char *to, const char *until,
                         struct cli_part *part);

/* The same where both --to and --until are known, of which one may be given. */
bool kymo__cli_part_read_either(const char *from, const char *to, const char *until,
                                struct cli_part *part);

/* The moment SINCE after START, as far as there is one. */
kymo_ns kymo__cli_moment(kymo_ns start, int64_t since);

#endif
