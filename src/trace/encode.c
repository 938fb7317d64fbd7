/* encode.c — see encode.h; the codes are in format.h. */
#include "encode.h"

#include <string.h>

#include "atomic.h"
#include "varint.h"

void kymo__encode_begin(struct kymo_encoder *e, uint8_t *tokens, uint8_t *times, uint8_t *values,
                        struct kymo_notes *notes)
{
    e->notes = notes;
    if (notes)
        kymo__notes_begin(notes);
    e->values = values;
    if (values)
        kymo__values_begin(e->seen);
    e->tokens = tokens;
    e->times = times;
    e->last = 0;
    e->first_ticks = UINT64_MAX;
    e->last_ticks = 0;
    e->records = 0;
    e->depth = 0;
}

static uint8_t *put_value(uint8_t *out, uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof(number));
    /* A counter is usually a small integer, which as a double has only high bits set: ten bytes as
       a varint. */
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
    out = kymo__varint_put_short(out, (uint64_t)kymo__word_kind(word) << 3 | KYMO__T_OTHER);
    out = kymo__varint_put_short(out, kymo__word_detail(word));
    return kymo__varint_put_short(out, kymo__word_key(word));
}

/* The same for a note without a detail. */
static uint8_t *put_note(uint8_t *out, uint64_t word)
{
    const uint8_t head[] = {0x80 | (KYMO__NOTE << 3 & 0x7f) | KYMO__T_OTHER, KYMO__NOTE << 3 >> 7,
                            0};
    memcpy(out, head, sizeof(head));
    return kymo__varint_put_short(out + sizeof(head), kymo__word_key(word));
}

/* Write the tokens of a record that is not a plain enter or a plain, matching leave. */
static uint8_t *put_rare(struct kymo_encoder *e, uint8_t *out, uint64_t word)
{
    uint32_t key = kymo__word_key(word);
    unsigned detail = kymo__word_detail(word);
    switch (kymo__word_kind(word)) {
    case KYMO_ENTER:
        if (e->depth < KYMO__ENCODE_DEPTH)
            e->open[e->depth] = key;
        e->depth++;
        out = kymo__varint_put_short(out, (uint64_t)key << 3 |
                                              (detail ? KYMO__T_ENTER_DETAIL : KYMO__T_ENTER));
        return detail ? kymo__varint_put_short(out, detail) : out;
    case KYMO_LEAVE:
        if (e->depth && e->depth <= KYMO__ENCODE_DEPTH && e->open[e->depth - 1] == key) {
            e->depth--;
            return kymo__varint_put_short(out, (uint64_t)detail << 3 | KYMO__T_LEAVE);
        }
        /* A leave that does not match leaves the stack alone, here and in the decoder; the reader
           decides what it means. */
        if (e->depth > KYMO__ENCODE_DEPTH)
            e->depth--;
        out = kymo__varint_put_short(out, (uint64_t)key << 3 | KYMO__T_LEAVE_KEY);
        return kymo__varint_put_short(out, detail);
    }
    return put_other(out, word);
}

/* Collect the payload that begins at RECORDS[0]; COUNT records are left in all. */
static const uint8_t *collect_payload(struct kymo_encoder *e, const struct kymo_record *records,
                                      size_t count, size_t *len)
{
    size_t n = 0;
    unsigned used = 0;
    do
        kymo__chain_add(&e->payload, &records[n++], &used);
    while (n < count && kymo__word_kind(records[n].word) == KYMO__MORE);
    kymo__chain_end(&e->payload, used);
    *len = e->payload.len;
    /* Without memory for the padding there is no payload. */
    if (kymo__buffer_reserve(&e->payload, KYMO__VALUES_PADDING) < 0)
        *len = 0;
    return e->payload.bytes;
}

