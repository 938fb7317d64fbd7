/* reader.h — a capture file opened for reading: which blocks it has and what its
   definitions say. Payloads are read when asked for, one block at a time.

   Nothing in a file is believed: sizes are bounded, checksums compared, and what
   does not fit is counted as damage and skipped. */
#ifndef KYMO_READER_H
#define KYMO_READER_H

#include "block.h"
#include "clock.h"
#include "defs.h"
#include "stackdefs.h"

/* A run of records of one thread: a block of the file, or a chunk of the live file. */
struct kymo_run {
    struct kymo_block_header header;
    uint64_t offset;             /* in its file */
    struct kymo_record *records; /* a copy of a live chunk's records; NULL for a block */
    size_t length;               /* of `records`, values included */
    bool damaged;                /* found out when it was read */
    bool open;                   /* a live chunk that was still being recorded into */
};

struct kymo_reader_thread {
    uint64_t tid, start_ticks, end_ticks;
    uint32_t name;    /* string id, 0 none */
    uint32_t process; /* index, 0 for that of the header */
    bool defined;     /* false: only its records tell of it */
    size_t run, runs; /* its runs: reader->runs[run] and on, in the order recorded */
};

struct kymo_reader_key {
    uint32_t name, file; /* string ids; name 0: never defined */
    uint32_t line, class;
};

struct kymo_reader_process {
    uint64_t pid;
    uint32_t name, machine; /* string ids, 0 none */
    bool defined;
};

struct kymo_reader_gap {
    uint32_t thread, reason;
    uint64_t count, first_ticks, last_ticks;
};

struct kymo_reader {
    int fd;
    struct kymo_file_header header;
    uint64_t file_bytes, live_bytes;
    bool indexed;  /* the index was there */
    bool finished; /* the footer was there: recording stopped */
    bool running;  /* its process is recording: the file grows while it is read */
    bool flight;   /* by a flight recorder: chunks may be missing. The live file tells */
    int ending;    /* enum kymo_ending */
    int error;     /* the recorder's, negative errno or 0 */

    struct kymo_run *runs;
    size_t run_count, run_capacity;
    uint64_t live_records;   /* in runs from the live file */
    uint64_t ring_records;   /* that a flight recorder had in memory, and neither file has */
    uint64_t damaged_blocks; /* known so far */
    uint64_t damaged_bytes;  /* of the file, in no block */

    struct kymo_reader_thread *threads;
    size_t thread_count, thread_capacity;
    struct kymo_reader_key *keys; /* key ID stands at ID */
    size_t key_count, key_capacity;
    struct kymo_reader_string {
        struct kymo_buffer text; /* ends in a zero byte, which is not counted */
        uint32_t meta;           /* metadata entry whose key it is, plus 1; 0 none */
    } * strings;                 /* string ID stands at ID */
    size_t string_count, string_capacity;
    struct kymo_reader_meta {
        uint32_t key, value;
    } * metas;
    size_t meta_count, meta_capacity;
    struct kymo_snapshot *snapshots;
    size_t snapshot_count, snapshot_capacity;
    struct kymo_reader_process *processes; /* none when there is only that of the header */
    size_t process_count, process_capacity;
    bool ranged; /* the next two are known */
    uint64_t range_first, range_last;
    struct kymo_reader_gap *gaps;
    size_t gap_count, gap_capacity;
    struct kymo_reader_stacks stacks;

    struct kymo_unpacker *unpacker;
    struct kymo_buffer stored; /* scratch for payloads as they are in the file */
};

/* Open PATH and read everything but payloads of records. Returns 0, -KYMO_ENOTCAPTURE,
   -KYMO_ENEWER, -KYMO_EDAMAGED, -KYMO_EMPTYFILE or negative errno. */
int kymo__reader_open(const char *path, struct kymo_reader **reader);
void kymo__reader_close(struct kymo_reader *reader);

/* Read and decompress the records of RUN, a block, into ENCODED. Returns 0, or
   -KYMO_EBLOCK, which also marks and counts it. Not for runs with `records`. */
int kymo__reader_payload(struct kymo_reader *reader, struct kymo_run *run,
                         struct kymo_buffer *encoded);

/* Once all runs have been read, check the other blocks too and count the damage anew. */
int kymo__reader_verify(struct kymo_reader *reader);

/* Note that RUN turned out to be damaged. */
void kymo__reader_damaged(struct kymo_reader *reader, struct kymo_run *run);

/* String ID as text, "" when there is none; until the reader is closed. */
const char *kymo__reader_string(const struct kymo_reader *reader, uint32_t id);

#endif
