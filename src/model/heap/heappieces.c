/* heappieces.c — see heaplog.h: reading the log. */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "heapchange.h"
#include "varint.h"

enum { COLUMNS = 1 << KYMO__HEAPLOG_BITS, TILE_HEADER = 32 };

/* Where reading is: pieces are filled one after the other. */
struct reading {
    const struct kymo_heaplog *log;
    kymo_ns from, step;
    struct kymo_heaplog_piece *pieces;
    size_t count, piece; /* the one being filled */
    kymo_ns piece_end;
    kymo_ns now; /* since when the values are what they are, not before the piece */
    uint64_t value[KYMO__HEAPLOG_SERIES];
    uint8_t *bytes; /* of a chunk */
};

static void begin_piece(struct reading *r)
{
    struct kymo_heaplog_piece *p = &r->pieces[r->piece];
    r->now = r->from + (kymo_ns)r->piece * r->step;
    r->piece_end = r->now + r->step;
    memcpy(p->start, r->value, sizeof(r->value));
    p->changed = false;
    for (int i = 0; i < KYMO__HEAPLOG_SERIES; i++) {
        p->least[i] = UINT64_MAX;
        p->most[i] = 0;
        p->most_at[i] = r->now;
    }
}

/* The values have lasted from `now` on. */
static void settle_values(struct reading *r)
{
    struct kymo_heaplog_piece *p = &r->pieces[r->piece];
    for (int i = 0; i < KYMO__HEAPLOG_SERIES; i++) {
        if (r->value[i] < p->least[i])
            p->least[i] = r->value[i];
        if (r->value[i] > p->most[i]) {
            p->most[i] = r->value[i];
            p->most_at[i] = r->now;
        }
    }
}

static void end_piece(struct reading *r)
{
    settle_values(r);
    memcpy(r->pieces[r->piece].end, r->value, sizeof(r->value));
}

/* Go on to the piece that has TIME. False after the last. */
static bool advance_to(struct reading *r, kymo_ns time)
{
    while (time >= r->piece_end) {
        end_piece(r);
        if (r->piece + 1 == r->count)
            return false;
        r->piece++;
        begin_piece(r);
    }
    return true;
}

static void take_change(struct reading *r, kymo_ns time, uint64_t code)
{
    struct kymo_heaplog_piece *p = &r->pieces[r->piece];
    unsigned category = kymo__heapchange_category(code);
    if (time > r->now)
        settle_values(r);
    r->now = time;
    kymo__heapchange_apply(r->value, r->log->arenas_count, category, kymo__heapchange_by(code));
    p->changed = true;
    for (unsigned i = KYMO__HEAPLOG_TOTAL;; i = KYMO__HEAPLOG_CATEGORY + category) {
        if (r->value[i] > p->most[i]) {
            p->most[i] = r->value[i];
            p->most_at[i] = time;
        }
        if (i != KYMO__HEAPLOG_TOTAL)
            break;
    }
}

/* Take all of CHUNK, which is within the piece. */
static void take_chunk(struct reading *r, const struct kymo_heaplog_chunk *chunk,
                       const uint64_t *after)
{
    struct kymo_heaplog_piece *p = &r->pieces[r->piece];
    if (chunk->first > r->now)
        settle_values(r);
    for (int i = 0; i < KYMO__HEAPLOG_SERIES; i++) {
        if (chunk->least[i] < p->least[i])
            p->least[i] = chunk->least[i];
        if (chunk->most[i] > p->most[i]) {
            p->most[i] = chunk->most[i];
            p->most_at[i] = chunk->most_at[i];
        }
    }
    memcpy(r->value, after, sizeof(r->value));
    r->now = chunk->last;
    p->changed = true;
}

static int decode_chunk(struct reading *r, size_t number)
{
    const struct kymo_heaplog *log = r->log;
    const struct kymo_heaplog_chunk *chunk = &log->chunks[number];
    uint64_t end =
        number + 1 < log->count ? log->chunks[number + 1].offset : kymo__spool_length(&log->spool);
    size_t length = (size_t)(end - chunk->offset);
    int rc = kymo__spool_read(&log->spool, r->bytes, length, chunk->offset);
    if (rc < 0)
        return rc;
    const uint8_t *at = r->bytes, *const stop = r->bytes + length;
    kymo_ns time = chunk->first;
    while (at && at < stop) {
        uint64_t later, code;
        at = kymo__varint_get(at, stop, &later);
        at = at ? kymo__varint_get(at, stop, &code) : NULL;
        if (!at)
            return -EIO;
        time += (kymo_ns)later;
        if (time >= r->from) {
            if (!advance_to(r, time))
                return 1;
            take_change(r, time, code);
            continue;
        }
        kymo__heapchange_apply(r->value, log->arenas_count, kymo__heapchange_category(code),
                               kymo__heapchange_by(code));
        memcpy(r->pieces[0].start, r->value, sizeof(r->value));
    }
    return 0;
}

