/* running.h — the running session as the calls of programs and sources see it: handles to its
   parts. A file includes the headers of the parts that it uses, and sees no others. */
#ifndef KYMO_RUNNING_H
#define KYMO_RUNNING_H

#include "switch.h"

struct kymo_running {
    uint32_t number;
    struct kymo_laneset *lanes;
    struct kymo_names *names;
    struct kymo_schemas *schemas;
    struct kymo_opnames *ops;
    struct kymo_trackset *tracks;
    struct kymo_stackdesk *desk;
    struct kymo_sampler *sampler; /* NULL: no samples are taken */
    struct kymo_flight *flight;
    struct kymo_drain *drain;
};

/* NULL when no session runs. Valid inside a claim and under the life lock. */
extern const struct kymo_running *kymo__running;

/* The same inside a claim: it stays valid until the claim is released, even if kymo_stop gives up
   waiting. */
static inline const struct kymo_running *kymo__running_now(void)
{
    return kymo__switch_now() ? kymo__load_acquire(&kymo__running) : NULL;
}

/* The life lock: start, stop and the sources exclude each other with it. */
void kymo__life_lock(void);
void kymo__life_unlock(void);

#endif
