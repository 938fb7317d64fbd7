/* states.h — the places in a capture at which reading may begin. */
#ifndef KYMO_STATES_H
#define KYMO_STATES_H

#include "capture.h"
#include "check.h"
#include "summaries.h"

/* The first summary of the first thread, from AT on, that has a state. */
static inline struct kymo_summary *next_state(struct kymo_capture *capture, size_t at)
{
    const struct kymo_thread_more *t = kymo__thread_more(capture->reader, 0);
    for (; at < t->summary + t->summaries; at++) {
        struct kymo_nest nest = {0};
        int rc = kymo__summary_state(capture->reader, &capture->reader->summaries[at], 0, &nest);
        kymo__nest_fini(&nest);
        if (rc > 0)
            return &capture->reader->summaries[at];
    }
    CHECK_FAIL("only %zu summaries", (size_t)t->summaries);
    return NULL;
}

#endif
