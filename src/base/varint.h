/* varint.h — integers in as few bytes as they need: seven bits a byte, low bits
   first, the top bit set on every byte but the last. At most ten bytes for 64 bits. */
#ifndef KYMO_VARINT_H
#define KYMO_VARINT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KYMO__VARINT_MAX 10

/* Write V at OUT, which has room for KYMO__VARINT_MAX; returns the byte after it. */
static inline uint8_t *kymo__varint_put(uint8_t *out, uint64_t v)
{
    while (v >= 0x80) {
        *out++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *out++ = (uint8_t)v;
    return out;
}

/* Read *V at AT, up to END. Returns the byte after it, or NULL if it is incomplete or exceeds 64
   bits. */
static inline const uint8_t *kymo__varint_get(const uint8_t *at, const uint8_t *end, uint64_t *v)
{
    uint64_t value = 0;
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
        uint8_t byte = *at++;
        if (shift == 63 && byte > 1)
            return NULL;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *v = value;
            return at;
        }
    }
    return NULL;
}

/* The functions below do the same without a loop, for numbers of unpredictable size up to 56 bits.
   Both machines store the low byte first. */

/* Spread V, below 2^56, into a varint in a word; *BYTES is its length. */
static inline uint64_t kymo__varint_spread(uint64_t v, unsigned *bytes)
{
    unsigned count = (70 - (unsigned)__builtin_clzll(v | 1)) / 7;
    *bytes = count;
    v = (v & 0xfffffff) | (v & UINT64_C(0xfffffff0000000)) << 4;
    v = (v & UINT64_C(0x3fff00003fff)) | (v & UINT64_C(0xfffc0000fffc000)) << 2;
    v = (v & UINT64_C(0x7f007f007f007f)) | (v & UINT64_C(0x3f803f803f803f80)) << 1;
    return v | (UINT64_C(0x80808080808080) & ((UINT64_C(1) << 8 * (count - 1)) - 1));
}

/* Without a branch for short ones, for sizes that cannot be predicted. Eight bytes from OUT can be
   written, or from AT read. */
static inline uint8_t *kymo__varint_put_even(uint8_t *out, uint64_t v)
{
    unsigned bytes;
    if (__builtin_expect(v >> 56 != 0, 0))
        return kymo__varint_put(out, v);
    v = kymo__varint_spread(v, &bytes);
    memcpy(out, &v, sizeof(v));
    return out + bytes;
}

static inline const uint8_t *kymo__varint_get_even(const uint8_t *at, const uint8_t *end,
                                                   uint64_t *v)
{
    uint64_t word, last;
    memcpy(&word, at, sizeof(word));
    last = ~word & UINT64_C(0x8080808080808080); /* the lowest bit set is that of the last byte */
    if (!last)
        return kymo__varint_get(at, end, v);
    word &= last ^ (last - 1);
    word = (word & UINT64_C(0x7f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
    word = (word & UINT64_C(0x3fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
    *v = (word & 0xfffffff) | (word & UINT64_C(0xfffffff00000000)) >> 4;
    return at + __builtin_ctzll(last) / 8 + 1;
}

static inline const uint8_t *kymo__varint_get_wide(const uint8_t *at, const uint8_t *end,
                                                   uint64_t *v)
{
    if (at < end && at[0] < 0x80) {
        *v = at[0];
        return at + 1;
    }
    if (end - at < (ptrdiff_t)sizeof(*v))
        return kymo__varint_get(at, end, v);
    return kymo__varint_get_even(at, end, v);
}

/* Map signed numbers of small magnitude to small unsigned ones. */
static inline uint64_t kymo__zigzag(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t kymo__unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
