/* utf8.h — UTF-8 that may be anything, code point by code point. */
#ifndef KYMO_UTF8_H
#define KYMO_UTF8_H

#include <stdint.h>

enum { KYMO__REPLACEMENT = 0xFFFD };

/* The code point at *S, a string that ends in a zero byte; *S, which must not stand at
   that end, moves on. KYMO__REPLACEMENT for each sequence that is not valid. */
uint32_t kymo__utf8_next(const char **s);

/* Write CODE to OUT, four bytes at most; returns how many. */
int kymo__utf8_encode(uint32_t code, char *out);

#endif
