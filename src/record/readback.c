/* readback.c — see readback.h. */
#include "readback.h"

#include <errno.h>

#include "alloc.h"
#include "block.h"
#include "file.h"

enum { BATCH = 1024 }; /* records decoded at a time */

static int prepare_readback(struct kymo_readback *b)
{
    if (!b->unpacker)
        b->unpacker = kymo__unpacker_new();
    if (!b->decoder)
        b->decoder = kymo__alloc_zeroed(sizeof(*b->decoder));
    return b->unpacker && b->decoder ? 0 : -ENOMEM;
}

static int read_stored(struct kymo_readback *b, int fd, const struct kymo_block_header *header,
                       uint64_t offset)
{
    b->stored.len = 0;
    int rc = kymo__buffer_reserve(&b->stored, header->stored_bytes);
    if (rc < 0)
        return rc;
    ssize_t n =
        kymo__file_read(fd, b->stored.bytes, header->stored_bytes, offset + sizeof(*header));
    return n == (ssize_t)header->stored_bytes ? 0 : -EIO;
}

static int decode_all(struct kymo_readback *b, const struct kymo_block_header *header)
{
    kymo__decode_block(b->decoder, header, b->encoded.bytes, b->encoded.len);
    for (;;) {
        /* An array grows by more than one: it may have to twice. */
        while (b->capacity < b->count + BATCH) {
            int rc = kymo__array_grow(&b->records, &b->capacity, b->capacity, sizeof(*b->records));
            if (rc < 0)
                return rc;
        }
        int n = kymo__decode_bare(b->decoder, b->records + b->count, BATCH);
        if (n <= 0)
            return n < 0 || !b->count ? -EIO : 0;
        b->count += (size_t)n;
    }
}

int kymo__readback_block(struct kymo_readback *b, int fd, const struct kymo_block_header *header,
                         uint64_t offset)
{
    b->count = 0;
    int rc = prepare_readback(b);
    if (rc == 0)
        rc = read_stored(b, fd, header, offset);
    if (rc == 0)
        rc = kymo__unpack(b->unpacker, header, b->stored.bytes, &b->encoded);
    return rc < 0 ? rc : decode_all(b, header);
}

void kymo__readback_fini(struct kymo_readback *b)
{
    kymo__unpacker_free(b->unpacker);
    if (b->decoder)
        kymo__decode_fini(b->decoder);
    kymo__free(b->decoder);
    kymo__buffer_fini(&b->stored);
    kymo__buffer_fini(&b->encoded);
    kymo__free(b->records);
}
