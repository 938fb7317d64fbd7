/* block.h — pack, check and unpack one block of the file. */
#ifndef KYMO_BLOCK_H
#define KYMO_BLOCK_H

#include "buffer.h"
#include "encode.h"

/* Everything needed to make blocks; created once, used by one thread at a time. */
struct kymo_packer;

/* Create one that compresses at zstd LEVEL, or return NULL if memory is short. It allocates
   everything it will ever need here, except for zstd, which a block of more than a kilobyte needs. */
struct kymo_packer *kymo__packer_new(int level);

/* The same for bytes only (kymo__pack_bytes): it has no memory for records. */
struct kymo_packer *kymo__packer_new_bytes(int level);
void kymo__packer_free(struct kymo_packer *packer);

/* Give PACKER the schemas of payloads. Without them, payloads are left out. PLANS is borrowed. */
void kymo__packer_plans(struct kymo_packer *packer, const struct kymo_plans *plans);

/* A finished block: header, payload, padding. Valid until the packer's next use. */
struct kymo_packed {
    const uint8_t *bytes;
    size_t len;
    const struct kymo_block_header *header; /* at its beginning */
};

/* Pack COUNT chunks of records of one thread with consecutive numbers, at most KYMO__BLOCK_CHUNKS.
   Records already passed are left out of the first; the others have none. Returns 0, -ENOMEM, or
   -EIO if zstd fails. */
int kymo__pack_chunks(struct kymo_packer *packer, struct kymo_chunk *const *chunks, size_t count,
                      struct kymo_packed *packed);

/* Pack the records of CHUNK before END that were not passed. */
int kymo__pack_part(struct kymo_packer *packer, const struct kymo_chunk *chunk, size_t end,
                    struct kymo_packed *packed);

/* Consecutive records of one track, in a chunk. */
struct kymo_track_part {
    uint32_t thread;
    uint32_t count;  /* number of records, including those that follow events */
    uint64_t before; /* events that the track had before */
    const struct kymo_record *records;
};

/* Pack COUNT parts of one track, in the order of `before`, as a block of type TRACK. Each must
   start where the previous one ends, and the records must fit in a block. */
int kymo__pack_track(struct kymo_packer *packer, const struct kymo_track_part *parts, size_t count,
                     struct kymo_packed *packed);

/* Pack LEN bytes as a block of TYPE whose first_chunk is POSITION; at most
   KYMO__PACK_BYTES. */
#define KYMO__PACK_BYTES (KYMO__INDEX_ENTRIES * sizeof(struct kymo_index_entry))
int kymo__pack_bytes(struct kymo_packer *packer, int type, uint64_t position, const void *bytes,
                     size_t len, struct kymo_packed *packed);

/* Pack LEN bytes, at most KYMO__PACK_BYTES, as the summary of the records that header ABOUT
   describes. */
int kymo__pack_summary(struct kymo_packer *packer, const struct kymo_block_header *about,
                       const void *bytes, size_t len, struct kymo_packed *packed);

/* Size of the block in the file, including padding. */
static inline uint64_t kymo__block_bytes(const struct kymo_block_header *header)
{
    return (sizeof(*header) + (uint64_t)header->stored_bytes + 7) & ~(uint64_t)7;
}

/* Store the checksum in HEADER. */
void kymo__block_seal(struct kymo_block_header *header);

/* Is HEADER valid: magic, checksum, and sizes that a writer may have written? */
bool kymo__block_valid(const struct kymo_block_header *header);

/* Decompresses payloads; used by one thread at a time. */
struct kymo_unpacker;
struct kymo_unpacker *kymo__unpacker_new(void);
void kymo__unpacker_free(struct kymo_unpacker *unpacker);

/* Decompress STORED, the payload of HEADER, into OUT (its content is replaced).
   Returns 0, -ENOMEM, or KYMO_EBLOCK when it is damaged. */
int kymo__unpack(struct kymo_unpacker *unpacker, const struct kymo_block_header *header,
                 const void *stored, struct kymo_buffer *out);

/* The same for its first MOST bytes only, which takes less time. Their checksum is not compared, so they
   may be anything if the block is damaged. */
int kymo__unpack_begin(struct kymo_unpacker *unpacker, const struct kymo_block_header *header,
                       const void *stored, size_t most, struct kymo_buffer *out);

#endif
