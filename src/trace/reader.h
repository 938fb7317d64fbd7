/* reader.h — a capture file opened for reading: its blocks and definitions. Payloads are read on
   demand, one block at a time.

   Nothing in a file is trusted: sizes are bounded, checksums compared, and invalid parts are
   counted as damage and skipped. */
#ifndef KYMO_READER_H
#define KYMO_READER_H

#include "block.h"
#include "clock.h"
#include "defs.h"
#include "stackdefs.h"
#include "tokenfind.h"
#include "values.h"

/* A copy of a chunk of the live file. */
struct kymo_live_run {
    struct kymo_record *records;
    size_t length; /* of `records`, including values */
    bool open;     /* it was still being recorded into */
};

/* A run of records of one thread: a block of the file, or a chunk of the live file. There may be
   millions, so only what is needed to find a block is kept; the rest of its header is read again
   with its payload. */
struct kymo_run {
    union {
        uint64_t offset;            /* of a block in the file */
        struct kymo_live_run *live; /* if `is_live`; belongs to the run */
    };
    uint64_t first_chunk, first_ticks, last_ticks; /* these as in a block's header */
    uint32_t thread, events, skipped;
    uint8_t chunks, type;
    bool damaged;        /* found when it was read */
    uint8_t is_live : 1; /* a chunk of the live file */
    uint8_t values : 1;  /* a block with a column of values */
    uint8_t shifted : 1; /* a track: the ticks are on the capture's clock, not on its own */
};
static_assert(sizeof(struct kymo_run) == 48, "a run is 48 bytes");

/* A summary of some runs of one thread: see summaries.h. */
struct kymo_summary {
    struct kymo_block_header header; /* of the runs together */
    uint64_t offset;
    size_t run;      /* the first of them */
    uint64_t before; /* the greatest tick in the thread's earlier runs; 0 if there are none */
    bool aside;      /* in the index file */
};

/* What happened to the index file beside the capture. */
enum kymo_index_file {
    KYMO__INDEX_NONE,  /* there is none */
    KYMO__INDEX_USED,  /* its summaries are used instead of the capture's own */
    KYMO__INDEX_STALE, /* it belongs to another capture or is damaged, and is ignored */
};

/* A thread. A file may have a million, so what few of them have is kept apart. */
struct kymo_reader_thread {
    uint64_t tid, start_ticks, end_ticks;
    uint32_t name;      /* string id, 0 none */
    uint32_t process;   /* index, 0 for that of the header */
    uint32_t run, runs; /* its runs, from reader->runs[run] on, in the order recorded */
    uint32_t more;      /* in reader->mores; 0: it has nothing of that. See kymo__thread_more */
    bool defined;       /* false: known only from its records */
};
static_assert(sizeof(struct kymo_reader_thread) == 48, "a thread is 48 bytes");

struct kymo_thread_more {
    size_t summary, summaries; /* its summaries, from reader->summaries[summary] on */
    size_t gaps;               /* how many it has */
    uint64_t lost;             /* events lost in them, except expired ones */
    bool track; /* finished events of a device, on their own clock; the next three are set */
    int64_t device;
    uint64_t stream;
    uint32_t clock; /* of struct kymo_reader_clock, or KYMO__CLOCK_TICKS, KYMO__CLOCK_NS */
};

struct kymo_reader_key {
    uint32_t name, file; /* string ids; name 0: never defined */
    uint32_t line, class;
    uint32_t schema; /* whose name it is: index + 1 in reader->schemas; 0 none */
};

/* The fields of a payload. */
struct kymo_reader_schema {
    uint32_t number;
    struct kymo_plan plan;
    uint32_t field[KYMO_FIELDS_MOST]; /* keys of their names */
};

enum { KYMO__CLOCK_TICKS = 0, KYMO__CLOCK_NS = 1, KYMO__CLOCKS_MOST = 256 };

/* A clock of tracks. */
struct kymo_reader_clock {
    uint32_t name;               /* string id */
    uint64_t rate;               /* ticks per second as stated, or 0 */
    struct kymo_snapshot *times; /* wall is 0 */
    size_t count, capacity;
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
    bool running;  /* its process is recording: the file grows while being read */
    bool killed;   /* it was recording when it ended: the live file is there and says so */
    bool flight;   /* from a flight recorder: chunks may be missing. The live file says so */
    int ending;    /* enum kymo_ending */
    int error;     /* the recorder's, negative errno or 0 */

