/* live.h — the live file: chunk memory that outlives its process.

   The recorder maps it shared and hands out its chunks; readers of an unfinished capture read it.
   Disk space is reserved before a chunk is used, because storing to a mapped page without disk
   space raises SIGBUS. Only a process that ends within moments gets by without: reserving space and
   giving it back takes longer than all its work. Half of the remaining disk space stays free for the
   capture. */
#ifndef KYMO_LIVE_H
#define KYMO_LIVE_H

#include "format.h"
#include "owned.h"

/* Gap slots of threads, and of the flight recorder; in a brief file there are fewer. */
#define KYMO__GAP_SLOTS 2048u
#define KYMO__EXPIRED_SLOTS 512u
#define KYMO__GAP_SLOTS_BRIEF 240u
#define KYMO__EXPIRED_SLOTS_BRIEF 16u

struct kymo_live {
    struct kymo_live_header *header;
    struct kymo_gap_slot *gaps;    /* gap_slots of them */
    struct kymo_gap_slot *expired; /* expired_slots more, the flight recorder's */
    uint32_t gap_slots, expired_slots;
    struct kymo_chunk *chunks;
    size_t chunk_offset;
    uint32_t ready, limit;  /* chunks usable now, and the maximum */
    struct kymo_owned file; /* no descriptor: the file could not be created; memory is private */
    char *path;             /* NULL in that case */
    size_t mapped;
    bool brief;    /* few of the first pages will be used: bring in each when it is */
    uint64_t owed; /* bytes at the beginning for which space is not reserved yet */
    int reason;    /* negative errno: why there is no file, or why it stopped growing */
    uint32_t full; /* 1: the disk had no room for more at the last attempt */
};

/* Create the live file of the capture at PATH, readable only by its owner, with room for LIMIT
   chunks, none of them ready. If the file system cannot do it, the memory is private and REASON
   says why: recording works, but a kill loses what is not written. BRIEF: the process may end
   soon, having recorded little, and is no flight recorder; if the disk has plenty of room, space is
   reserved later, by kymo__live_settle. Returns 0 or -ENOMEM. */
int kymo__live_create(struct kymo_live *live, const char *path, const uint8_t capture[16],
                      uint32_t limit, bool brief);

/* Reserve what was left for later. If that fails, the next call tries again. */
void kymo__live_settle(struct kymo_live *live);

/* Make up to MORE chunks ready: reserved and touched, except the first ones of a BRIEF file.
   Returns how many; fewer, down to 0, at the limit or if the disk is full. One thread at a time. */
uint32_t kymo__live_grow(struct kymo_live *live, uint32_t more);

/* Rename the live file because the capture is now called PATH. Returns 0 or a negative errno. */
int kymo__live_rename(struct kymo_live *live, const char *path);

/* False if someone truncated the file, or if it cannot be checked. Only its owner may write to it,
   but that can be any process of the same user. */
bool kymo__live_is_whole(struct kymo_live *live);

/* Like close, but keep the memory: someone may still store to it. */
void kymo__live_forsake(struct kymo_live *live, bool keep);

/* Like close, but leave unmapping to the system: the process is about to end. */
void kymo__live_leave(struct kymo_live *live, bool keep);

/* Unmap and close; unless KEEP, remove the file, or leave it to another process of the family if it
   is BRIEF. */
void kymo__live_close(struct kymo_live *live, bool keep);

#endif
