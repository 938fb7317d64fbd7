/* pings.h — what a capture knows of other hosts from notes in a shared folder (metadata
   clock_ping.N, written by record/clockpings.c). */
#ifndef KYMO_PINGS_H
#define KYMO_PINGS_H

#include "capture.h"

#define KYMO__PING_KEY "clock_ping."

/* One exchange. Times are monotonic, in the order in which things happened. */
struct kymo_ping {
    uint8_t peer[16]; /* its boot */
    kymo_ns sent;     /* our clock: before our note was written */
    kymo_ns seen;     /* the peer's clock: after it had read that */
    kymo_ns answered; /* the peer's clock: before it wrote so */
    kymo_ns received; /* our clock: after we had read that */
    kymo_ns raw;      /* our clock without corrections, when sent */
    kymo_ns peer_raw; /* the peer's clock without corrections, when answered */
};

struct kymo_pings {
    struct kymo_ping *all;
    size_t count, room;
};

/* Add the exchanges that CAPTURE noted. 0 or -ENOMEM; implausible ones are left out. */
int kymo__pings_read(struct kymo_pings *pings, const struct kymo_capture *capture);
void kymo__pings_fini(struct kymo_pings *pings);

/* Is KEY metadata of this kind? */
bool kymo__is_ping(const char *key);

#endif