static const uint64_t *values_after(const struct kymo_heaplog *log, size_t chunk)
{
    return chunk + 1 < log->count ? log->chunks[chunk + 1].before : log->end;
}

/* The first chunk that ends at TIME or later. */
static size_t first_chunk(const struct kymo_heaplog *log, kymo_ns time)
{
    size_t low = 0, high = log->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (log->chunks[middle].last < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int kymo__heaplog_pieces(const struct kymo_heaplog *log, kymo_ns from, kymo_ns step, size_t count,
                         struct kymo_heaplog_piece *pieces)
{
    struct reading r = {.log = log, .from = from, .step = step, .pieces = pieces, .count = count};
    size_t number = first_chunk(log, from);
    int rc = 0;
    r.bytes = kymo__alloc(KYMO__HEAPLOG_CHUNK * 2 * KYMO__VARINT_MAX);
    if (!r.bytes)
        return -ENOMEM;
    memcpy(r.value, number < log->count ? log->chunks[number].before : log->end, sizeof(r.value));
    begin_piece(&r);
    for (; rc == 0 && number < log->count; number++) {
        const struct kymo_heaplog_chunk *chunk = &log->chunks[number];
        if (chunk->first >= from && !advance_to(&r, chunk->first))
            rc = 1;
        else if (chunk->first >= from && chunk->last < r.piece_end)
            take_chunk(&r, chunk, values_after(log, number));
        else
            rc = decode_chunk(&r, number);
    }
    if (rc == 0) { /* nothing changes any more */
        while (r.piece + 1 < count) {
            end_piece(&r);
            r.piece++;
            begin_piece(&r);
        }
        end_piece(&r);
    }
    kymo__free(r.bytes);
    return rc < 0 ? rc : 0;
}

/* ---- tiles ---- */

static uint8_t *put_u32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof(value)); /* as captures, only for little-endian machines */
    return at + sizeof(value);
}

static uint8_t *put_f64(uint8_t *at, double value)
{
    memcpy(at, &value, sizeof(value));
    return at + sizeof(value);
}

static int write_tile(const struct kymo_heaplog *log, const struct kymo_heaplog_piece *pieces,
                      kymo_ns from, kymo_ns length, struct kymo_buffer *out)
{
    uint32_t series[KYMO__HEAPLOG_SERIES], columns[COLUMNS], s = 0, n = 0;
    for (uint32_t i = 0; i < KYMO__HEAPLOG_SERIES; i++)
        if (log->used[i])
            series[s++] = i;
    for (uint32_t i = 0; i < COLUMNS; i++)
        if (pieces[i].changed)
            columns[n++] = i;
    size_t words = s + n + (s + n) % 2;
    size_t size = TILE_HEADER + 4 * words + 8 * (size_t)s + 24 * (size_t)s * n;
    int rc = kymo__buffer_reserve(out, size);
    if (rc < 0)
        return rc;
    uint8_t *at = out->bytes + out->len;
    at = put_u32(put_u32(put_u32(put_u32(at, 1), s), n), 0);
    at = put_f64(put_f64(at, (double)from), (double)length);
    for (uint32_t i = 0; i < s; i++)
        at = put_u32(at, series[i]);
    for (uint32_t i = 0; i < n; i++)
        at = put_u32(at, columns[i]);
    if ((s + n) % 2)
        at = put_u32(at, 0);
    for (uint32_t i = 0; i < s; i++)
        at = put_f64(at, (double)pieces[0].start[series[i]]);
    for (uint32_t i = 0; i < s; i++) {
        for (uint32_t k = 0; k < n; k++)
            at = put_f64(at, (double)pieces[columns[k]].least[series[i]]);
        for (uint32_t k = 0; k < n; k++)
            at = put_f64(at, (double)pieces[columns[k]].most[series[i]]);
        for (uint32_t k = 0; k < n; k++)
            at = put_f64(at, (double)pieces[columns[k]].end[series[i]]);
    }
    out->len += size;
    return 0;
}

int kymo__heaplog_tile(const struct kymo_heaplog *log, unsigned level, uint64_t index,
                       struct kymo_buffer *out)
{
    unsigned bits = level + KYMO__HEAPLOG_BITS;
    if (level >= KYMO__HEAPLOG_LEVELS || index >= (uint64_t)1 << (62 - bits))
        return -EINVAL;
    struct kymo_heaplog_piece *pieces = kymo__alloc(COLUMNS * sizeof(*pieces));
    if (!pieces)
        return -ENOMEM;
    kymo_ns from = (kymo_ns)(index << bits);
    int rc = kymo__heaplog_pieces(log, from, (kymo_ns)1 << level, COLUMNS, pieces);
    rc = rc < 0 ? rc : write_tile(log, pieces, from, (kymo_ns)1 << bits, out);
    kymo__free(pieces);
    return rc;
}
