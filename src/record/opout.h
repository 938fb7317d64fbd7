/* opout.h — bytes of an operator's note, as kymo_payload_uint and its like write them, but with the
   position in a register: for the recording path. */
#ifndef KYMO_OPOUT_H
#define KYMO_OPOUT_H

#include <kymo/payload.h>
#include <stdbool.h>
#include <string.h>

struct out {
    unsigned char *at, *end;
    bool over; /* a value did not fit */
};

enum { VARINT_MOST = 10 };

/* Write VALUE, which takes three bytes or more, at AT, where there is room for VARINT_MOST. Returns
   the end. */
KYMO_INLINE unsigned char *out_long(unsigned char *at, uint64_t value)
{
    if (__builtin_expect(value >> 56 != 0, 0)) {
        while (value >= 0x80) {
            *at++ = (unsigned char)(value | 0x80);
            value >>= 7;
        }
        *at++ = (unsigned char)value;
        return at;
    }
    /* Eight groups of seven bits become eight bytes; all but the last one used get their top bit. */
    unsigned count = (unsigned)(64 - __builtin_clzll(value) + 6) / 7;
    value = (value & 0x000000000fffffff) | (value & 0x00fffffff0000000) << 4;
    value = (value & 0x00003fff00003fff) | (value & 0x0fffc0000fffc000) << 2;
    value = (value & 0x007f007f007f007f) | (value & 0x3f803f803f803f80) << 1;
    value |= 0x8080808080808080 & ((UINT64_C(1) << (8 * (count - 1))) - 1);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    memcpy(at, &value, sizeof(value));
    return at + count;
}

KYMO_INLINE void out_uint(struct out *o, uint64_t value)
{
    if (__builtin_expect(o->end - o->at < VARINT_MOST, 0)) {
        o->over = true;
    } else if (value < 0x80) {
        *o->at++ = (unsigned char)value;
    } else if (value < 0x4000) {
        *o->at++ = (unsigned char)(value | 0x80);
        *o->at++ = (unsigned char)(value >> 7);
    } else {
        o->at = out_long(o->at, value);
    }
}

KYMO_INLINE void out_int(struct out *o, int64_t value)
{
    out_uint(o, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

KYMO_INLINE void out_bytes(struct out *o, const void *bytes, size_t length)
{
    if (o->over || (size_t)(o->end - o->at) < length) {
        o->over = true;
        return;
    }
    memcpy(o->at, bytes, length);
    o->at += length;
}

/* Continue PAYLOAD with O, and the other way round. */
KYMO_INLINE struct out out_begin(const struct kymo_payload *p)
{
    return (struct out){.at = p->bytes + p->used, .end = p->bytes + p->size};
}

KYMO_INLINE void out_end(const struct out *o, struct kymo_payload *p)
{
    p->used = (uint32_t)(o->at - p->bytes);
    p->over |= o->over;
}

#endif
