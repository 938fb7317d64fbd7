/* utf8.c — see utf8.h. */
#include "utf8.h"

uint32_t kymo__utf8_next(const char **s)
{
    /* The first byte determines the length, and the range of the second byte excludes overlong
       forms, surrogates and code points beyond U+10FFFF. */
    const unsigned char *p = (const unsigned char *)*s;
    unsigned first = *p++;
    unsigned low = 0x80, high = 0xBF;
    int more;
    uint32_t code;

    *s = (const char *)p;
    if (first < 0x80)
        return first;
    if (first >= 0xC2 && first <= 0xDF) {
        more = 1;
        code = first & 0x1F;
    } else if (first >= 0xE0 && first <= 0xEF) {
        more = 2;
        code = first & 0x0F;
        if (first == 0xE0)
            low = 0xA0;
        else if (first == 0xED)
            high = 0x9F;
    } else if (first >= 0xF0 && first <= 0xF4) {
        more = 3;
        code = first & 0x07;
        if (first == 0xF0)
            low = 0x90;
        else if (first == 0xF4)
            high = 0x8F;
    } else {
        return KYMO__REPLACEMENT;
    }
    for (; more > 0; more--, low = 0x80, high = 0xBF) {
        if (*p < low || *p > high)
            return KYMO__REPLACEMENT;
        code = code << 6 | (*p++ & 0x3F);
        *s = (const char *)p;
    }
    return code;
}

int kymo__utf8_encode(uint32_t code, char *out)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

bool kymo__utf8_is_unsafe(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}
