/* format.h — the exact bytes of a capture; docs/internals/trace-format.md
   gives the reasons and an algorithm for readers.

   A capture is one append-only file of little-endian bytes:

       file header            128 bytes
       block, block, …        each 64 bytes of header, then its payload, then zeros
                              to a multiple of 8
       index blocks, footer   only when recording stopped cleanly

   During recording, and after a kill, the live file (PATH.live) is beside it: the chunks
   of memory that threads record into, mapped shared, so that the kernel keeps what a
   thread has stored whatever happens to the process. A block says which chunks it holds;
   readers ignore a chunk of the live file that is already in the capture.

       live header           4096 bytes
       pending gaps           one entry per recording thread
       chunk, chunk, …        each KYMO__CHUNK_BYTES, 64 bytes of header first

   On request, a flight recorder writes what a chunk holds so far, and the rest in a later
   block or never: a chunk may be spread over several blocks.

   In a chunk of records every record is 16 bytes: the tick and a word,

       word = kind (8 bits) << 56 | detail (8 bits) << 48 | key (32 bits)

   The word is never zero, it is stored after the tick, and chunks are zeroed before
   use: the first record with a zero word marks the end. Some kinds are followed by a
   VALUE record whose first half is a 64-bit value.

   Definitions (strings, keys, threads, clock snapshots, gaps: defs.h) are one stream
   of bytes. Its unwritten end is in the live file's only chunk of that type. The position
   in the stream at which a block of definitions begins is its `first_chunk`; that of the
   chunk is its `number`.

   A block of records stores them as two columns, compressed together: the tokens and
   the times. Times are varints of the difference to the record before. Tokens are varints
   whose low three bits are a code (enum kymo_token). If events have payloads, a third
   column follows, of values (values.h). In a block with events of memory, most of these have
   columns of their own (notes.h).

   In a chunk, a payload follows its PAYLOAD or NOTE as one BYTES record and as many MORE
   records as it needs. BYTES has the schema's number in bits 44 to 55 of its word, and in
   bits 40 to 43 how many payload bytes the last of these records has; its other 13 bytes
   belong to the payload, in memory order. MORE has 15 payload bytes.

   A chunk of tracks holds finished events of many tracks. A TRACK record gives the track
   of the events after it, and how many events that track had before. */
#ifndef KYMO_FORMAT_H
#define KYMO_FORMAT_H

#include <assert.h>
#include <kymo/lane.h>
#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "captures are little-endian; this machine would need byte swapping here"
#endif

#define KYMO__MAJOR 1 /* a reader refuses greater ones */
#define KYMO__MINOR 6 /* a reader skips what it does not know from greater ones */

/* Like PNG's: not text, and damaged by transfers that convert line ends. */
#define KYMO__FILE_MAGIC "\x89KYMO\r\n\x1a"
#define KYMO__LIVE_MAGIC "\x89KYLV\r\n\x1a"
#define KYMO__FOOTER_MAGIC "KYMOEND\n"
#define KYMO__BLOCK_MAGIC 0x4b42594bu /* "KYBK" */

struct kymo_file_header {
    char magic[8];
    uint16_t major, minor;
    uint32_t header_bytes; /* 128 */
    uint8_t capture[16];   /* random: identifies this capture and its live file */
    uint32_t pid;
    uint32_t clock;         /* enum kymo_clock */
    uint64_t process_start; /* field 22 of /proc/PID/stat: detects a reused pid */
    uint8_t boot[16];       /* boot id: detects another boot or machine */
    uint64_t ticks_rate;    /* ticks per second, stated or measured at the start; 0: unknown */
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
    KYMO__BLOCK_TRACK = 6,   /* finished events of one track, like RECORDS, but with times and
                                durations on the track's clock. In the live file: of many tracks */
    KYMO__BLOCK_SUMMARY = 5, /* what is open where blocks of records begin, and what they
                                contain: checkpoint.h, cells.h. Thread, chunks and ticks are
                                those of the blocks */
    KYMO__BLOCK_NOTES = 7,   /* like RECORDS, but notes can have columns of their own: notes.h */
};

/* Does a block of TYPE hold chunks of one thread? */
static inline bool kymo__block_has_chunks(unsigned type)
{
    return type == KYMO__BLOCK_RECORDS || type == KYMO__BLOCK_NOTES;
}

#define KYMO__NO_THREAD 0xffffffffu

struct kymo_block_header {
    uint32_t magic;
    uint32_t crc;                     /* CRC-32C of the 56 bytes that follow */
    uint8_t type;                     /* a reader skips types it does not know */
    uint8_t value_bytes[3];           /* part of encoded_bytes, at the end: the column of values */
    uint32_t stored_bytes;            /* of payload: one zstd frame with its checksum */
    uint32_t encoded_bytes;           /* of payload when decompressed */
    uint32_t records;                 /* events: values belong to the record before */
    uint32_t thread;                  /* index, or KYMO__NO_THREAD */
    uint32_t chunks;                  /* how many chunks, with numbers from first_chunk on */
    uint64_t first_chunk;             /* definitions: position in their stream */
    uint64_t first_ticks, last_ticks; /* smallest and largest in it */
    uint32_t token_bytes;             /* part of encoded_bytes; times and values follow. Records
                                         only */
    uint32_t skipped; /* events at the start of first_chunk that are not in this block */
};
static_assert(sizeof(struct kymo_block_header) == 64, "a block header is 64 bytes");

/* An entry of the index: one block of the file. */
struct kymo_index_entry {
    uint64_t offset;
    struct kymo_block_header header;
};
static_assert(sizeof(struct kymo_index_entry) == 72, "an index entry is 72 bytes");

#define KYMO__INDEX_ENTRIES 4096u /* in one index block at most */

