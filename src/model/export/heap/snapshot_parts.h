/* snapshot_parts.h — shared by the files of the snapshot export. */
#ifndef KYMO_SNAPSHOT_PARTS_H
#define KYMO_SNAPSHOT_PARTS_H

#include "export.h"
#include "heapview.h"
#include "hostsegments.h"
#include "pickle.h"
#include "samples.h"

enum { KYMO__ADDRESS_BITS = 48 }; /* above are tags, and the process in a merged capture */

struct kymo_torch_snapshot {
    struct kymo_capture *capture;
    const struct kymo_export_options *options;
    struct kymo_info info;
    struct kymo_replay replay;
    struct kymo_kept_blocks kept;
    struct kymo_host_segments segments;
    bool no_arenas; /* the objects in them were recorded */
    bool live;      /* the capture has only sums of what was alive */
    uint64_t last;  /* tick of the last event */
    struct kymo_samples *stacks;
    struct kymo_shown *shown;
    struct kymo_pickle pickle;
    uint32_t *frames_of; /* by site: the number of its list of frames */
    uint32_t *frame_of;  /* by named frame */
    struct kymo_pickle_list trace;
    uint32_t process; /* whose trace is being written */
    size_t hint;
};

/* Choose the blocks to write and arrange them in segments. Returns 0 or a negative code. */
int kymo__snapshot_blocks(struct kymo_torch_snapshot *snapshot);

#endif
