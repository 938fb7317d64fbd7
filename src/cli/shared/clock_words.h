/* clock_words.h — how exactly times of different hosts can be compared, in words. */
#ifndef KYMO_CLI_CLOCK_WORDS_H
#define KYMO_CLI_CLOCK_WORDS_H

#include "hosts.h"

/* "order between hosts is known within 3.2 ms", or why not. Free it. */
char *kymo__cli_order_words(const struct kymo_order *order);

/* What a capture knows of its wall clock's error. Free it. */
char *kymo__cli_clock_words(const struct kymo_hostclock *clock);

/* What RELATION is found from: "monotonic", "wall", "pings", "collectives" or "start". */
const char *kymo__cli_related_by(const struct kymo_relation *relation);

/* What a capture knows of other hosts from PINGS, or NULL if that is nothing. Free it. */
char *kymo__cli_ping_words(const struct kymo_pings *pings);

/* RELATION as it is stored: "by=wall offset_ns=... error_ns=...". Free it. */
char *kymo__cli_describe_relation(const struct kymo_relation *relation);

#endif
