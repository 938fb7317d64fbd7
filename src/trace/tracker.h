/* tracker.h — track the records of one lane as they are written, and make summaries. A summary is a
   block that says which calls were open at the start of a range of the lane's blocks
   (checkpoint.h), with an overview of the range (cells.h).

   Summaries take at most one KYMO__SUMMARY_SHARE-th of the bytes of their records. A range is
   extended until that is enough for one; columns are joined if there are too many. */
#ifndef KYMO_TRACKER_H
#define KYMO_TRACKER_H

#include "block.h"
#include "nest.h"
#include "opencolumn.h"

/* One byte of summary per this many bytes of records. */
#define KYMO__SUMMARY_SHARE 60

struct kymo_tracker {
    struct kymo_nest nest;         /* times are ticks */
    uint64_t next_chunk;           /* number of the next chunk to track */
    struct kymo_record whole;      /* an event whose value has not come yet; word 0: none */
    struct kymo_block_header span; /* the range; chunks 0: not started */
    uint64_t stored;               /* bytes of its blocks in the file */
    uint64_t enough;               /* how many are enough for a summary */
    struct kymo_buffer state, payload;
    struct kymo_buffer chain; /* an incomplete payload */
    uint32_t chain_key;       /* key of its schema; 0: none */
    unsigned chain_used;
    struct kymo_cells cells;
    struct kymo_open_column column; /* being filled */
    uint64_t *gaps;                 /* first ticks of gaps to come, sorted: from gap_at on */
    size_t gap_count, gap_capacity, gap_at;
    bool uncertain; /* a gap was reported too late: states are unreliable until nothing is open */
};

/* Set up for a lane. IS_SPAN and ARG are passed to the nest. */
void kymo__tracker_init(struct kymo_tracker *tracker, bool (*is_span)(void *, uint32_t), void *arg);
void kymo__tracker_fini(struct kymo_tracker *tracker);

/* A gap of the lane begins at FIRST_TICKS. Call this before the records after it. Returns 0 or
   -ENOMEM. */
int kymo__tracker_gap(struct kymo_tracker *tracker, uint64_t first_ticks);

/* Block HEADER comes next; it has LEN bytes in the file and starts with FIRST. Its records follow,
   in any number of parts, then kymo__tracker_end. Returns 0 or -ENOMEM. */
int kymo__tracker_begin(struct kymo_tracker *tracker, const struct kymo_block_header *header,
                        size_t len, const struct kymo_record *first);
int kymo__tracker_records(struct kymo_tracker *tracker, const struct kymo_record *records,
                          size_t count);
int kymo__tracker_end(struct kymo_tracker *tracker);

/* Track one event of the block, instead of its records; VALUE is the event's value. */
int kymo__tracker_event(struct kymo_tracker *tracker, uint64_t ticks, uint64_t word,
                        uint64_t value);

/* The rest of the block, from TICKS on, cannot be read. */
int kymo__tracker_damage(struct kymo_tracker *tracker, uint64_t ticks);

/* Make a summary of the range if it is long enough; at the end of the lane, with LAST, a shorter
   range will do if it pays. Returns 1 if the summary is in PACKED and the next block starts a new
   range; 0 if not yet; -ENOMEM or -EIO. */
int kymo__tracker_pack(struct kymo_tracker *tracker, struct kymo_packer *packer, bool last,
                       struct kymo_packed *packed);

#endif
