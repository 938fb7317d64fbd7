/* encode.c — see encode.h; the codes are in format.h. */
#include "encode.h"

#include <string.h>

#include "atomic.h"
#include "varint.h"

void kymo__encode_begin(struct kymo_encoder *e, uint8_t *tokens, uint8_t *times)
{
    e->tokens = tokens;
    e->times = times;
    e->last = 0;
    e->first_ticks = UINT64_MAX;
    e->last_ticks = 0;
    e->records = 0;
    e->depth = 0;
}

/* Most varints here are one or two bytes long; saying so first is worth a third of
   the encoder's time. */
static inline uint8_t *put(uint8_t *out, uint64_t v)
{
    if (kymo__likely(v < 0x80)) {
        *out = (uint8_t)v;
        return out + 1;
    }
    if (kymo__likely(v < 0x4000)) {
        out[0] = (uint8_t)(v | 0x80);
        out[1] = (uint8_t)(v >> 7);
        return out + 2;
    }
    return kymo__varint_put(out, v);
}

static uint8_t *put_value(uint8_t *out, uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof(number));
    /* A counter is mostly a small whole number, which as a double has high bits
       only: ten bytes as a varint. */
    if (number >= -1e15 && number <= 1e15 && number != 0) {
        int64_t whole = (int64_t)number;
        double back = (double)whole;
        uint64_t back_bits;
        memcpy(&back_bits, &back, sizeof(back_bits));
        if (back_bits == bits)
            return kymo__varint_put(out, kymo__zigzag(whole) << 3 | KYMO__T_DOUBLE);
    }
    out = kymo__varint_put(out, KYMO__T_VALUE);
    return kymo__varint_put(out, bits);
}

static uint8_t *put_other(uint8_t *out, uint64_t word)
{
    out = put(out, (uint64_t)kymo__word_kind(word) << 3 | KYMO__T_OTHER);
    out = put(out, kymo__word_detail(word));
    return put(out, kymo__word_key(word));
}

void kymo__encode(struct kymo_encoder *e, const struct kymo_record *records, size_t count)
{
    uint8_t *tokens = e->tokens, *times = e->times;
    uint64_t last = e->last, least = e->first_ticks, greatest = e->last_ticks;
    uint32_t depth = e->depth;
    for (size_t i = 0; i < count; i++) {
        uint64_t word = records[i].word;
        unsigned kind = kymo__word_kind(word);
        if (kymo__unlikely(kind == KYMO__VALUE)) {
            tokens = put_value(tokens, records[i].ticks);
            continue;
        }
        uint64_t ticks = records[i].ticks;
        if (kymo__unlikely(ticks < last)) {
            /* Rare: the thread moved to a processor whose counter is a little
               behind, or a source stamps out of order. */
            tokens = put(tokens, KYMO__T_BACK);
            times = put(times, last - ticks);
            last = ticks;
        }
        least = ticks < least ? ticks : least;
        greatest = ticks > greatest ? ticks : greatest;
        times = put(times, ticks - last);
        last = ticks;
        uint32_t key = kymo__word_key(word);
        unsigned detail = kymo__word_detail(word);
        if (kymo__likely(kind == KYMO_ENTER)) {
            if (depth < KYMO__ENCODE_DEPTH)
                e->open[depth] = key;
            depth++;
            if (kymo__likely(!detail)) {
                tokens = put(tokens, (uint64_t)key << 3 | KYMO__T_ENTER);
            } else {
                tokens = put(tokens, (uint64_t)key << 3 | KYMO__T_ENTER_DETAIL);
                tokens = put(tokens, detail);
            }
        } else if (kymo__likely(kind == KYMO_LEAVE)) {
            /* A leave that does not match leaves the stack alone, here and in the
               decoder: what is left unmatched is for the reader to judge. */
            if (kymo__likely(depth && depth <= KYMO__ENCODE_DEPTH && e->open[depth - 1] == key)) {
                depth--;
                tokens = put(tokens, (uint64_t)detail << 3 | KYMO__T_LEAVE);
            } else {
                if (depth > KYMO__ENCODE_DEPTH)
                    depth--;
                tokens = put(tokens, (uint64_t)key << 3 | KYMO__T_LEAVE_KEY);
                tokens = put(tokens, detail);
            }
        } else {
            tokens = put_other(tokens, word);
        }
    }
    e->records += (uint32_t)count;
    e->tokens = tokens;
    e->times = times;
    e->last = last;
    e->first_ticks = least;
    e->last_ticks = greatest;
    e->depth = depth;
}

size_t kymo__chunk_count(const struct kymo_chunk *chunk)
{
    /* Records are finished in order, so the end can be found by halving. Acquire
       pairs with the release of a record's word; a chunk still being recorded into
       may grow meanwhile, which only makes the answer a little old. */
    size_t low = 0, high = KYMO__CHUNK_RECORDS;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kymo__load_acquire(&chunk->records[middle].word))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
