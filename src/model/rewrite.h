/* rewrite.h — a capture made of parts of others: what `kymograph cut` and `kymograph merge` do.

   Times become nanoseconds of one clock, so that those of several machines fit together and
   a part can begin at any of them. Records are copied as they are, not as repaired; what is
   open where a part begins is written as open calls at its start, and the range of time is
   defined, so that a report on the result says what one on that part of the original says.
   Memory is bounded by the names, the depth of stacks and one block of records. */
#ifndef KYMO_REWRITE_H
#define KYMO_REWRITE_H

#include "capture.h"

/* A part of a capture. */
struct kymo_part {
    struct kymo_capture *capture;
    kymo_ns from, to;   /* on the capture's own clock; INT64_MIN and INT64_MAX for all */
    const bool *chosen; /* by thread; NULL for all */
    kymo_ns shift;      /* from its clock to that of the result */
};

struct kymo_rewrite_options {
    /* Metadata to add; ends with a NULL key. May be NULL. */
    const struct kymo_rewrite_note {
        const char *key, *value;
    } * notes;
    /* Called now and then with events copied of those there are; a negative result ends it
       and is its result. May be NULL. */
    int (*progress)(void *arg, uint64_t done, uint64_t all);
    void *progress_arg;
};

/* Write COUNT parts as one capture to PATH. It appears whole or not at all; a capture there
   is replaced, and anything else left alone. With several parts each is a process of its
   own: threads, keys and the ids of arrows and tasks are kept apart. Returns 0 or a negative
   code: of what failed, of progress, -KYMO_EOCCUPIED or -KYMO_EBUSYFILE. */
int kymo__rewrite(const struct kymo_part *parts, size_t count, const char *path,
                  const struct kymo_rewrite_options *options);

/* How the clocks of captures can be brought together. */
enum kymo_align {
    KYMO__ALIGN_BEST,  /* the same boot of one machine: its clock; else the time of day */
    KYMO__ALIGN_WALL,  /* the time of day in any case */
    KYMO__ALIGN_START, /* all begin at once */
};

/* What kymo__align found. */
struct kymo_alignment {
    bool wall;      /* the time of day was used for one of another machine or boot */
    bool start;     /* they were made to begin at once */
    size_t strange; /* with -EDOM: the one that cannot be related to the first */
    kymo_ns apart;  /* with -EDOM: by the time of day, from the end of the one to the beginning
                       of the other; 0 when its time of day is not known */
};

/* Set the shift of COUNT parts so that they are all on the clock of the first. -EDOM: with
   KYMO__ALIGN_BEST, one was recorded on another machine or boot and its time of day is not
   known or such that the two do not overlap. */
int kymo__align(struct kymo_part *parts, size_t count, enum kymo_align how,
                struct kymo_alignment *alignment);

#endif
