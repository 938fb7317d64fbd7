/* utf8.h — decode untrusted UTF-8, code point by code point. */
#ifndef KYMO_UTF8_H
#define KYMO_UTF8_H

#include <stdbool.h>
#include <stdint.h>

enum { KYMO__REPLACEMENT = 0xFFFD };

/* Return the code point at *S, a zero-terminated string, and advance *S, which must not be at the
   end. KYMO__REPLACEMENT for each invalid sequence. */
uint32_t kymo__utf8_next(const char **s);

/* Write CODE to OUT, four bytes at most; returns how many. */
int kymo__utf8_encode(uint32_t code, char *out);

/* Can CODE change how a terminal shows the text around it? True for controls (C0, DEL and C1, which
   terminals obey as well), line separators, and direction marks and overrides. */
bool kymo__utf8_is_unsafe(uint32_t code);

#endif
