/* trackset.h — the tracks of a session, their clocks and their processes. */
#ifndef KYMO_TRACKSET_H
#define KYMO_TRACKSET_H

#include "pen.h"

struct kymo_laneset;
struct kymo_names;
struct kymo_schemas;
struct kymo_track_options;

struct kymo_trackset {
    struct kymo_pens pens;
    struct kymo_laneset *lanes; /* tracks are numbered like threads */
    struct kymo_names *names;
    struct kymo_schemas *schemas;
    uint32_t clocks;        /* opened by sources for tracks */
    uint64_t processes[64]; /* ids of processes that own tracks; under the pens' lock. 0: free */
};

/* Open TRACK; the options are complete. 0, -ENOMEM or -ENOSPC. */
int kymo__track_open(struct kymo_trackset *set, const struct kymo_track_options *options,
                     struct kymo_track *track);

#endif
