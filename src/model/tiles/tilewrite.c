/* tilewrite.c — the bytes of a tile; tile.h specifies them. */
#include <errno.h>
#include <string.h>

#include "calls.h"
#include "tile.h"
#include "tilerows.h"

static uint32_t in_units(kymo_ns time, unsigned shift)
{
    uint64_t units = time > 0 ? (uint64_t)time >> shift : 0;
    return units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}

static void put_u32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof(value)); /* as captures, only for little-endian machines */
}

static void put_f64(uint8_t *at, double value)
{
    memcpy(at, &value, sizeof(value));
}

/* Where the arrays of COUNT parts begin, after the header. */
struct layout {
    uint8_t *start, *length, *busy, *name, *count, *number, *depth, *flags, *high;
};

static struct layout lay_out(uint8_t *at, size_t count)
{
    return (struct layout){at,
                           at + 4 * count,
                           at + 8 * count,
                           at + 12 * count,
                           at + 16 * count,
                           at + 20 * count,
                           at + 24 * count,
                           at + 26 * count,
                           at + 27 * count};
}

static void put_part(const struct layout *to, size_t i, const struct kymo_tile_part *part,
                     uint32_t depth, kymo_ns from, unsigned shift)
{
    uint32_t start = in_units(kymo__ns_between(from, part->start), shift);
    put_u32(to->start + 4 * i, start);
    put_u32(to->length + 4 * i, in_units(kymo__ns_between(from, part->end), shift) - start);
    put_u32(to->busy + 4 * i, in_units(part->busy, shift));
    put_u32(to->name + 4 * i, part->name);
    put_u32(to->count + 4 * i, part->count);
    put_u32(to->number + 4 * i, (uint32_t)part->number);
    memcpy(to->depth + 2 * i, &(uint16_t){(uint16_t)depth}, 2);
    to->flags[i] = part->flags;
    to->high[i] = (uint8_t)(part->number >> 32);
}

int kymo__tile_write(const struct kymo_tile_rows *rows, const struct kymo_tile_place *place,
                     unsigned bits, struct kymo_buffer *out)
{
    kymo_ns from, to;
    if (kymo__tile_span(place, &from, &to) < 0)
        return -EINVAL;
    size_t count = kymo__tile_rows_count(rows), size = KYMO__TILE_HEADER + count * KYMO__TILE_PART;
    /* A part may reach past the end of the tile by a column or two. */
    unsigned wide = place->level + KYMO__TILE_BITS + 1, shift = wide > 32 ? wide - 32 : 0;
    if (count > UINT32_MAX / KYMO__TILE_PART)
        return -EOVERFLOW;
    int rc = kymo__buffer_reserve(out, size);
    if (rc < 0)
        return rc;
    uint8_t *at = out->bytes + out->len;
    put_u32(at, KYMO__TILE_VERSION);
    put_u32(at + 4, bits | (rows->deeper ? KYMO__TILE_DEEPER : 0u));
    put_u32(at + 8, (uint32_t)count);
    put_u32(at + 12, shift);
    put_f64(at + 16, (double)kymo__ns_between(place->origin, from));
    put_f64(at + 24, (double)kymo__ns_between(from, to));
    struct layout layout = lay_out(at + KYMO__TILE_HEADER, count);
    size_t i = 0;
    for (uint32_t depth = 0; depth < rows->depths; depth++)
        for (size_t k = 0; k < rows->rows[depth].count; k++)
            put_part(&layout, i++, &rows->rows[depth].parts[k], depth, from, shift);
    out->len += size;
    return 0;
}
