/* format.h — the bytes of a capture, told in full; docs/internals/trace-format.md
   gives the reasons and a reader's algorithm.

   A capture is one append-only file of little-endian bytes:

       file header            128 bytes
       block, block, …        each 64 bytes of header, then its payload, then zeros
                              to a multiple of 8
       index blocks, footer   only when recording stopped cleanly

   Beside it, while recording and after a kill, lies the live file (PATH.live): the
   chunks of memory into which threads are recording, mapped shared, so that what a
   thread has stored is the kernel's to keep whatever happens to the process. A block
   says which chunks it holds; a chunk that is in the capture already is ignored in
   the live file.

       live header           4096 bytes
       pending gaps           one entry per recording thread
       chunk, chunk, …        each KYMO__CHUNK_BYTES, 64 bytes of header first

   A flight recorder writes, when it is asked to, what a chunk holds so far, and the rest
   with a later block or never: a chunk may be in several blocks, a part in each.

   In a chunk of records every record is 16 bytes: the tick and a word,

       word = kind (8 bits) << 56 | detail (8 bits) << 48 | key (32 bits)

   The word is never zero, it is stored after the tick, and chunks are zeroed before
   use: the first record with a zero word is the end. Some kinds are followed by a
   VALUE record whose first half is a 64-bit value.

   Definitions (strings, keys, threads, clock snapshots, gaps: defs.h) are one stream
   of bytes. Its unwritten end lies in the live file's one chunk of that type; a block
   of definitions says in `first_chunk` at which byte of the stream it begins, and the
   chunk says the same in `number`.

   In a block of records the same stands as two columns, compressed together: the
   tokens and the times. Times are varints of the difference to the record before.
   Tokens are varints whose low three bits are a code (enum kymo_token). */
#ifndef KYMO_FORMAT_H
#define KYMO_FORMAT_H

#include <assert.h>
#include <kymo/lane.h>
#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "captures are little-endian; this machine would need byte swapping here"
#endif

#define KYMO__MAJOR 1 /* a reader refuses a greater one */
#define KYMO__MINOR 3 /* a reader skips what it does not know of a greater one */

/* Like PNG's: not text, and damaged by transfers that touch line ends. */
#define KYMO__FILE_MAGIC "\x89KYMO\r\n\x1a"
#define KYMO__LIVE_MAGIC "\x89KYLV\r\n\x1a"
#define KYMO__FOOTER_MAGIC "KYMOEND\n"
#define KYMO__BLOCK_MAGIC 0x4b42594bu /* "KYBK" */

struct kymo_file_header {
    char magic[8];
    uint16_t major, minor;
    uint32_t header_bytes; /* 128 */
    uint8_t capture[16];   /* random: names this capture, and its live file */
    uint32_t pid;
    uint32_t clock;         /* enum kymo_clock */
    uint64_t process_start; /* field 22 of /proc/PID/stat: tells a reused pid */
    uint8_t boot[16];       /* boot id: tells another boot or machine */
    uint64_t ticks_rate;    /* ticks per second as stated or measured at the start; 0 unknown */
    uint64_t ticks;         /* the first clock snapshot */
    int64_t monotonic, wall;
    uint8_t reserved[28];
    uint32_t crc; /* CRC-32C of the bytes before */
};
static_assert(sizeof(struct kymo_file_header) == 128, "the file header is 128 bytes");

enum kymo_block_type {
    KYMO__BLOCK_RECORDS = 1, /* chunks of one thread */
    KYMO__BLOCK_DEFS = 2,    /* definitions, see defs.h */
    KYMO__BLOCK_INDEX = 3,   /* entries of struct kymo_index_entry */
    KYMO__BLOCK_COPY = 4,    /* a second copy of a DEFS block, for when that is damaged */
};

#define KYMO__NO_THREAD 0xffffffffu

struct kymo_block_header {
    uint32_t magic;
    uint32_t crc; /* CRC-32C of the 56 bytes that follow */
    uint8_t type; /* a reader skips types it does not know */
    uint8_t reserved0[3];
    uint32_t stored_bytes;            /* of payload: one zstd frame with its checksum */
    uint32_t encoded_bytes;           /* of payload when decompressed */
    uint32_t records;                 /* events: values are part of the record before */
    uint32_t thread;                  /* index, or KYMO__NO_THREAD */
    uint32_t chunks;                  /* how many chunks, with numbers from first_chunk on */
    uint64_t first_chunk;             /* definitions: position in their stream */
    uint64_t first_ticks, last_ticks; /* least and greatest in it */
    uint32_t token_bytes;             /* of encoded_bytes; the times follow. Records only */
    uint32_t skipped; /* events at the beginning of first_chunk that are not in this block */
};
static_assert(sizeof(struct kymo_block_header) == 64, "a block header is 64 bytes");

/* A block of the file as its index has it. */
struct kymo_index_entry {
    uint64_t offset;
    struct kymo_block_header header;
};
static_assert(sizeof(struct kymo_index_entry) == 72, "an index entry is 72 bytes");

#define KYMO__INDEX_ENTRIES 4096u /* in one index block at most */

