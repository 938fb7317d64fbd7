/* rawframe.c — see rawframe.h. RFC 8878 describes the frame; its checksum is the lower half of XXH64
   of the content. */
#include "rawframe.h"

#include <stdbool.h>
#include <string.h>

static const uint64_t PRIME[] = {
    0,
    UINT64_C(0x9e3779b185ebca87),
    UINT64_C(0xc2b2ae3d27d4eb4f),
    UINT64_C(0x165667b19e3779f9),
    UINT64_C(0x85ebca77c2b2ae63),
    UINT64_C(0x27d4eb2f165667c5),
};

enum {
    STRIPE = 32, /* bytes that are hashed at a time, in four lanes */
    LANES = STRIPE / 8,
    SINGLE_SEGMENT = 1 << 5, /* bits of the frame's descriptor */
    HAS_CHECKSUM = 1 << 2,
    TWO_BYTES = 1 << 6, /* for the length of the content, less FIRST_OF_TWO */
    FIRST_OF_TWO = 256,
    LAST_BLOCK = 1, /* of the block's header; its type is 0 */
};

static uint64_t rotated(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}

static uint64_t little_endian(const uint8_t *bytes, int count)
{
    uint64_t word = 0;
    for (int i = 0; i < count; i++)
        word |= (uint64_t)bytes[i] << 8 * i;
    return word;
}

static void put_little_endian(uint8_t *out, uint64_t word, int count)
{
    for (int i = 0; i < count; i++)
        out[i] = (uint8_t)(word >> 8 * i);
}

static uint64_t mixed(uint64_t lane, uint64_t word)
{
    return rotated(lane + word * PRIME[2], 31) * PRIME[1];
}

/* XXH64 with the seed 0. */
static uint64_t hash_of(const uint8_t *at, size_t len)
{
    const uint8_t *const end = at + len;
    uint64_t hash = PRIME[5];
    if (len >= STRIPE) {
        uint64_t lane[LANES] = {PRIME[1] + PRIME[2], PRIME[2], 0, 0 - PRIME[1]};
        for (; end - at >= STRIPE; at += STRIPE)
            for (int i = 0; i < LANES; i++)
                lane[i] = mixed(lane[i], little_endian(at + 8 * i, 8));
        hash =
            rotated(lane[0], 1) + rotated(lane[1], 7) + rotated(lane[2], 12) + rotated(lane[3], 18);
        for (int i = 0; i < LANES; i++)
            hash = (hash ^ mixed(0, lane[i])) * PRIME[1] + PRIME[4];
    }
    hash += len;
    for (; end - at >= 8; at += 8)
        hash = rotated(hash ^ mixed(0, little_endian(at, 8)), 27) * PRIME[1] + PRIME[4];
    if (end - at >= 4) {
        hash = rotated(hash ^ little_endian(at, 4) * PRIME[1], 23) * PRIME[2] + PRIME[3];
        at += 4;
    }
    for (; at < end; at++)
        hash = rotated(hash ^ *at * PRIME[5], 11) * PRIME[1];
    hash = (hash ^ hash >> 33) * PRIME[2];
    hash = (hash ^ hash >> 29) * PRIME[3];
    return hash ^ hash >> 32;
}

size_t kymo__rawframe(uint8_t *out, const void *content, size_t len)
{
    const bool two = len >= FIRST_OF_TWO;
    uint8_t *at = out;
    put_little_endian(at, UINT64_C(0xfd2fb528), 4);
    at[4] = (uint8_t)(SINGLE_SEGMENT | HAS_CHECKSUM | (two ? TWO_BYTES : 0));
    put_little_endian(at + 5, two ? len - FIRST_OF_TWO : len, two ? 2 : 1);
    at += two ? 7 : 6;
    put_little_endian(at, (uint64_t)len << 3 | LAST_BLOCK, 3);
    memcpy(at + 3, content, len);
    at += 3 + len;
    put_little_endian(at, hash_of(content, len), 4);
    return (size_t)(at + 4 - out);
}
