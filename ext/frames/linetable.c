/* linetable.c — see linetable.h. Decodes the interpreter's two forms of line tables. */
#include "linetable.h"

#include "compat.h"

/* Where an entry of a table is, and what comes before it, in one word that threads can share. What does not
   fit is not kept. */
struct place {
    uint64_t offset, units, lines; /* lines after the first one */
};
enum { OFFSET_BITS = 22, UNITS_BITS = 22, LINES_BITS = 20 };

static struct place place_before(uint32_t unit, const uint64_t *cursor)
{
    uint64_t word = __atomic_load_n(cursor, __ATOMIC_RELAXED);
    struct place place = {
        .offset = word & ((1u << OFFSET_BITS) - 1),
        .units = word >> OFFSET_BITS & ((1u << UNITS_BITS) - 1),
        .lines = word >> (OFFSET_BITS + UNITS_BITS),
    };
    return place.units <= unit ? place : (struct place){0};
}

static void keep_place(struct place place, uint64_t *cursor)
{
    if (!(place.offset >> OFFSET_BITS | place.units >> UNITS_BITS | place.lines >> LINES_BITS))
        __atomic_store_n(cursor,
                         place.offset | place.units << OFFSET_BITS |
                             place.lines << (OFFSET_BITS + UNITS_BITS),
                         __ATOMIC_RELAXED);
}

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

uint32_t kymo__line_of(const uint8_t *table, size_t bytes, uint32_t first, uint32_t unit,
                       uint64_t *cursor)
{
    struct place place = place_before(unit, cursor);
    const uint8_t *at = table + place.offset, *end = table + bytes;
    int64_t line = (int64_t)(first + place.lines), before = (int64_t)place.units;
    while (at < end) {
        place = (struct place){(uint64_t)(at - table), (uint64_t)before, (uint64_t)(line - first)};
        unsigned kind = (*at >> 3) & 15, units = (*at & 7u) + 1;
        const uint8_t *more = ++at;
        while (at < end && !(*at & 128))
            at++;
        if (kind == LONG || kind == NO_COLUMNS)
            line += signed_number(more, at);
        else if (kind >= ONE_LINE_FIRST && kind <= ONE_LINE_LAST)
            line += kind - ONE_LINE_FIRST;
        before += units;
        if (unit < before) {
            keep_place(place, cursor);
            return kind == NO_LINE || line < 0 ? 0 : (uint32_t)line;
        }
    }
    return 0;
}

#else

/* Pairs of bytes: the number of code bytes, and the signed line difference; -128 for code without a
   line. */
uint32_t kymo__line_of(const uint8_t *table, size_t bytes, uint32_t first, uint32_t unit,
                       uint64_t *cursor)
{
    struct place place = place_before(unit, cursor);
    int64_t line = (int64_t)(first + place.lines), end = (int64_t)place.units * 2;
    for (size_t i = place.offset; i + 1 < bytes; i += 2) {
        place = (struct place){i, (uint64_t)end / 2, (uint64_t)(line - first)};
        int further = (int8_t)table[i + 1];
        if (further != -128)
            line += further;
        end += table[i];
        if ((int64_t)unit * 2 < end) {
            keep_place(place, cursor);
            return further == -128 || line < 0 ? 0 : (uint32_t)line;
        }
    }
    return 0;
}

#endif
