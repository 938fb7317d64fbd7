/* block.h — one block of the file: packing it, checking it, unpacking it. */
#ifndef KYMO_BLOCK_H
#define KYMO_BLOCK_H

#include "buffer.h"
#include "encode.h"

/* Everything needed to make blocks; made once, used by one thread at a time. */
struct kymo_packer;

/* One that compresses at zstd LEVEL, or NULL when memory is short. All memory it will
   ever need is taken here. */
struct kymo_packer *kymo__packer_new(int level);
void kymo__packer_free(struct kymo_packer *packer);

/* A finished block: header, payload, padding. Valid until the packer's next use. */
struct kymo_packed {
    const uint8_t *bytes;
    size_t len;
    const struct kymo_block_header *header; /* at its beginning */
};

/* Pack COUNT chunks of records of one thread, of consecutive numbers, at most
   KYMO__BLOCK_CHUNKS. Of the first, records that were passed are left out; the others
   have none. Returns 0, or -EIO should zstd fail. */
int kymo__pack_chunks(struct kymo_packer *packer, struct kymo_chunk *const *chunks, size_t count,
                      struct kymo_packed *packed);

/* Pack those records of CHUNK that come before END and were not passed. */
int kymo__pack_part(struct kymo_packer *packer, const struct kymo_chunk *chunk, size_t end,
                    struct kymo_packed *packed);

/* Pack LEN bytes as a block of TYPE whose first_chunk is POSITION; at most
   KYMO__PACK_BYTES. */
#define KYMO__PACK_BYTES (KYMO__INDEX_ENTRIES * sizeof(struct kymo_index_entry))
int kymo__pack_bytes(struct kymo_packer *packer, int type, uint64_t position, const void *bytes,
                     size_t len, struct kymo_packed *packed);

/* Bytes the block takes in the file, padding included. */
static inline uint64_t kymo__block_bytes(const struct kymo_block_header *header)
{
    return (sizeof(*header) + (uint64_t)header->stored_bytes + 7) & ~(uint64_t)7;
}

/* Put the checksum into HEADER. */
void kymo__block_seal(struct kymo_block_header *header);

/* True when HEADER is one: magic, checksum, and sizes a writer may have written. */
bool kymo__block_valid(const struct kymo_block_header *header);

/* Decompresses payloads; used by one thread at a time. */
struct kymo_unpacker;
struct kymo_unpacker *kymo__unpacker_new(void);
void kymo__unpacker_free(struct kymo_unpacker *unpacker);

/* Decompress STORED, the payload of HEADER, into OUT (its content is replaced).
   Returns 0, -ENOMEM, or -KYMO_EBLOCK when it is damaged. */
int kymo__unpack(struct kymo_unpacker *unpacker, const struct kymo_block_header *header,
                 const void *stored, struct kymo_buffer *out);

#endif
