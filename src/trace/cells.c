/* cells.c — see cells.h. */
#include "cells.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "varint.h"

void kymo__cells_fini(struct kymo_cells *c)
{
    kymo__free(c->columns);
    kymo__free(c->cells);
    *c = (struct kymo_cells){0};
}

uint8_t kymo__cell_length(uint64_t ticks)
{
    if (ticks < 8)
        return (uint8_t)ticks;
    unsigned bits = 63 - (unsigned)__builtin_clzll(ticks); /* 3 to 63 */
    unsigned code = (bits - 2) * 8 + (unsigned)(ticks >> (bits - 3) & 7);
    return code < 255 ? (uint8_t)code : 255;
}

uint64_t kymo__cell_ticks(uint8_t length)
{
    if (length < 8)
        return length;
    unsigned bits = length / 8u + 2;
    return (uint64_t)(8 + length % 8u) << (bits - 3);
}

/* Convert SHARE 255ths of TICKS to 255ths of WHOLE; rounded up, so that nothing vanishes. */
static uint8_t share_of(uint8_t share, uint64_t ticks, uint64_t whole)
{
    double part = (double)share * (double)ticks / (double)(whole ? whole : 1);
    unsigned rounded = (unsigned)(part + 0.5);
    return (uint8_t)(rounded ? rounded < 255 ? rounded : 255 : share != 0);
}

static struct kymo_cell join_cells(const struct kymo_cell *a, uint64_t a_ticks,
                                   const struct kymo_cell *b, uint64_t b_ticks)
{
    uint64_t ticks = a_ticks + b_ticks;
    unsigned a_cover = share_of(a->cover, a_ticks, ticks);
    unsigned b_cover = share_of(b->cover, b_ticks, ticks);
    unsigned busy = share_of(a->busy, a_ticks, ticks) + share_of(b->busy, b_ticks, ticks);
    unsigned count = (unsigned)a->count + b->count;
    bool same = a->key == b->key, first = a_cover >= b_cover;
    unsigned cover = same ? a_cover + b_cover : first ? a_cover : b_cover;
    return (struct kymo_cell){
        .key = first ? a->key : b->key,
        .count = (uint16_t)(count < UINT16_MAX ? count : UINT16_MAX),
        .cover = (uint8_t)(cover < 255 ? cover : 255),
        .busy = (uint8_t)(busy < 255 ? busy : 255),
        .longest = a->longest > b->longest ? a->longest : b->longest,
    };
}

/* Works in place: writing never overtakes reading. Cells of depth D of the second column may be
   overwritten by those of the first, so they are copied first. */
void kymo__cells_halve(struct kymo_cells *c)
{
    struct kymo_cell joined[KYMO__CELL_DEPTHS];
    size_t at = 0, cell = 0;
    for (size_t i = 0; i < c->count; i += 2, at++) {
        struct kymo_cell_column a = c->columns[i], b = {0};
        if (i + 1 < c->count)
            b = c->columns[i + 1];
        uint32_t depths = a.depths > b.depths ? a.depths : b.depths;
        const struct kymo_cell none = {0};
        for (uint32_t d = 0; d < depths; d++)
            joined[d] = join_cells(d < a.depths ? &c->cells[a.first + d] : &none, a.ticks,
                                   d < b.depths ? &c->cells[b.first + d] : &none, b.ticks);
        if (depths) /* columns without calls have no cells: the array may be NULL */
            memcpy(c->cells + cell, joined, depths * sizeof(*joined));
        c->columns[at] = (struct kymo_cell_column){a.ticks + b.ticks, a.events + b.events,
                                                   (uint32_t)cell, depths};
        cell += depths;
    }
    c->count = at;
    c->cell_count = cell;
}

