/* scan.c — see scan.h. */
#include "scan.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "crc32c.h"
#include "file.h"

static bool fits(const struct kymo_reader *r, uint64_t offset, const struct kymo_block_header *h)
{
    return kymo__block_valid(h) && offset <= r->file_bytes &&
           sizeof(*h) + h->stored_bytes <= r->file_bytes - offset;
}

int kymo__scan_header(struct kymo_reader *r, uint64_t offset, struct kymo_block_header *header)
{
    if (offset >= r->file_bytes)
        return 0;
    ssize_t n = kymo__file_read(r->fd, header, sizeof(*header), offset);
    if (n < 0)
        return (int)n;
    return n == (ssize_t)sizeof(*header) && fits(r, offset, header);
}

/* Read the payload of HEADER as it is in the file. */
static int read_stored(struct kymo_reader *r, int fd, uint64_t offset,
                       const struct kymo_block_header *header)
{
    r->stored.len = 0;
    int rc = kymo__buffer_reserve(&r->stored, header->stored_bytes);
    if (rc < 0)
        return rc;
    ssize_t n =
        kymo__file_read(fd, r->stored.bytes, header->stored_bytes, offset + sizeof(*header));
    if (n < 0)
        return (int)n;
    return n == (ssize_t)header->stored_bytes ? 0 : KYMO_EBLOCK;
}

int kymo__scan_stored(struct kymo_reader *r, int fd, uint64_t offset,
                      const struct kymo_block_header *header, struct kymo_buffer *out)
{
    int rc = read_stored(r, fd, offset, header);
    return rc < 0 ? rc : kymo__unpack(r->unpacker, header, r->stored.bytes, out);
}

int kymo__scan_tokens(struct kymo_reader *r, uint64_t offset,
                      const struct kymo_block_header *header, struct kymo_buffer *out)
{
    int rc = read_stored(r, r->fd, offset, header);
    return rc < 0
               ? rc
               : kymo__unpack_begin(r->unpacker, header, r->stored.bytes, header->token_bytes, out);
}

int kymo__scan_payload_from(struct kymo_reader *r, int fd, uint64_t offset,
                            const struct kymo_block_header *header, struct kymo_buffer *out)
{
    struct kymo_block_header again;
    ssize_t n = kymo__file_read(fd, &again, sizeof(again), offset);
    if (n < 0)
        return (int)n;
    /* The index may list a block as fine whose own header is damaged. */
    if (n != (ssize_t)sizeof(again) || memcmp(&again, header, sizeof(again)) != 0)
        return KYMO_EBLOCK;
    return kymo__scan_stored(r, fd, offset, header, out);
}

int kymo__scan_payload(struct kymo_reader *r, uint64_t offset,
                       const struct kymo_block_header *header, struct kymo_buffer *out)
{
    return kymo__scan_payload_from(r, r->fd, offset, header, out);
}

/* Fill *FOOTER if the file ends in one; otherwise leave it alone. */
static bool read_footer(struct kymo_reader *r, struct kymo_footer *footer)
{
    struct kymo_footer last;
    if (r->file_bytes < sizeof(struct kymo_file_header) + sizeof(last))
        return false;
    ssize_t n = kymo__file_read(r->fd, &last, sizeof(last), r->file_bytes - sizeof(last));
    if (n != (ssize_t)sizeof(last) ||
        memcmp(last.magic, KYMO__FOOTER_MAGIC, sizeof(last.magic)) != 0 ||
        last.crc != kymo__crc32c(&last, offsetof(struct kymo_footer, crc)))
        return false;
    *footer = last;
    return true;
}

/* Report the blocks that PART of the index lists. */
static int report_entries(struct kymo_reader *r, const struct kymo_buffer *part,
                          kymo_found_fn *found, void *arg)
{
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < part->len; at += sizeof(struct kymo_index_entry)) {
        struct kymo_index_entry entry;
        memcpy(&entry, part->bytes + at, sizeof(entry));
        if (fits(r, entry.offset, &entry.header))
            rc = found(arg, entry.offset, &entry.header);
        else
            r->damaged_blocks++;
    }
    return rc;
}

