/* bytes.h — read numbers from untrusted bytes.

   A cursor never leaves its bytes: reading past them returns zero, moves to the end and sets bad,
   so a caller can read a whole record and check once. Numbers are little-endian. */
#ifndef KYMO_BYTES_H
#define KYMO_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Borrowed bytes, such as a section. */
struct kymo_view {
    const uint8_t *at;
    size_t len;
};

struct kymo_bytes {
    const uint8_t *at, *end;
    bool bad;
};

/* A cursor at OFFSET of VIEW; a bad one if the offset is out of range. */
static inline struct kymo_bytes kymo__bytes(struct kymo_view view, uint64_t offset)
{
    if (offset > view.len)
        return (struct kymo_bytes){.bad = true};
    /* An empty view may have a null address, to which nothing may be added. */
    if (view.len == 0)
        return (struct kymo_bytes){0};
    return (struct kymo_bytes){.at = view.at + offset, .end = view.at + view.len};
}

/* The same up to END only. */
static inline struct kymo_bytes kymo__bytes_part(struct kymo_view view, uint64_t offset,
                                                 uint64_t end)
{
    if (end > view.len)
        return (struct kymo_bytes){.bad = true};
    view.len = (size_t)end;
    return kymo__bytes(view, offset);
}

static inline size_t kymo__bytes_left(const struct kymo_bytes *bytes)
{
    return (size_t)(bytes->end - bytes->at);
}

static inline void kymo__bytes_skip(struct kymo_bytes *bytes, uint64_t count)
{
    if (count > kymo__bytes_left(bytes)) {
        bytes->at = bytes->end;
        bytes->bad = true;
    } else if (count) {
        bytes->at += count;
    }
}

/* An unsigned number of SIZE bytes, at most 8. */
static inline uint64_t kymo__bytes_number(struct kymo_bytes *bytes, unsigned size)
{
    uint64_t v = 0;
    if (size > kymo__bytes_left(bytes)) {
        bytes->at = bytes->end;
        bytes->bad = true;
        return 0;
    }
    for (unsigned i = 0; i < size; i++)
        v |= (uint64_t)bytes->at[i] << (8 * i);
    bytes->at += size;
    return v;
}

/* A two's complement number of SIZE bytes, at most 8. */
static inline int64_t kymo__bytes_signed(struct kymo_bytes *bytes, unsigned size)
{
    unsigned spare = size ? 64 - 8 * size : 0;
    return (int64_t)(kymo__bytes_number(bytes, size) << spare) >> spare;
}

/* The next COUNT bytes as a separate cursor; a bad one if there are fewer. */
static inline struct kymo_bytes kymo__bytes_take(struct kymo_bytes *bytes, uint64_t count)
{
    struct kymo_bytes taken = {.at = bytes->at, .end = bytes->at};
    kymo__bytes_skip(bytes, count);
    if (bytes->bad)
        taken.bad = true;
    else
        taken.end = bytes->at;
    return taken;
}

static inline uint8_t kymo__bytes_u8(struct kymo_bytes *bytes)
{
    if (bytes->at >= bytes->end) {
        bytes->bad = true;
        return 0;
    }
    return *bytes->at++;
}

static inline uint16_t kymo__bytes_u16(struct kymo_bytes *bytes)
{
    return (uint16_t)kymo__bytes_number(bytes, 2);
}

static inline uint32_t kymo__bytes_u32(struct kymo_bytes *bytes)
{
    return (uint32_t)kymo__bytes_number(bytes, 4);
}

static inline uint64_t kymo__bytes_u64(struct kymo_bytes *bytes)
{
    return kymo__bytes_number(bytes, 8);
}

/* LEB128. Bits beyond the 64th are dropped, as other readers do. */
static inline uint64_t kymo__bytes_uleb(struct kymo_bytes *bytes)
{
    uint64_t v = 0;
    unsigned shift = 0;
    while (bytes->at < bytes->end) {
        uint8_t byte = *bytes->at++;
        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte < 0x80)
            return v;
    }
    bytes->bad = true;
    return 0;
}

static inline int64_t kymo__bytes_sleb(struct kymo_bytes *bytes)
{
    uint64_t v = 0;
    unsigned shift = 0;
    while (bytes->at < bytes->end) {
        uint8_t byte = *bytes->at++;
        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte < 0x80) {
            if ((byte & 0x40) && shift < 64)
                v |= ~UINT64_C(0) << shift;
            return (int64_t)v;
        }
    }
    bytes->bad = true;
    return 0;
}

/* A zero-terminated text; NULL if it is not terminated. */
static inline const char *kymo__bytes_text(struct kymo_bytes *bytes)
{
    size_t left = kymo__bytes_left(bytes);
    const uint8_t *zero = left ? memchr(bytes->at, 0, left) : NULL;
    const uint8_t *text = bytes->at;
    if (!zero) {
        bytes->at = bytes->end;
        bytes->bad = true;
        return NULL;
    }
    bytes->at = zero + 1;
    return (const char *)text;
}

/* The text at OFFSET of VIEW, or NULL. */
static inline const char *kymo__view_text(struct kymo_view view, uint64_t offset)
{
    struct kymo_bytes bytes = kymo__bytes(view, offset);
    return kymo__bytes_text(&bytes);
}

#endif
