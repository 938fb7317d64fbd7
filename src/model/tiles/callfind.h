/* callfind.h — the next or the previous call with one of some names, on any thread.

   A search may have to read much. It stops after a while and reports how far it got, so that a
   viewer can show progress and go on from there. */
#ifndef KYMO_CALLFIND_H
#define KYMO_CALLFIND_H

#include "callables.h"
#include "calls.h"

struct kymo_callfind {
    const struct kymo_callables *callables;
    const bool *wanted; /* by callable */
    kymo_ns time;       /* search from here: after it, or before it */
    bool backwards;
    kymo_ns first, last; /* the part of the capture to search, from first to before last */
    uint64_t budget;     /* events to read at most, about */
};

struct kymo_callfound {
    bool found;
    bool done; /* there is none; otherwise go on from `time` */
    uint32_t thread, depth, name;
    uint64_t number;
    kymo_ns time; /* where it began; or how far the search got */
};

/* Search CAPTURE. Returns 0 or a negative code. */
int kymo__callfind(struct kymo_capture *capture, const struct kymo_callfind *search,
                   struct kymo_callfound *found);

#endif
