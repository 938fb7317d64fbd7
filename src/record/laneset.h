/* laneset.h — what the lanes of a session share, and what happened to events they dropped. */
#ifndef KYMO_LANESET_H
#define KYMO_LANESET_H

#include "clock.h"
#include "format.h"

struct kymo_names;
struct kymo_pool;
struct kymo_sampler;

struct kymo_laneset {
    uint32_t number; /* the session's */
    struct kymo_snapshot started;
    struct kymo_pool *pool;
    struct kymo_names *names;
    struct kymo_sampler *sampler; /* takes samples on these threads; or NULL */
    void (*joined)(void);         /* called on a thread that has just joined; or NULL */
    uint32_t threads;             /* indices given out, to threads and tracks */
    uint32_t gap_hint;
    uint64_t dropped_records;
};

/* An index for a new thread or track. */
uint32_t kymo__laneset_index(struct kymo_laneset *lanes);

/* Record the gap in SLOT, if there is one, and clear it. */
void kymo__gap_record(struct kymo_laneset *lanes, struct kymo_gap_slot *slot);

#endif
