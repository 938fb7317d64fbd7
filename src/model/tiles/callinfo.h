/* callinfo.h — everything about one call: for the panel of a viewer.

   Its end is found from the checkpoints, not by reading up to it: however long it took, a few blocks
   are read. */
#ifndef KYMO_CALLINFO_H
#define KYMO_CALLINFO_H

#include "calls.h"

struct kymo_call_frame {
    uint32_t key;
    uint64_t number;
    kymo_ns start;
};

struct kymo_callinfo {
    uint32_t key, depth;
    uint64_t number, task;
    kymo_ns start, end, self;
    bool self_about; /* from summaries, accurate to about a percent of the call */
    uint8_t enter, leave, flags;
    struct kymo_call_frame *callers; /* outermost first: `depth` of them */
    struct kymo_buffer args;         /* a JSON object: its arguments by name */
};

/* Find the call of thread THREAD that began at START at DEPTH or, if there is none, the one open
   there then. Returns 1, 0 if there is neither, or a negative code; call fini in any case. */
int kymo__callinfo_find(struct kymo_capture *capture, uint32_t thread, kymo_ns start,
                        uint32_t depth, struct kymo_callinfo *info);
void kymo__callinfo_fini(struct kymo_callinfo *info);

#endif
