/* rescue.h — recover what a live file still holds, for a reader of its capture. */
#ifndef KYMO_RESCUE_H
#define KYMO_RESCUE_H

#include "reader.h"

struct kymo_rescue {
    int fd;                /* the live file, -1 if there is none */
    bool found;            /* there is one and it belongs to the capture */
    bool stopped;          /* recording is over */
    bool flight;           /* from a flight recorder, */
    uint64_t ring_records; /* which had this many records in other memory */
    uint64_t unknown;      /* chunks of types that are not known here */
    uint64_t bytes;
    int error; /* the recorder's, negative errno or 0 */
    struct kymo_run *runs;
    size_t run_count, run_capacity;
    struct kymo_buffer defs;             /* the unwritten end of the definition stream */
    uint64_t defs_position, defs_offset; /* in the stream, and of their chunk in the file */
    struct kymo_gap_slot *gaps;          /* pending */
    size_t gap_count, gap_capacity;
};

/* Copy what the live file beside the capture PATH holds. A missing file, or one of another capture,
   is not an error. Returns 0 or a negative errno. */
int kymo__rescue_load(struct kymo_rescue *rescue, const char *path, const uint8_t capture[16]);

/* Copy the definitions again: together with those in the capture, they then name everything seen
   before. */
int kymo__rescue_definitions(struct kymo_rescue *rescue);

/* Hand it to READER, whose capture has the definitions up to COVERED. */
int kymo__rescue_apply(struct kymo_rescue *rescue, struct kymo_reader *reader, uint64_t covered);
void kymo__rescue_fini(struct kymo_rescue *rescue);

#endif