int kymo__cells_put(struct kymo_buffer *out, const struct kymo_cells *c)
{
    size_t most = (2 + 3 * c->count) * KYMO__VARINT_MAX + c->cell_count * (5 + 3 + 3);
    if (kymo__buffer_reserve(out, most) < 0)
        return -ENOMEM;
    uint8_t *p = out->bytes + out->len;
    p = kymo__varint_put(p, c->count);
    p = kymo__varint_put(p, c->begin);
    for (size_t i = 0; i < c->count; i++) {
        p = kymo__varint_put(p, c->columns[i].ticks);
        p = kymo__varint_put(p, c->columns[i].events);
        p = kymo__varint_put(p, c->columns[i].depths);
    }
    for (size_t i = 0; i < c->cell_count; i++)
        p = kymo__varint_put(p, c->cells[i].key);
    for (size_t i = 0; i < c->cell_count; i++)
        *p++ = c->cells[i].cover;
    for (size_t i = 0; i < c->cell_count; i++)
        *p++ = c->cells[i].busy;
    for (size_t i = 0; i < c->cell_count; i++)
        *p++ = c->cells[i].longest;
    for (size_t i = 0; i < c->cell_count; i++)
        p = kymo__varint_put(p, c->cells[i].count);
    out->len = (size_t)(p - out->bytes);
    return 0;
}

/* Make *ARRAY, of elements of ELEMENT bytes, long enough for COUNT. What is in it may get lost. */
static int make_room(void *array, size_t *capacity, size_t count, size_t element)
{
    if (count <= *capacity)
        return 0;
    void *old, *made = kymo__alloc(count * element);
    if (!made)
        return -ENOMEM;
    memcpy(&old, array, sizeof(old));
    memcpy(array, &made, sizeof(made));
    kymo__free(old);
    *capacity = count;
    return 0;
}

static int get_columns(const uint8_t **at, const uint8_t *end, struct kymo_cells *c)
{
    uint64_t count, number[3];
    const uint8_t *p = kymo__varint_get(*at, end, &count);
    if (p)
        p = kymo__varint_get(p, end, &c->begin);
    /* Every column takes three bytes, and every cell five: there are never more than bytes. */
    if (!p || count > (size_t)(end - p))
        return KYMO_EBLOCK;
    if (make_room(&c->columns, &c->capacity, (size_t)count, sizeof(*c->columns)) < 0)
        return -ENOMEM;
    size_t cells = 0;
    for (uint64_t i = 0; i < count; i++) {
        for (int n = 0; p && n < 3; n++)
            p = kymo__varint_get_wide(p, end, &number[n]);
        if (!p || number[1] > UINT32_MAX || number[2] > KYMO__CELL_DEPTHS)
            return KYMO_EBLOCK;
        c->columns[i] = (struct kymo_cell_column){number[0], (uint32_t)number[1], (uint32_t)cells,
                                                  (uint32_t)number[2]};
        cells += (size_t)number[2];
        if (cells > (size_t)(end - p))
            return KYMO_EBLOCK;
    }
    c->count = (size_t)count;
    c->cell_count = cells;
    *at = p;
    return 0;
}

static int get_cells(const uint8_t *at, const uint8_t *end, struct kymo_cells *c)
{
    const size_t count = c->cell_count;
    if (make_room(&c->cells, &c->cell_capacity, count, sizeof(*c->cells)) < 0)
        return -ENOMEM;
    uint64_t number;
    for (size_t i = 0; i < count; i++) {
        at = kymo__varint_get_wide(at, end, &number);
        if (!at || number > UINT32_MAX)
            return KYMO_EBLOCK;
        c->cells[i].key = (uint32_t)number;
    }
    if ((size_t)(end - at) < 3 * count)
        return KYMO_EBLOCK;
    const uint8_t *share = at;
    at += 3 * count;
    for (size_t i = 0; i < count; i++) {
        at = kymo__varint_get_wide(at, end, &number);
        if (!at || number > UINT16_MAX)
            return KYMO_EBLOCK;
        struct kymo_cell *cell = &c->cells[i];
        cell->count = (uint16_t)number;
        cell->cover = share[i];
        cell->busy = share[count + i];
        cell->longest = share[2 * count + i];
    }
    return 0;
}

int kymo__cells_get(const uint8_t *at, const uint8_t *end, struct kymo_cells *c)
{
    c->count = c->cell_count = 0;
    int rc = get_columns(&at, end, c);
    if (rc == 0)
        rc = get_cells(at, end, c);
    if (rc < 0)
        c->count = c->cell_count = 0;
    return rc;
}