/* Read the index and report its blocks, or only check it if FOUND is NULL. Returns -ENOENT if it
   cannot be used. */
static int read_index(struct kymo_reader *r, const struct kymo_footer *footer, kymo_found_fn *found,
                      void *arg)
{
    struct kymo_buffer part = {0};
    uint64_t offset = footer->index_offset, bytes = 0;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < footer->index_blocks; i++) {
        struct kymo_block_header header = {0};
        rc = kymo__scan_header(r, offset, &header);
        rc = rc < 0 ? rc : rc && header.type == KYMO__BLOCK_INDEX ? 0 : -ENOENT;
        if (rc == 0)
            rc = kymo__scan_payload(r, offset, &header, &part);
        rc = rc == KYMO_EBLOCK ? -ENOENT : rc;
        /* A block is longer than its entry, so an index is never longer than its file. */
        bytes += part.len;
        if (rc == 0 && (part.len % sizeof(struct kymo_index_entry) || bytes > r->file_bytes))
            rc = -ENOENT;
        if (rc == 0 && found)
            rc = report_entries(r, &part, found, arg);
        offset += kymo__block_bytes(&header);
    }
    kymo__buffer_fini(&part);
    return rc;
}

int kymo__scan_index(struct kymo_reader *reader, struct kymo_footer *footer, kymo_found_fn *found,
                     void *arg)
{
    /* All of it is checked before any of it is used, so that a damaged index is not half trusted. It
       is read twice instead of kept: it may be longer than everything that is made from it. */
    int rc = read_footer(reader, footer) ? read_index(reader, footer, NULL, NULL) : -ENOENT;
    if (rc < 0)
        return rc;
    rc = read_index(reader, footer, found, arg);
    return rc == -ENOENT ? -EIO : rc;
}

/* Return the next offset at or after FROM where a complete block starts, or the end. Blocks are
   aligned to 8 bytes. */
static int64_t next_block(struct kymo_reader *r, uint64_t from)
{
    enum { WINDOW = 1 << 16 };
    uint8_t *window = kymo__alloc(WINDOW);
    if (!window)
        return -ENOMEM;
    int64_t result = (int64_t)r->file_bytes;
    for (uint64_t at = from; at < r->file_bytes;) {
        ssize_t n = kymo__file_read(r->fd, window, WINDOW, at);
        if (n < 0) {
            result = n;
            break;
        }
        struct kymo_block_header header = {0};
        ssize_t i = 0;
        for (; i + (ssize_t)sizeof(header) <= n; i += 8) {
            memcpy(&header, window + i, sizeof(header));
            if (header.magic == KYMO__BLOCK_MAGIC && fits(r, at + (uint64_t)i, &header))
                break;
        }
        if (i + (ssize_t)sizeof(header) <= n) {
            result = (int64_t)at + i;
            break;
        }
        if (n < WINDOW)
            break;
        at += (uint64_t)i;
    }
    kymo__free(window);
    return result;
}

int kymo__scan_blocks(struct kymo_reader *reader, uint64_t *offset, kymo_found_fn *found, void *arg)
{
    struct kymo_footer footer;
    uint64_t end = reader->file_bytes - (read_footer(reader, &footer) ? sizeof(footer) : 0);
    while (*offset < end) {
        struct kymo_block_header header = {0};
        int rc = kymo__scan_header(reader, *offset, &header);
        if (rc < 0)
            return rc;
        if (rc) {
            rc = found(arg, *offset, &header);
            if (rc < 0)
                return rc;
            *offset += kymo__block_bytes(&header);
            continue;
        }
        int64_t next = next_block(reader, *offset);
        if (next < 0)
            return (int)next;
        /* The block being written, now or when it was killed: then its chunks are in the live file. */
        const bool begun = end - *offset < sizeof(header) || kymo__block_valid(&header);
        if ((uint64_t)next >= end && (reader->running || (reader->killed && begun)))
            return 0;
        reader->damaged_bytes += ((uint64_t)next > end ? end : (uint64_t)next) - *offset;
        reader->damaged_blocks++;
        *offset = (uint64_t)next;
    }
    return 0;
}
