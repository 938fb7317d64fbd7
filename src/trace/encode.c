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

/* One or two bytes, which most varints here are, without a branch on which of them:
   programs are not regular enough for the processor to guess it. OUT has room for
   both. */
static inline uint8_t *put(uint8_t *out, uint64_t v)
{
    if (kymo__unlikely(v >= 0x4000))
        return kymo__varint_put(out, v);
    unsigned two = v >= 0x80;
    out[0] = (uint8_t)(v | two << 7);
    out[1] = (uint8_t)(v >> 7);
    return out + 1 + two;
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

/* The tokens of a record that is not a plain enter or a plain, matching leave. */
static uint8_t *put_rare(struct kymo_encoder *e, uint8_t *out, uint64_t word)
{
    uint32_t key = kymo__word_key(word);
    unsigned detail = kymo__word_detail(word);
    switch (kymo__word_kind(word)) {
    case KYMO_ENTER:
        if (e->depth < KYMO__ENCODE_DEPTH)
            e->open[e->depth] = key;
        e->depth++;
        out = put(out, (uint64_t)key << 3 | (detail ? KYMO__T_ENTER_DETAIL : KYMO__T_ENTER));
        return detail ? put(out, detail) : out;
    case KYMO_LEAVE:
        if (e->depth && e->depth <= KYMO__ENCODE_DEPTH && e->open[e->depth - 1] == key) {
            e->depth--;
            return put(out, (uint64_t)detail << 3 | KYMO__T_LEAVE);
        }
        /* One that does not match leaves the stack alone, here and in the decoder:
           what it means is for the reader to judge. */
        if (e->depth > KYMO__ENCODE_DEPTH)
            e->depth--;
        out = put(out, (uint64_t)key << 3 | KYMO__T_LEAVE_KEY);
        return put(out, detail);
    }
    return put_other(out, word);
}

void kymo__encode(struct kymo_encoder *e, const struct kymo_record *records, size_t count)
{
    uint8_t *tokens = e->tokens, *times = e->times;
    uint64_t last = e->last, least = e->first_ticks, greatest = e->last_ticks, depth = e->depth;
    uint32_t *const open = e->open;
    size_t values = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t word = records[i].word;
        unsigned kind = kymo__word_kind(word);
        if (kymo__unlikely(kind == KYMO__VALUE)) {
            tokens = put_value(tokens, records[i].ticks);
            values++;
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
        /* Enter and leave by arithmetic: the slot of either, and for a leave that
           matches, storing the key again changes nothing. */
        uint64_t leave = kind == KYMO_LEAVE;
        uint64_t slot = depth - leave;
        uint32_t key = kymo__word_key(word);
        /* The kinds are 1 and 2; anything else, or a detail, makes the sum differ. */
        if (kymo__likely(word >> 48 == (KYMO_ENTER + leave) << 8 && slot < KYMO__ENCODE_DEPTH &&
                         (!leave | (open[slot] == key)))) {
            open[slot] = key;
            depth = slot + !leave;
            tokens = put(tokens, leave ? KYMO__T_LEAVE : (uint64_t)key << 3);
        } else {
            e->depth = depth;
            tokens = put_rare(e, tokens, word);
            depth = e->depth;
        }
    }
    e->records += (uint32_t)(count - values);
    e->tokens = tokens;
    e->times = times;
    e->last = last;
    e->first_ticks = least;
    e->last_ticks = greatest;
    e->depth = depth;
}

uint32_t kymo__count_events(const struct kymo_record *records, size_t count)
{
    uint32_t events = 0;
    for (size_t i = 0; i < count; i++)
        events += kymo__word_kind(records[i].word) != KYMO__VALUE;
    return events;
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
