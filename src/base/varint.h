/* varint.h — integers in as few bytes as they need: seven bits a byte, low bits
   first, the top bit set on every byte but the last. At most ten bytes for 64 bits. */
#ifndef KYMO_VARINT_H
#define KYMO_VARINT_H

#include <stdbool.h>
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

/* The same for numbers of which most take one or two bytes: without branching on the size, whose
   pattern is too irregular to predict. May touch two bytes. */
static inline uint8_t *kymo__varint_put_short(uint8_t *out, uint64_t v)
{
    if (__builtin_expect(v >= 0x4000, 0))
        return kymo__varint_put(out, v);
    unsigned two = v >= 0x80;
    out[0] = (uint8_t)(v | two << 7);
    out[1] = (uint8_t)(v >> 7);
    return out + 1 + two;
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

/* Move the low 56 bits of V apart, seven into each byte. */
static inline uint64_t kymo__varint_apart(uint64_t v)
{
    v = (v & 0xfffffff) | (v & UINT64_C(0xfffffff0000000)) << 4;
    v = (v & UINT64_C(0x3fff00003fff)) | (v & UINT64_C(0xfffc0000fffc000)) << 2;
    return (v & UINT64_C(0x7f007f007f007f)) | (v & UINT64_C(0x3f803f803f803f80)) << 1;
}

/* How many bytes the varint of V takes. */
static inline unsigned kymo__varint_bytes(uint64_t v)
{
    return (70 - (unsigned)__builtin_clzll(v | 1)) / 7;
}

/* Spread V, below 2^56, into a varint in a word; *BYTES is its length. */
static inline uint64_t kymo__varint_spread(uint64_t v, unsigned *bytes)
{
    unsigned count = kymo__varint_bytes(v);
    *bytes = count;
    return kymo__varint_apart(v) |
           (UINT64_C(0x80808080808080) & ((UINT64_C(1) << 8 * (count - 1)) - 1));
}

/* Does the varint of V take seven bytes, as those of most addresses do? If so, spread it. */
static inline bool kymo__varint_is_seven(uint64_t v)
{
    return v - (UINT64_C(1) << 42) < (UINT64_C(1) << 49) - (UINT64_C(1) << 42);
}

static inline uint64_t kymo__varint_spread_seven(uint64_t v)
{
    return kymo__varint_apart(v) | UINT64_C(0x808080808080);
}

/* Spread V, below 2^28, in fewer steps. */
static inline uint64_t kymo__varint_spread_half(uint64_t v, unsigned *bytes)
{
    uint32_t w = (uint32_t)v;
    unsigned more = (w >= 1u << 7) + (w >= 1u << 14) + (w >= 1u << 21);
    *bytes = 1 + more;
    w = (w & 0x3fff) | (w & 0xfffc000) << 2;
    w = (w & 0x7f007f) | (w & 0x3f803f80) << 1;
    return w | (0x808080u & ((1u << 8 * more) - 1));
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

/* The bits that tell where varints end in WORD, eight bytes of them: the lowest one set is that of
   the last byte of the first. 0: it ends later. */
static inline uint64_t kymo__varint_ends(uint64_t word)
{
    return ~word & UINT64_C(0x8080808080808080);
}

/* The number whose varint WORD begins with, and ENDS as above, not 0. */
static inline uint64_t kymo__varint_squeeze(uint64_t word, uint64_t ends)
{
    word &= ends ^ (ends - 1);
    word = (word & UINT64_C(0x7f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
    word = (word & UINT64_C(0x3fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
    return (word & 0xfffffff) | (word & UINT64_C(0xfffffff00000000)) >> 4;
}

static inline const uint8_t *kymo__varint_get_even(const uint8_t *at, const uint8_t *end,
                                                   uint64_t *v)
{
    uint64_t word, ends;
    memcpy(&word, at, sizeof(word));
    ends = kymo__varint_ends(word);
    if (!ends)
        return kymo__varint_get(at, end, v);
    *v = kymo__varint_squeeze(word, ends);
    return at + __builtin_ctzll(ends) / 8 + 1;
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

/* Return the byte after COUNT numbers at AT, up to END; NULL if one of them is incomplete or exceeds
   64 bits. */
static inline const uint8_t *kymo__varints_skip(const uint8_t *at, const uint8_t *end,
                                                uint64_t count)
{
    uint64_t word, v;
    if (count - 1 < sizeof(word) && end - at >= (ptrdiff_t)sizeof(word)) {
        memcpy(&word, at, sizeof(word)); /* few numbers, mostly of one byte each */
        if (!(word & UINT64_C(0x8080808080808080) >> 8 * (sizeof(word) - count)))
            return at + count;
    }
    while (at && count) {
        if (at < end && *at < 0x80) {
            at++;
            count--;
            continue;
        }
        if (end - at >= (ptrdiff_t)sizeof(word)) {
            memcpy(&word, at, sizeof(word));
            uint64_t ends = kymo__varint_ends(word);
            if (ends) {
                at += __builtin_ctzll(ends) / 8 + 1;
                count--;
                continue;
            }
        }
        at = kymo__varint_get(at, end, &v);
        count--;
    }
    return at;
}

/* The same for COUNT lists of numbers, each after its count. */
static inline const uint8_t *kymo__varint_lists_skip(const uint8_t *at, const uint8_t *end,
                                                     uint64_t count)
{
    while (at && count--) {
        uint64_t inner = 0;
        at = kymo__varint_get_wide(at, end, &inner);
        at = at ? kymo__varints_skip(at, end, inner) : NULL;
    }
    return at;
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
