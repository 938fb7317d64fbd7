/* linetable.c — see linetable.h. Decodes the interpreter's two forms of line tables. */
#include "linetable.h"

#include "compat.h"

#if KYMO_LINES_HAVE_COLUMNS

/* Every entry starts with a byte: a 1 bit, four bits of kind, and in three bits the number of code
   units minus one. What follows depends on the kind; all further bytes have their top bit clear.
   Numbers have six bits per byte, lowest first, with a continuation bit. */
enum {
    ONE_LINE_FIRST = 10, /* and the next two: 0, 1, 2 lines further */
    ONE_LINE_LAST = 12,
    NO_COLUMNS = 13, /* a signed number: lines further */
    LONG = 14,       /* the same, and columns */
    NO_LINE = 15,
};

static int64_t signed_number(const uint8_t *at, const uint8_t *end)
{
    uint64_t value = 0;
    for (unsigned shift = 0; at < end && shift < 60; shift += 6, at++) {
        value |= (uint64_t)(*at & 63) << shift;
        if (!(*at & 64))
            break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

uint32_t kymo__line_of(const uint8_t *table, size_t bytes, uint32_t first, uint32_t unit)
{
    const uint8_t *at = table, *end = table + bytes;
    int64_t line = first, before = 0;
    while (at < end) {
        unsigned kind = (*at >> 3) & 15, units = (*at & 7u) + 1;
        const uint8_t *more = ++at;
        while (at < end && !(*at & 128))
            at++;
        if (kind == LONG || kind == NO_COLUMNS)
            line += signed_number(more, at);
        else if (kind >= ONE_LINE_FIRST && kind <= ONE_LINE_LAST)
            line += kind - ONE_LINE_FIRST;
        before += units;
        if (unit < before)
            return kind == NO_LINE || line < 0 ? 0 : (uint32_t)line;
    }
    return 0;
}

#else

/* Pairs of bytes: the number of code bytes, and the signed line difference; -128 for code without a
   line. */
uint32_t kymo__line_of(const uint8_t *table, size_t bytes, uint32_t first, uint32_t unit)
{
    int64_t line = first, end = 0;
    for (size_t i = 0; i + 1 < bytes; i += 2) {
        int further = (int8_t)table[i + 1];
        if (further != -128)
            line += further;
        end += table[i];
        if ((int64_t)unit * 2 < end)
            return further == -128 || line < 0 ? 0 : (uint32_t)line;
    }
    return 0;
}

#endif
