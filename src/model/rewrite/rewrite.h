/* rewrite.h — write a capture made of parts of others, for `kymograph cut` and `kymograph merge`.

   Times become nanoseconds of one clock, so that captures of several machines fit together and a
   part can start at any time. Records are copied unrepaired. Calls open at the start of a part are
   written as open calls, and the time range is stored, so that a report on the result matches a
   report on the same part of the original. Memory is bounded by the names, the depth of stacks and
   one block of records. */
#ifndef KYMO_REWRITE_H
#define KYMO_REWRITE_H

#include "hosts.h"

/* A part of a capture. */
struct kymo_part {
    struct kymo_capture *capture;
    const char *path;              /* its file; NULL: kymo__align looks into no other file */
    kymo_ns from, to;              /* on the capture's clock; INT64_MIN and INT64_MAX for all */
    const bool *chosen;            /* by thread; NULL for all */
    struct kymo_relation relation; /* to the clock of the result; set by kymo__align */
};

struct kymo_rewrite_options {
    /* Metadata to add; ends with a NULL key. May be NULL. */
    const struct kymo_rewrite_note {
        const char *key, *value;
    } * notes;
    /* Called now and then with the events copied and the total; a negative result stops the work
       and is returned. May be NULL. */
    int (*progress)(void *arg, uint64_t done, uint64_t all);
    void *progress_arg;
};

/* Write COUNT parts as one capture to PATH. It appears whole or not at all; an existing capture is
   replaced, any other file left alone. With several parts, each is a separate process: threads,
   keys and the ids of arrows and tasks are kept apart. Returns 0 or a negative code: of what
   failed, of progress, KYMO_EOCCUPIED or KYMO_EBUSYFILE. */
int kymo__rewrite(const struct kymo_part *parts, size_t count, const char *path,
                  const struct kymo_rewrite_options *options);

/* How to align the clocks of captures. */
enum kymo_align {
    KYMO__ALIGN_BEST,  /* monotonic clock for the same boot of one machine; else the time of day */
    KYMO__ALIGN_WALL,  /* always the time of day */
    KYMO__ALIGN_START, /* make all start together */
};

/* What kymo__align found. */
struct kymo_alignment {
    bool wall;  /* the time of day was used for another machine or boot */
    bool pings; /* notes in a shared folder were */
    bool collectives;
    bool start;     /* they were made to start together */
    size_t strange; /* with -EDOM: the capture that cannot be related to the first */
    kymo_ns apart;  /* with -EDOM: time of day from the end of one to the start of the other; 0 if
                       unknown */
    struct kymo_order order; /* of events on different hosts */
    size_t alone; /* not 0: this capture, from 1, is of a child process; what its run noted of other
                     clocks is not known, as the capture of its first process was not found */
};

/* Set the relation of COUNT parts so that all are on the first one's clock. Returns 0, -ENOMEM or
   -EDOM: with KYMO__ALIGN_BEST, one was recorded on another machine or boot and its time of day is
   unknown, or the two do not overlap. */
int kymo__align(struct kymo_part *parts, size_t count, enum kymo_align how,
                struct kymo_alignment *alignment);

#endif