/* Write the payload of records[0], an event; COUNT records are left. */
static void put_payload(struct kymo_encoder *e, const struct kymo_record *records, size_t count)
{
    if (!e->values)
        return;
    if (count < 2 || kymo__word_kind(records[1].word) != KYMO__BYTES) {
        *e->values++ = 0;
        return;
    }
    /* A short payload is read where it is; copied, it would be read before the copy is complete. */
    const uint8_t *bytes = (const uint8_t *)&records[1];
    size_t len = (size_t)(records[1].word >> 40) & 0xf;
    if (kymo__chain_has_numbers(&records[1]) || len > KYMO__CHAIN_FIRST || count == 2 ||
        kymo__word_kind(records[2].word) == KYMO__MORE)
        bytes = collect_payload(e, records + 1, count - 1, &len);
    e->values =
        kymo__values_put(e->seen, e->plans, kymo__chain_number(&records[1]), bytes, len, e->values);
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
        if (kymo__unlikely(kymo__kind_follows(kind))) {
            if (kind == KYMO__VALUE)
                tokens = put_value(tokens, records[i].ticks);
            values++;
            continue;
        }
        uint64_t ticks = records[i].ticks;
        if (kind == KYMO__NOTE && e->notes) {
            size_t put = kymo__notes_put(e->notes, e->plans, records + i, count - i, &tokens);
            if (put) {
                /* Their ticks do not decrease. */
                last = e->notes->past.ticks;
                least = ticks < least ? ticks : least;
                greatest = last > greatest ? last : greatest;
                values += put / 2;
                i += put - 1;
                continue;
            }
        }
        if (kymo__unlikely(kymo__kind_has_payload(kind))) {
            put_payload(e, records + i, count - i);
            if (kind == KYMO_PAYLOAD) {
                /* It shares its event's time. */
                tokens = put_other(tokens, word);
                times = kymo__varint_put_short(times, 0);
                continue;
            }
        }
        if (kymo__unlikely(ticks < last)) {
            /* Rare: the thread moved to a CPU whose counter lags slightly, or a source's times are
               out of order. */
            tokens = kymo__varint_put_short(tokens, KYMO__T_BACK);
            times = kymo__varint_put_short(times, last - ticks);
            last = ticks;
        }
        least = ticks < least ? ticks : least;
        greatest = ticks > greatest ? ticks : greatest;
        times = kymo__varint_put_short(times, ticks - last);
        last = ticks;
        /* Enter and leave without branches: compute the slot of either; for a matching leave,
           storing the key again changes nothing. */
        uint64_t leave = kind == KYMO_LEAVE;
        uint64_t slot = depth - leave;
        uint32_t key = kymo__word_key(word);
        /* The kinds are 1 and 2; anything else, or a detail, makes the sum differ. */
        if (kymo__likely(word >> 48 == (KYMO_ENTER + leave) << 8 && slot < KYMO__ENCODE_DEPTH &&
                         (!leave | (open[slot] == key)))) {
            open[slot] = key;
            depth = slot + !leave;
            tokens = kymo__varint_put_short(tokens, leave ? KYMO__T_LEAVE : (uint64_t)key << 3);
        } else if (word >> 48 == KYMO__NOTE << 8) {
            tokens = put_note(tokens, word);
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
        events += !kymo__kind_follows(kymo__word_kind(records[i].word));
    return events;
}

size_t kymo__chunk_count(const struct kymo_chunk *chunk)
{
    /* Records are finished in order, so find the end by binary search, not far behind it, so that
       no page is touched that was not written to. Acquire pairs with the release of a record's
       word; a chunk still being recorded into may grow meanwhile, which only makes the answer
       slightly old. */
    size_t low = 0, high = 1;
    while (high < KYMO__CHUNK_RECORDS && kymo__load_acquire(&chunk->records[high - 1].word)) {
        low = high;
        high = 2 * high < KYMO__CHUNK_RECORDS ? 2 * high : KYMO__CHUNK_RECORDS;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kymo__load_acquire(&chunk->records[middle].word))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
