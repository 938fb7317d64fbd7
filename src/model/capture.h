/* capture.h — what the reading API stands on: a reader and its clock. */
#ifndef KYMO_CAPTURE_H
#define KYMO_CAPTURE_H

#include "reader.h"
#include "timebase.h"

struct kymo_capture {
    struct kymo_reader *reader;
    struct kymo_timebase base;
    kymo_ns end;        /* time of the last record */
    bool samples_known; /* the next is: counted when first asked for */
    uint64_t samples;
};

/* A second capture over the same open file, for another thread to read with: the two may
   be used at once as long as they read different threads of the capture. CAPTURE must
   outlive it. Returns 0 or -ENOMEM. */
int kymo__capture_share(struct kymo_capture *capture, struct kymo_capture **shared);

/* End that. Damage it met is then known to CAPTURE too; not while others use that. */
void kymo__capture_unshare(struct kymo_capture *capture, struct kymo_capture *shared);

#endif