struct kymo_footer {
    char magic[8];
    uint64_t index_offset; /* of the first index block; the others follow it */
    uint32_t index_blocks;
    int32_t error; /* negative errno of the first write that failed, or 0 */
    uint32_t reserved;
    uint32_t crc; /* CRC-32C of the bytes before */
};
static_assert(sizeof(struct kymo_footer) == 32, "the footer is 32 bytes");

/* A block holds at most KYMO__BLOCK_CHUNKS chunks, which limits a reader's memory. */
#define KYMO__CHUNK_BYTES 65536u
#define KYMO__CHUNK_RECORDS ((KYMO__CHUNK_BYTES - 64u) / 16u)
#define KYMO__BLOCK_CHUNKS 16u
/* The most that one record takes in either column, including a BACK before it. Records that
   follow an event take no time; a record of a payload takes at most 44 bytes of values. */
#define KYMO__TOKEN_MAX 24u
#define KYMO__TIME_MAX 20u
#define KYMO__BLOCK_RECORDS_MAX (KYMO__BLOCK_CHUNKS * KYMO__CHUNK_RECORDS)
#define KYMO__BLOCK_BYTES_MAX (KYMO__BLOCK_RECORDS_MAX * (KYMO__TOKEN_MAX + KYMO__TIME_MAX))

static_assert(sizeof(struct kymo_record) == 16, "a record is 16 bytes");

/* Kinds beyond enum kymo_kind, in records only. */
enum {
    KYMO__NOTE = 17,  /* an INSTANT with a PAYLOAD of the same key in one record */
    KYMO__VALUE = 64, /* `ticks` is a 64-bit value that belongs to the record before */
    KYMO__BYTES = 65, /* the payload of the record before begins here, */
    KYMO__MORE = 66,  /* and continues. Neither is in a block */
    KYMO__TRACK = 67, /* key: the thread index of the track whose events follow; `ticks`: how
                         many events it had before. In chunks of tracks only */
};

/* Records of these kinds belong to the one before, and are not events. */
static inline bool kymo__kind_follows(unsigned kind)
{
    return kind >= KYMO__VALUE && kind <= KYMO__TRACK;
}

/* Is a record of KIND followed by a payload? */
static inline bool kymo__kind_has_payload(unsigned kind)
{
    return kind == KYMO_PAYLOAD || kind == KYMO__NOTE;
}

/* Bytes of HEADER's column of values. */
static inline uint32_t kymo__value_bytes(const struct kymo_block_header *header)
{
    return (uint32_t)header->value_bytes[0] | (uint32_t)header->value_bytes[1] << 8 |
           (uint32_t)header->value_bytes[2] << 16;
}

static inline unsigned kymo__word_kind(uint64_t word)
{
    return (unsigned)(word >> 56);
}

/* Is a record of KIND followed by one of kind VALUE? For kind enter, KYMO_HAS_ID in the detail
   says so. */
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

/* The low three bits of a token; the comments give the rest of the token, then what follows it. */
enum kymo_token {
    KYMO__T_ENTER = 0,        /* key; detail 0 */
    KYMO__T_LEAVE = 1,        /* detail; the key is that of the innermost open enter */
    KYMO__T_ENTER_DETAIL = 2, /* key; then detail */
    KYMO__T_LEAVE_KEY = 3,    /* key; then detail */
    KYMO__T_OTHER = 4,        /* kind; then detail, then key */
    KYMO__T_VALUE = 5,        /* 0; then the value as a varint. No time */
    KYMO__T_DOUBLE = 6,       /* zigzag of an integer; the value is that number as a double. No
                                 time */
    KYMO__T_BACK = 7,         /* 0; its time is subtracted: the next record is earlier */
    KYMO__T_NOTE = 7,         /* in blocks of type NOTES: a form, which is not 0. Its time is
                                 elsewhere */
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
    uint32_t stopped;      /* 1: recording has ended, and this is what could not be written */
    uint32_t flight;       /* 1: the recorder is a flight recorder */
    uint64_t ring_records; /* records that a flight recorder keeps in other memory */
};

/* Events that a thread has dropped and not yet recorded as a gap. */
struct kymo_gap_slot {
    uint32_t thread; /* index + 1; 0: free */
    uint32_t reason; /* enum kymo_gap */
    uint64_t count;
    uint64_t first_ticks, last_ticks;
};

enum kymo_chunk_state {
    KYMO__CHUNK_FREE = 0,
    KYMO__CHUNK_OPEN = 1, /* a thread is recording into it */
    KYMO__CHUNK_FULL = 2, /* waiting to be written */
};

struct kymo_chunk {
    uint32_t state;  /* enum kymo_chunk_state */
    uint32_t type;   /* enum kymo_block_type: records or definitions */
    uint32_t thread; /* index, or KYMO__NO_THREAD */
    uint32_t used;   /* bytes of definitions; records mark their end themselves */
    uint64_t number; /* of this thread's chunks, from 0; definitions: stream position */
    uint32_t next;   /* recorder only: links chunks in a stack, index + 1 */
    uint32_t passed; /* records at the start that a flight recorder has written or expired */
    uint8_t reserved[32];
    struct kymo_record records[KYMO__CHUNK_RECORDS];
};
static_assert(sizeof(struct kymo_chunk) == KYMO__CHUNK_BYTES, "a chunk fills its place");
static_assert(offsetof(struct kymo_chunk, records) == 64, "64 bytes before the records");

/* Does something of CLASS (enum kymo_class) begin and end where the program says? It may then outlive
   the call in which it began. */
static inline bool kymo__class_is_marked(unsigned class)
{
    return class == KYMO_CLASS_NAME || class == KYMO_CLASS_OPERATOR;
}

#endif
