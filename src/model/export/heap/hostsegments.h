/* hostsegments.h — blocks of host memory arranged as PyTorch's viewer expects: inside segments.

   A segment is an address range that blocks of the capture lie in: a heap with everything close
   together, or a large block that has a mapping of its own. Segments never overlap, at any time.
   Blocks that were alive at the same time do not overlap either: of two that do, the later is left
   out and counted. A mapping that other blocks lie in counts as their space. */
#ifndef KYMO_HOSTSEGMENTS_H
#define KYMO_HOSTSEGMENTS_H

#include "keptblocks.h"

struct kymo_host_segment {
    uint64_t address, bytes;
    uint32_t process;
    bool alone;    /* a large block's own: it comes and goes with it */
    bool open;     /* it exists now; after a walk: at the end of the window */
    uint32_t live; /* blocks in it now */
    uint64_t held; /* end of the last mapping in it that holds blocks */
};

/* A block is born or dies. */
struct kymo_change {
    uint64_t ticks;
    uint64_t order;
    uint32_t block; /* position in the kept blocks */
    uint8_t rank;   /* at one tick: deaths, then blocks that live for no time, then births */
    bool dies;
};

struct kymo_host_segments {
    struct kymo_kept_blocks *kept; /* the caller's; by address */
    struct kymo_host_segment *all; /* by address */
    size_t count, capacity;
    struct kymo_change *changes; /* in order of time */
    size_t change_count;
};

/* Arrange KEPT, which is sorted, and from which blocks may be removed. Returns 0 or -ENOMEM; call fini in either case. */
int kymo__host_segments_init(struct kymo_host_segments *segments, struct kymo_kept_blocks *kept);
void kymo__host_segments_fini(struct kymo_host_segments *segments);

/* What an entry of a snapshot's trace is about. */
enum kymo_host_action {
    KYMO__SEGMENT_ALLOC,
    KYMO__SEGMENT_FREE,
    KYMO__BLOCK_ALLOC,
    KYMO__BLOCK_FREE, /* two entries */
};

/* Call EACH for what happened in the window, in order. A segment exists before the first block in
   it and after the last. Returns the number of entries, including both of a free. */
uint64_t kymo__host_segments_walk(struct kymo_host_segments *segments,
                                  void (*each)(void *arg, enum kymo_host_action action,
                                               const struct kymo_host_segment *segment,
                                               const struct kymo_kept_block *block, uint64_t ticks),
                                  void *arg);

#endif