    struct kymo_run *runs;
    size_t run_count, run_capacity;
    uint64_t live_records;   /* in runs from the live file */
    uint64_t ring_records;   /* records that a flight recorder had only in memory */
    uint64_t damaged_blocks; /* known so far */
    uint64_t damaged_bytes;  /* bytes of the file in no block */
    uint64_t unknown_parts;  /* blocks, chunks and definitions of types that are not known here */

    struct kymo_summary *summaries;
    size_t summary_count, summary_capacity;
    int index_fd;
    enum kymo_index_file index_file;

    struct kymo_reader_thread *threads;
    size_t thread_count, thread_capacity;
    struct kymo_thread_more *mores; /* the first is that of threads without: all zeros */
    size_t more_count, more_capacity;
    struct kymo_reader_key *keys; /* by key id */
    size_t key_count, key_capacity;
    struct kymo_reader_string {
        char *text; /* in a text block, with a zero byte after it; NULL: not defined */
        uint32_t len;
        uint32_t meta : 31; /* metadata entry whose key it is, plus 1; 0 none */
        uint32_t grown : 1; /* it came in parts: has room up to a power of two */
    } * strings;            /* by string id */
    size_t string_count, string_capacity;
    struct kymo_text_block *texts; /* private to dictionary.c */
    struct kymo_reader_meta {
        uint32_t key, value;
    } * metas;
    size_t meta_count, meta_capacity;
    struct kymo_snapshot *snapshots;
    size_t snapshot_count, snapshot_capacity;
    struct kymo_reader_process *processes; /* empty if there is only the header's process */
    size_t process_count, process_capacity;
    bool ranged; /* the next two are valid */
    uint64_t range_first, range_last;
    struct kymo_reader_gap *gaps;
    size_t gap_count, gap_capacity;
    struct kymo_reader_stacks stacks;
    struct kymo_reader_schema *schemas;
    size_t schema_count, schema_capacity;
    struct kymo_reader_clock *clocks; /* by clock number; the first two are unused */
    size_t clock_count, clock_capacity;

    struct kymo_unpacker *unpacker;
    struct kymo_buffer stored; /* scratch for payloads as they are in the file */
};

/* Open PATH and read everything but records' payloads. Returns 0, KYMO_ENOTCAPTURE, KYMO_ENEWER,
   KYMO_EDAMAGED, KYMO_EMPTYFILE, KYMO_EEXPANDS or a negative errno. */
int kymo__reader_open(const char *path, struct kymo_reader **reader);
void kymo__reader_close(struct kymo_reader *reader);

/* Read and decompress the records of RUN, a block, into ENCODED, and its header, as it is in the file,
   into HEADER. Returns 0, or KYMO_EBLOCK, which also marks and counts it. Not for live runs. */
int kymo__reader_payload(struct kymo_reader *reader, struct kymo_run *run,
                         struct kymo_block_header *header, struct kymo_buffer *encoded);

/* Does RUN, a block, have records that are WANTED? Reads its tokens only. Returns 1, 0, which a damaged
   block may be, or a negative errno. */
int kymo__reader_has(struct kymo_reader *reader, const struct kymo_run *run,
                     const struct kymo_wanted_kinds *wanted, struct kymo_buffer *scratch);

/* The copy of the chunk that RUN is, or NULL for a block. */
static inline const struct kymo_live_run *kymo__run_live(const struct kymo_run *run)
{
    return run->is_live ? run->live : NULL;
}

/* What only some threads have, of THREAD. */
static inline const struct kymo_thread_more *kymo__thread_more(const struct kymo_reader *reader,
                                                               uint32_t thread)
{
    static const struct kymo_thread_more nothing;
    uint32_t more = reader->threads[thread].more;
    return more ? &reader->mores[more] : &nothing;
}

/* The same, to be changed; NULL if memory is short. */
struct kymo_thread_more *kymo__thread_more_new(struct kymo_reader *reader, uint32_t thread);

/* Once all runs have been read, check the other blocks too and recount the damage. */
int kymo__reader_verify(struct kymo_reader *reader);

/* Record that RUN is damaged. */
void kymo__reader_damaged(struct kymo_reader *reader, struct kymo_run *run);

/* Return string ID, "" if there is none; valid until the reader is closed. */
const char *kymo__reader_string(const struct kymo_reader *reader, uint32_t id);

#endif
