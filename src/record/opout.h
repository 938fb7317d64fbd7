/* opout.h — bytes of an operator's note, as kymo_payload_uint and its like write them, but with the
   position in a register: for the recording path. */
#ifndef KYMO_OPOUT_H
#define KYMO_OPOUT_H

#include <kymo/payload.h>
#include <stdbool.h>
#include <string.h>

#include "varint.h"

struct out {
    unsigned char *at, *end;
    bool over; /* a value did not fit */
};

/* For at most KYMO__VARINT_MAX bytes, for which there is room. */
KYMO_INLINE void out_uint_within(struct out *o, uint64_t value)
{
    if (value < 0x80) {
        *o->at++ = (unsigned char)value;
    } else if (value < 0x4000) {
        *o->at++ = (unsigned char)(value | 0x80);
        *o->at++ = (unsigned char)(value >> 7);
    } else if (value < UINT64_C(1) << 28) {
        unsigned bytes;
        uint32_t word = (uint32_t)kymo__varint_spread_half(value, &bytes);
        memcpy(o->at, &word, sizeof(word));
        o->at += bytes;
    } else {
        o->at = kymo__varint_put_even(o->at, value);
    }
}

/* The same for a number that is probably an address. */
KYMO_INLINE void out_address_within(struct out *o, uint64_t value)
{
    enum { BYTES = 7 };
    if (__builtin_expect(kymo__varint_is_seven(value), 1)) {
        uint64_t word = kymo__varint_spread_seven(value);
        memcpy(o->at, &word, sizeof(word));
        o->at += BYTES;
    } else {
        out_uint_within(o, value);
    }
}

KYMO_INLINE void out_uint(struct out *o, uint64_t value)
{
    if (__builtin_expect(o->end - o->at < KYMO__VARINT_MAX, 0))
        o->over = true;
    else
        out_uint_within(o, value);
}

KYMO_INLINE void out_int(struct out *o, int64_t value)
{
    out_uint(o, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

/* Is there room for COUNT numbers? */
KYMO_INLINE bool out_fits(const struct out *o, size_t count)
{
    return (size_t)(o->end - o->at) / KYMO__VARINT_MAX >= count;
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
