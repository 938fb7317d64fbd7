/* hash.h — the two hashes of the tree: of a pointer-sized number, and of bytes. */
#ifndef KYMO_HASH_H
#define KYMO_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The top bits are the well-mixed ones: shift them down to the size of a table. */
static inline uint64_t kymo__hash_word(uint64_t v)
{
    v ^= v >> 32;
    return v * UINT64_C(0x9e3779b97f4a7c15);
}

static inline uint64_t kymo__hash_bytes(const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    uint64_t h = kymo__hash_word(len + 1);
    for (; len >= 8; len -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        h = kymo__hash_word(h ^ word);
    }
    uint64_t tail = 0;
    memcpy(&tail, at, len);
    return kymo__hash_word(h ^ tail);
}

#endif
