/* collectives.h — collectives of a capture that say something about clocks.

   No rank leaves a collective such as all_reduce before the last one has entered it. That bounds the
   offset between the clocks of two ranks, if their records are of the same collective, and if the
   end that was recorded is that of the collective. So only operators are taken that say all of that
   in their attributes: collective_name (one in which every rank waits for every other), pg_name,
   pg_size, seq (which collective of the group it is) and blocking (1: it ends when the collective
   does). Groups may have the same name on different ranks; so pg_ranks must say who is in it, or
   records of all ranks must be there. PyTorch's own operators end when the work has been handed over: they are not of use. */
#ifndef KYMO_COLLECTIVES_H
#define KYMO_COLLECTIVES_H

#include "capture.h"

struct kymo_collective {
    uint64_t id;        /* the same on all ranks, for one collective */
    uint64_t ranks;     /* how many records there must be; 0: the id says who is in the group */
    uint64_t count;     /* records of it that were put together */
    kymo_ns start, end; /* the last start and the first end of those */
};

struct kymo_collectives {
    struct kymo_collective *all; /* by id, once sorted */
    size_t count, room;
    uint64_t skipped; /* bits of ids that must be zero, so that there are not too many */
};

/* Add those of CAPTURE. 0 or a negative code. */
int kymo__collectives_read(struct kymo_collectives *collectives, struct kymo_capture *capture);

/* Add MORE, of another capture of the same host. 0 or -ENOMEM. */
int kymo__collectives_add(struct kymo_collectives *collectives,
                          const struct kymo_collectives *more);

/* The one with ID, or NULL. */
const struct kymo_collective *kymo__collectives_find(const struct kymo_collectives *collectives,
                                                     uint64_t id);
void kymo__collectives_fini(struct kymo_collectives *collectives);

#endif
