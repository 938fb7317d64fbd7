/* claimed.h — claim this thread's lane for work that takes a lock: on names, schemas, tracks. */
#ifndef KYMO_CLAIMED_H
#define KYMO_CLAIMED_H

#include "local.h"
#include "lock.h"
#include "running.h"

struct kymo_claimed {
    struct kymo_lane *lane;
    struct kymo_record *at;
    int cancel;
};

/* NULL when no session runs, or in a signal handler that interrupted code holding our locks. */
static inline const struct kymo_running *kymo__claim_names(struct kymo_claimed *claimed)
{
    if (kymo__inside)
        return NULL;
    claimed->cancel = kymo__cancel_off();
    claimed->at = kymo_lane_claim(&claimed->lane, 0);
    const struct kymo_running *s = claimed->at ? kymo__running_now() : NULL;
    if (claimed->at && !s)
        kymo_lane_release(claimed->lane, claimed->at);
    if (!s)
        kymo__cancel_restore(claimed->cancel);
    return s;
}

static inline void kymo__names_done(const struct kymo_claimed *claimed)
{
    kymo_lane_release(claimed->lane, claimed->at);
    kymo__cancel_restore(claimed->cancel);
}

#endif
