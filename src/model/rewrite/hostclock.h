/* hostclock.h — what a capture knows about the clocks of its host, and how exactly the times of two
   captures can be related.

   The wall clock of each host is off by an error that the kernel bounded while recording (metadata
   wall_clock.start and wall_clock.stop). A capture has many snapshots of its wall clock and its
   monotonic clock; their difference is described by a line, and how far it was from that. Two hosts
   are related by these lines, within the sum of both errors and of both distances. */
#ifndef KYMO_HOSTCLOCK_H
#define KYMO_HOSTCLOCK_H

#include "capture.h"

enum kymo_synchronised {
    KYMO__SYNC_UNKNOWN, /* not recorded: an older version, or the kernel did not tell */
    KYMO__SYNC_YES,
    KYMO__SYNC_NO,
};

struct kymo_hostclock {
    uint8_t boot[16];   /* all zero if unknown */
    kymo_ns begin, end; /* monotonic time of the first snapshot and of the last */
    /* Wall minus monotonic clock was wall_offset at the beginning, grew by wall_drift per
       nanosecond, and was never further than spread from that. */
    kymo_ns wall_offset;
    double wall_drift;
    kymo_ns spread;
    /* How far the monotonic clock was from running as steadily as the counter of the processor; -1
       if unknown. */
    kymo_ns bent;
    kymo_ns moved;               /* the furthest that it was from its first value */
    enum kymo_synchronised sync; /* the whole time */
    kymo_ns most;                /* the greatest error of the wall clock; -1 if unknown */
    kymo_ns estimate;            /* what the kernel held likely at the start; -1 if unknown */
};

void kymo__hostclock_read(const struct kymo_capture *capture, struct kymo_hostclock *clock);

/* Were both recorded since the same start of one machine? */
bool kymo__hostclock_same_boot(const struct kymo_hostclock *a, const struct kymo_hostclock *b);

/* Extend CLOCK by MORE, of the same boot, so that it describes both recordings. */
void kymo__hostclock_extend(struct kymo_hostclock *clock, const struct kymo_hostclock *more);

/* How a capture's clock was related to that of the first. */
struct kymo_relation {
    enum kymo_related {
        KYMO__RELATED_MONOTONIC, /* the same clock: exact */
        KYMO__RELATED_WALL,
        KYMO__RELATED_START, /* made to start together: says nothing about order */
        /* By notes in a shared folder, or by collectives; and by what the wall clocks allow. */
        KYMO__RELATED_PINGS,
        KYMO__RELATED_COLLECTIVES,
    } how;
    /* From its clock to that of the first: add SHIFT at the time AT, and from there on DRIFT
       nanoseconds more for every thousand million. */
    kymo_ns shift, at;
    double drift;
    double drift_error;          /* the greatest error of DRIFT; -1 if unknown */
    kymo_ns error;               /* a time is off by this at most; -1 if unknown */
    enum kymo_synchronised sync; /* of both wall clocks; not of use unless related by them */
    bool contradicted;           /* a wall clock was further off than its host believed */
};

/* TIME on its clock as time on the clock of the first. Keeps the order of times. */
kymo_ns kymo__relation_time(const struct kymo_relation *relation, kymo_ns time);

/* The same relation, with its shift given for the time AT. */
struct kymo_relation kymo__relation_from(struct kymo_relation relation, kymo_ns at);

/* Relate CLOCK to FIRST by the wall clocks, or by the monotonic clock if it is the same one and WALL
   is not set. */
struct kymo_relation kymo__hostclock_relate(const struct kymo_hostclock *first,
                                            const struct kymo_hostclock *clock, bool wall);

#endif
