/* hosts.h — relates the clocks of captures of several hosts. All captures from one boot of a machine
   have one clock, and therefore one relation to any other, found from what all of them know. */
#ifndef KYMO_HOSTS_H
#define KYMO_HOSTS_H

#include "collectives.h"
#include "hostclock.h"
#include "pings.h"

/* What a capture knows about its clock. */
struct kymo_evidence {
    struct kymo_hostclock clock;
    struct kymo_pings pings;
    struct kymo_collectives collectives;
};

/* Read it from CAPTURE. 0 or a negative code; call fini either way. */
int kymo__evidence_read(struct kymo_evidence *evidence, struct kymo_capture *capture);
void kymo__evidence_fini(struct kymo_evidence *evidence);

/* Starts as all zero. */
struct kymo_hosts {
    struct kymo_evidence *all; /* by host: of all its captures */
    size_t count, room;
    struct kymo_collectives together; /* of all hosts */
};

/* Add what a capture knows; it is copied. Returns the number of its host or -ENOMEM. */
int kymo__hosts_add(struct kymo_hosts *hosts, const struct kymo_evidence *evidence);
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