struct kymo_footer {
    char magic[8];
    uint64_t index_offset; /* of the first index block; they follow one another */
    uint32_t index_blocks;
    int32_t error; /* negative errno of the first write that failed, or 0 */
    uint32_t reserved;
    uint32_t crc; /* CRC-32C of the bytes before */
};
static_assert(sizeof(struct kymo_footer) == 32, "the footer is 32 bytes");

/* One payload is bounded so that a reader's memory is: at most this many chunks. */
#define KYMO__CHUNK_BYTES 65536u
#define KYMO__CHUNK_RECORDS ((KYMO__CHUNK_BYTES - 64u) / 16u)
#define KYMO__BLOCK_CHUNKS 16u
/* Room one record may take in either column, a BACK before it included. */
#define KYMO__TOKEN_MAX 24u
#define KYMO__TIME_MAX 20u
#define KYMO__BLOCK_RECORDS_MAX (KYMO__BLOCK_CHUNKS * KYMO__CHUNK_RECORDS)
#define KYMO__BLOCK_BYTES_MAX (KYMO__BLOCK_RECORDS_MAX * (KYMO__TOKEN_MAX + KYMO__TIME_MAX))

static_assert(sizeof(struct kymo_record) == 16, "a record is 16 bytes");

/* Kinds beyond enum kymo_kind, in records only. */
enum {
    KYMO__VALUE = 64, /* `ticks` is a 64-bit value that belongs to the record before */
};

static inline unsigned kymo__word_kind(uint64_t word)
{
    return (unsigned)(word >> 56);
}

/* Is a record of KIND followed by one of kind VALUE? Those of kind enter say it themselves. */
static inline bool kymo__kind_has_value(unsigned kind)
{
    return kind == KYMO_COUNTER || kind == KYMO_FLOW_OUT || kind == KYMO_FLOW_IN ||
           kind == KYMO_ASYNC_BEGIN || kind == KYMO_ASYNC_END || kind == KYMO_COMPLETE ||
           kind == KYMO_ARG || kind == KYMO_OFF || kind == KYMO_RESYNC || kind == KYMO_SAMPLE ||
           kind == KYMO_ARG_TEXT;
}

static inline unsigned kymo__word_detail(uint64_t word)
{
    return (unsigned)(word >> 48) & 0xff;
}

static inline uint32_t kymo__word_key(uint64_t word)
{
    return (uint32_t)word;
}

/* The low three bits of a token; what the rest of it is, and what follows it. */
enum kymo_token {
    KYMO__T_ENTER = 0,        /* key; detail 0 */
    KYMO__T_LEAVE = 1,        /* detail; the key is that of the innermost open enter */
    KYMO__T_ENTER_DETAIL = 2, /* key; then detail */
    KYMO__T_LEAVE_KEY = 3,    /* key; then detail */
    KYMO__T_OTHER = 4,        /* kind; then detail, then key */
    KYMO__T_VALUE = 5,        /* 0; then the value as a varint. No time */
    KYMO__T_DOUBLE = 6,       /* zigzag of an integer; the value is it as a double. No time */
    KYMO__T_BACK = 7,         /* 0; its time is subtracted: the next record is earlier */
};

/* ---- the live file ---- */

struct kymo_live_header {
    char magic[8];
    uint16_t major, minor;
    uint32_t header_bytes; /* 4096 */
    uint8_t capture[16];   /* as in the file header */
    uint32_t chunk_bytes, chunks;
    uint32_t gap_slots;
    int32_t error;       /* negative errno of the first write that failed, or 0 */
    uint64_t gap_offset; /* where the gap slots begin */
    uint64_t chunk_offset;
    uint32_t stopped;      /* 1: recording is over, and this is what could not be written */
    uint32_t flight;       /* 1: the recorder is a flight recorder */
    uint64_t ring_records; /* which keeps this many in other memory */
};

/* What a thread has given up and not yet been able to record as a gap. */
struct kymo_gap_slot {
    uint32_t thread; /* index + 1; 0: free */
    uint32_t reason; /* enum kymo_gap */
    uint64_t count;
    uint64_t first_ticks, last_ticks;
};

enum kymo_chunk_state {
    KYMO__CHUNK_FREE = 0,
    KYMO__CHUNK_OPEN = 1, /* a thread records into it */
    KYMO__CHUNK_FULL = 2, /* waits to be written */
};

struct kymo_chunk {
    uint32_t state;  /* enum kymo_chunk_state */
    uint32_t type;   /* enum kymo_block_type: records or definitions */
    uint32_t thread; /* index, or KYMO__NO_THREAD */
    uint32_t used;   /* bytes of definitions; records tell their end themselves */
    uint64_t number; /* of this thread's chunks, from 0; definitions: stream position */
    uint32_t next;   /* recorder only: links chunks in a stack, index + 1 */
    uint32_t passed; /* records at its beginning that a flight recorder wrote or let expire */
    uint8_t reserved[32];
    struct kymo_record records[KYMO__CHUNK_RECORDS];
};
static_assert(sizeof(struct kymo_chunk) == KYMO__CHUNK_BYTES, "a chunk fills its place");
static_assert(offsetof(struct kymo_chunk, records) == 64, "64 bytes before the records");

#endif
