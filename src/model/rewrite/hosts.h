/* hosts.h — relates the clocks of captures of several hosts. All captures from one boot of a machine
   have one clock, and therefore one relation to any other, found from what all of them know. */
#ifndef KYMO_HOSTS_H
#define KYMO_HOSTS_H

#include "hostclock.h"
#include "pings.h"

/* Starts as all zero. */
struct kymo_hosts {
    struct kymo_host {
        struct kymo_hostclock clock;
        struct kymo_pings pings;
    } * all;
    size_t count, room;
};

/* Add a capture with CLOCK and PINGS, which are copied. Returns the number of its host or
   -ENOMEM. */
int kymo__hosts_add(struct kymo_hosts *hosts, const struct kymo_hostclock *clock,
                    const struct kymo_pings *pings);
void kymo__hosts_fini(struct kymo_hosts *hosts);

/* The relation of HOST's clock to that of FIRST, when all captures have been added. */
struct kymo_relation kymo__hosts_relate(const struct kymo_hosts *hosts, int first, int host);

/* How well the order of events on different hosts is known. */
struct kymo_order {
    bool hosts; /* there are different hosts or boots */
    bool unsynchronised,
        unknown;       /* some wall clock that matters, or the error of some relation, is */
    bool contradicted; /* some wall clock was further off than its host believed */
    kymo_ns error;     /* the most for any two hosts, if none is unknown */
};

/* The order when all hosts are on the clock of FIRST. */
struct kymo_order kymo__hosts_order(const struct kymo_hosts *hosts, int first);

#endif
