/* capture.h — the basis of the reading API: a reader and its clock. */
#ifndef KYMO_CAPTURE_H
#define KYMO_CAPTURE_H

#include "reader.h"
#include "timebase.h"

struct kymo_capture {
    struct kymo_reader *reader;
    struct kymo_timebase base;
    struct kymo_timebase *clocks; /* clocks of tracks, by number; reader->clock_count of them */
    kymo_ns end;                  /* time of the last record */
    bool samples_known;           /* `samples` is valid: counted on first use */
    uint64_t samples;
    kymo_ns until; /* see kymo_capture_until; 0: no limit */
    /* Of captures opened as one, see joined.c: what the temporary file cannot say. */
    bool joined;
    int ending, error, version_minor;
    uint64_t file_bytes, live_bytes, recovered, unknown;
};

/* Create a second capture over the same open file for another thread. The two may be used at once
   as long as they read different threads of the capture. CAPTURE must outlive it. Returns 0 or
   -ENOMEM. */
int kymo__capture_share(struct kymo_capture *capture, struct kymo_capture **shared);

/* Convert a time on the clock of track THREAD to nanoseconds. */
kymo_ns kymo__track_ns(const struct kymo_capture *capture, uint32_t thread, uint64_t time,
                       size_t *hint);

/* Free SHARED and report the damage it found to CAPTURE, which must not be in use meanwhile. */
void kymo__capture_unshare(struct kymo_capture *capture, struct kymo_capture *shared);

#endif
