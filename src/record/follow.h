/* follow.h — summaries while recording: the writer thread runs a tracker (tracker.h) for each lane
   over what is written.

   It follows a block at once if it has written the block itself, the lane's previous block has been
   followed, and memory for records is not short. All other blocks are noted: those that helper
   threads wrote, those after them, and a flight recorder's. They wait in their lane's queue and are
   read back from the file when the writer thread has nothing else to do, the rest when recording
   stops, on all cores (followall.c). So every block is followed, and recording never waits for it.

   What expired in a flight recorder is a gap to a tracker, as it is to a reader of the file. */
#ifndef KYMO_FOLLOW_H
#define KYMO_FOLLOW_H

#include <pthread.h>
#include <stdbool.h>

#include "readback.h"
#include "tracker.h"

struct kymo_names;
struct kymo_capfile;

/* A block in the file, to be followed. */
struct kymo_noted {
    struct kymo_block_header header;
    uint64_t offset;
};

struct kymo_follow_lane {
    struct kymo_tracker *tracker; /* NULL: none yet, or none any more */
    bool gone;                    /* it is no longer followed */
    struct kymo_noted *queue;     /* by place in the lane; from `at` on */
    size_t at, count, capacity;
    size_t followed; /* blocks of the queue before it are; equal to `at` but in followall.c */
};

struct kymo_follow {
    struct kymo_names *names;
    struct kymo_capfile *file;
    bool holes; /* blocks may be missing, because a flight recorder let them expire */

    /* Of the writer thread and, when recording has stopped, of those that finish. */
    struct kymo_follow_lane *lanes; /* by thread */
    size_t count, capacity;
    size_t used; /* trackers that exist */
    struct kymo_readback back;

    pthread_mutex_t lock;     /* guards what follows */
    struct kymo_noted *noted; /* blocks that are not in a queue yet */
    size_t noted_count, noted_capacity;
    bool lost; /* no memory for a note: nothing is followed any more */
};

void kymo__follow_init(struct kymo_follow *follow, struct kymo_names *names,
                       struct kymo_capfile *file);
void kymo__follow_fini(struct kymo_follow *follow);

/* CHUNKS were written as the block of HEADER, at OFFSET. PACKER packs summaries, here and below.
   Writer thread. */
void kymo__follow_chunks(struct kymo_follow *follow, struct kymo_packer *packer,
                         const struct kymo_block_header *header, uint64_t offset,
                         struct kymo_chunk *const *chunks, size_t count);

/* The block of HEADER was written at OFFSET; follow it later. Any thread. */
void kymo__follow_later(struct kymo_follow *follow, const struct kymo_block_header *header,
                        uint64_t offset);

/* Follow noted blocks whose turn has come. GOES_ON is asked before each, with ARG: false leaves
   the rest for later. Writer thread. */
void kymo__follow_up(struct kymo_follow *follow, struct kymo_packer *packer,
                     bool (*goes_on)(void *), void *arg);

/* Everything has been written: follow the rest, on all cores, and write the remaining summaries.
   HURRIED: the process is about to die; leave many blocks to `kymograph index`. Writer thread, at
   the end. */
void kymo__follow_finish(struct kymo_follow *follow, struct kymo_packer *packer, bool hurried);

/* ---- for followall.c ---- */

/* Move noted blocks into the queues of their lanes, and learn of the gaps before them. False if
   nothing can be followed any more. */
bool kymo__follow_collect(struct kymo_follow *follow);

/* Track block NOTED of LANE, whose records are in BACK unless RC is negative. */
void kymo__follow_block(struct kymo_follow_lane *lane, const struct kymo_noted *noted,
                        const struct kymo_readback *back, int rc);

/* Write LANE's summary if it is due. */
void kymo__follow_summary(struct kymo_follow *follow, struct kymo_packer *packer,
                          struct kymo_follow_lane *lane, bool last);

#endif
