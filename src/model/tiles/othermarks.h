/* othermarks.h — the events of a capture that are no calls, in one list: counters, instants, arrows,
   spans of tasks, finished events of devices. For a viewer, which needs all of them to draw any. */
#ifndef KYMO_OTHERMARKS_H
#define KYMO_OTHERMARKS_H

#include "callables.h"
#include "calls.h"

struct kymo_mark {
    uint16_t kind; /* enum kymo_kind */
    uint32_t thread, name;
    uint32_t depth; /* calls that were open there */
    kymo_ns time;
    uint64_t id;  /* as in struct kymo_event: an id, or the duration of a finished event */
    double value; /* of a counter */
    size_t args;  /* position of its arguments in `texts`, a JSON object; SIZE_MAX for none */
};

struct kymo_marks {
    struct kymo_mark *all; /* thread by thread, in the order recorded */
    size_t count, capacity;
    struct kymo_buffer texts; /* each ends in a zero byte */
    bool more;                /* there are more than was allowed */
    uint64_t events;          /* read for this, about: parts without marks are passed over */
};

/* Read the marks of CAPTURE, at most MOST. Samples and memory events are left out. STOP, which may be
   NULL, is called now and then with ARG; a negative result ends the reading. Returns 0 or a negative
   code; call fini in either case. */
int kymo__marks_read(struct kymo_marks *marks, struct kymo_capture *capture,
                     const struct kymo_callables *callables, size_t most, int (*stop)(void *arg),
                     void *arg);
void kymo__marks_fini(struct kymo_marks *marks);

#endif
