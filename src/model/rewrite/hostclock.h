/* hostclock.h — what a capture knows about the clocks of its host, and how exactly the times of two
   captures can be related.

   The wall clock of each host is off by an error that the kernel bounded while recording (metadata
   wall_clock.start and wall_clock.stop). Two hosts are related by their wall clocks at the start,
   within the sum of both errors, and of what either wall clock was moved afterwards. */
#ifndef KYMO_HOSTCLOCK_H
#define KYMO_HOSTCLOCK_H

#include "capture.h"

enum kymo_synchronised {
    KYMO__SYNC_UNKNOWN, /* not recorded: an older version, or the kernel did not tell */
    KYMO__SYNC_YES,
    KYMO__SYNC_NO,
};

struct kymo_hostclock {
    uint8_t boot[16];            /* all zero if unknown */
    kymo_ns wall_offset;         /* wall minus monotonic clock at the first snapshot */
    kymo_ns moved;               /* by how much that had changed at the last snapshot */
    kymo_ns lasted;              /* monotonic time from the first snapshot to the last */
    kymo_ns spread;              /* the furthest that it was from its first value */
    enum kymo_synchronised sync; /* the whole time */
    kymo_ns most;                /* the greatest error of the wall clock; -1 if unknown */
    kymo_ns estimate;            /* what the kernel held likely at the start; -1 if unknown */
};

void kymo__hostclock_read(const struct kymo_capture *capture, struct kymo_hostclock *clock);

/* Were both recorded since the same start of one machine? */
bool kymo__hostclock_same_boot(const struct kymo_hostclock *a, const struct kymo_hostclock *b);

/* How a capture's clock was related to that of the first. */
struct kymo_relation {
    enum kymo_related {
        KYMO__RELATED_MONOTONIC, /* the same clock: exact */
        KYMO__RELATED_WALL,
        KYMO__RELATED_START, /* made to start together: says nothing about order */
    } how;
    kymo_ns shift;               /* from its clock to that of the first */
    kymo_ns error;               /* the shift is off by this at most; -1 if unknown */
    enum kymo_synchronised sync; /* of both wall clocks; not of use unless related by them */
    /* How much faster its wall clock moved against its monotonic clock than the first one's did, in
       parts per thousand million, and the greatest error of that; error -1: unknown. */
    double drift, drift_error;
};

/* Relate CLOCK to FIRST by the wall clocks, or by the monotonic clock if it is the same one and WALL
   is not set. */
struct kymo_relation kymo__hostclock_relate(const struct kymo_hostclock *first,
                                            const struct kymo_hostclock *clock, bool wall);

/* How well the order of events on different hosts is known, over any number of captures. Starts as
   all zero. */
struct kymo_order {
    bool any;                        /* a clock was added */
    bool hosts;                      /* there are different hosts or boots */
    bool unsynchronised, unknown;    /* the wall clock of some capture, or its error, is */
    struct kymo_hostclock worst;     /* the one with the greatest error */
    kymo_ns worst_error, next_error; /* of that, and the greatest of another host */
};

void kymo__order_add(struct kymo_order *order, const struct kymo_hostclock *clock);

/* The most that times of any two hosts can be wrong against each other, if none is unknown. */
static inline kymo_ns kymo__order_error(const struct kymo_order *order)
{
    return order->worst_error + order->next_error;
}

#endif
