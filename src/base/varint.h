/* varint.h — integers in as few bytes as they need: seven bits a byte, low bits
   first, the top bit set on every byte but the last. At most ten bytes for 64 bits. */
#ifndef KYMO_VARINT_H
#define KYMO_VARINT_H

#include <stddef.h>
#include <stdint.h>

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

/* Read into *V from AT, not beyond END; returns the byte after it, or NULL when the
   bytes end too early or say more than 64 bits. */
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

/* Signed numbers of either sign but small size become small unsigned ones. */
static inline uint64_t kymo__zigzag(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t kymo__unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
