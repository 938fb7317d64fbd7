/* jsontext.h — write pieces of JSON at a pointer or at the end of a buffer.

   The pointer functions return the byte after what they wrote and trust the caller to have room.
   Nothing here writes commas. */
#ifndef KYMO_JSONTEXT_H
#define KYMO_JSONTEXT_H

#include <string.h>

#include "atomic.h"
#include "buffer.h"

enum { KYMO__JSON_NUMBER = 32 }; /* bytes of any number at most */

extern const char kymo__json_digits[201];  /* 00 01 … 99 */
extern const uint64_t kymo__json_tens[20]; /* powers of ten, but 0 for 1: 0 has a digit too */

/* How many digits V has. */
static inline unsigned kymo__json_length(uint64_t v)
{
    /* 1233/4096 is log10(2) as nearly as 64 bits need it. */
    unsigned bits = 64 - (unsigned)__builtin_clzll(v | 1), least = bits * 1233 >> 12;
    return least + (v >= kymo__json_tens[least]);
}

static inline char *kymo__json_uint(char *at, uint64_t v)
{
    char *end = at + kymo__json_length(v), *p = end;
    while (v >= 100) {
        p -= 2;
        memcpy(p, kymo__json_digits + 2 * (v % 100), 2);
        v /= 100;
    }
    if (v >= 10)
        memcpy(p - 2, kymo__json_digits + 2 * v, 2);
    else
        p[-1] = (char)('0' + v);
    return end;
}

static inline char *kymo__json_int(char *at, int64_t v)
{
    if (v < 0)
        *at++ = '-';
    return kymo__json_uint(at, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

static inline char *kymo__json_put(char *at, const char *text, size_t len)
{
    memcpy(at, text, len);
    return at + len;
}

#define KYMO__JSON_PUT(at, literal) kymo__json_put(at, literal, sizeof(literal) - 1)

/* NS as microseconds with three decimals. */
static inline char *kymo__json_time(char *at, int64_t ns)
{
    uint64_t size = (uint64_t)ns;
    if (kymo__unlikely(ns < 0)) {
        *at++ = '-';
        size = -size;
    }
    at = kymo__json_uint(at, size / 1000);
    unsigned rest = (unsigned)(size % 1000);
    at[0] = '.';
    at[1] = (char)('0' + rest / 100);
    memcpy(at + 2, kymo__json_digits + 2 * (rest % 100), 2);
    return at + 4;
}

/* The shortest number that reads back as VALUE, or a string if VALUE is not finite. */
char *kymo__json_double(char *at, double value);

/* TEXT as the inside of a string: valid UTF-8, escaped. Returns 0 or -ENOMEM. */
int kymo__json_escaped(struct kymo_buffer *buffer, const char *text);

/* TEXT as it is. */
static inline int kymo__json_text(struct kymo_buffer *buffer, const char *text)
{
    return kymo__buffer_add(buffer, text, strlen(text));
}

#endif
