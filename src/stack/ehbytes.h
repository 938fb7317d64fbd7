/* ehbytes.h — numbers out of .eh_frame, from a piece of memory whose end is known.

   Reading past the end gives zeros and leaves a mark, so that it is enough to ask once, after
   a group of reads. */
#ifndef KYMO_EHBYTES_H
#define KYMO_EHBYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct kymo_bytes {
    const uint8_t *at, *end;
    bool bad;
};

static inline uint64_t kymo__bytes_fixed(struct kymo_bytes *b, size_t size)
{
    uint64_t value = 0;
    if ((size_t)(b->end - b->at) < size) {
        b->bad = true;
        b->at = b->end;
        return 0;
    }
    memcpy(&value, b->at, size); /* the machines we know are little-endian */
    b->at += size;
    return value;
}

static inline uint8_t kymo__bytes_u8(struct kymo_bytes *b)
{
    return (uint8_t)kymo__bytes_fixed(b, 1);
}

/* A two's complement number of SIZE bytes. */
static inline int64_t kymo__bytes_signed(struct kymo_bytes *b, size_t size)
{
    unsigned spare = (unsigned)(64 - 8 * size);
    return (int64_t)(kymo__bytes_fixed(b, size) << spare) >> spare;
}

static inline uint64_t kymo__bytes_uleb(struct kymo_bytes *b)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = kymo__bytes_u8(b);
        value |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128))
            return value;
    }
    b->bad = true;
    return 0;
}

static inline int64_t kymo__bytes_sleb(struct kymo_bytes *b)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
        uint8_t byte = kymo__bytes_u8(b);
        value |= (uint64_t)(byte & 127) << shift;
        shift += 7;
        if (!(byte & 128)) {
            if (byte & 64 && shift < 64)
                value |= ~UINT64_C(0) << shift;
            return (int64_t)value;
        }
    }
    b->bad = true;
    return 0;
}

/* The next SIZE bytes, as a piece of its own. */
static inline struct kymo_bytes kymo__bytes_part(struct kymo_bytes *b, uint64_t size)
{
    struct kymo_bytes part = {b->at, b->at, false};
    if ((uint64_t)(b->end - b->at) < size) {
        b->bad = part.bad = true;
        b->at = b->end;
        return part;
    }
    part.end = b->at += size;
    return part;
}

#endif
