/* live.h — the live file: chunk memory that outlives its process.

   The recorder maps it shared and hands its chunks out; a reader of an unfinished
   capture looks into it. Room on the disk is reserved before a chunk is used,
   because a store into a mapped page that the disk has no room for is a SIGBUS. */
#ifndef KYMO_LIVE_H
#define KYMO_LIVE_H

#include "format.h"

#define KYMO__GAP_SLOTS 2048u
#define KYMO__EXPIRED_SLOTS 512u

struct kymo_live {
    struct kymo_live_header *header;
    struct kymo_gap_slot *gaps;    /* KYMO__GAP_SLOTS of them */
    struct kymo_gap_slot *expired; /* KYMO__EXPIRED_SLOTS more, the flight recorder's */
    struct kymo_chunk *chunks;
    uint32_t ready, limit; /* chunks usable now, and at most */
    int fd;                /* -1: no file could be had; the memory is private */
    char *path;            /* NULL then */
    size_t mapped;
    int reason;    /* negative errno: why there is no file, or why it stopped growing */
    uint32_t full; /* 1: the disk had no room for more at the last attempt */
};

/* Create the live file of the capture at PATH, with room for LIMIT chunks and none
   ready. Where the file system cannot do it the memory is private and REASON says
   why: recording works, but a kill loses what is not written. Returns 0 or -ENOMEM. */
int kymo__live_create(struct kymo_live *live, const char *path, const uint8_t capture[16],
                      uint32_t limit);

/* Make up to MORE chunks ready, reserved and touched. Returns how many; fewer, down
   to 0, at the limit or when the disk is full. One thread at a time. */
uint32_t kymo__live_grow(struct kymo_live *live, uint32_t more);

/* Unmap and close; remove the file unless KEEP. */
void kymo__live_close(struct kymo_live *live, bool keep);

#endif
