/* decode.c — see decode.h. Trusts nothing: every read is bounded, every key is 32
   bits, every detail 8. */
#include "decode.h"

#include <string.h>

#include "atomic.h"
#include "varint.h"

void kymo__decode_begin(struct kymo_decoder *d, const uint8_t *encoded, size_t token_bytes,
                        size_t encoded_bytes)
{
    d->tokens = encoded;
    d->tokens_end = d->times = encoded + token_bytes;
    d->times_end = encoded + encoded_bytes;
    d->last = 0;
    d->depth = 0;
}

/* One varint at *AT; false when it is not whole. One or two bytes without a branch on
   which of them, as in the encoder. */
static inline bool take(const uint8_t **at, const uint8_t *end, uint64_t *v)
{
    const uint8_t *p = *at;
    if (kymo__likely(end - p >= 2 && (p[0] & p[1] & 0x80) == 0)) {
        unsigned two = p[0] >> 7;
        *v = (p[0] & 0x7fu) | (p[1] & -two) << 7;
        *at = p + 1 + two;
        return true;
    }
    p = kymo__varint_get(p, end, v);
    if (!p)
        return false;
    *at = p;
    return true;
}

/* The value that TOKEN stands for, read on from *AT. */
static bool take_value(const uint8_t **at, const uint8_t *end, uint64_t token, uint64_t *bits)
{
    if ((token & 7) == KYMO__T_DOUBLE) {
        double number = (double)kymo__unzigzag(token >> 3);
        memcpy(bits, &number, sizeof(number));
        return true;
    }
    return token == KYMO__T_VALUE && take(at, end, bits);
}

/* The word of TOKEN, which carries a time and is not a plain enter or leave; 0 when it
   makes no sense. */
static uint64_t take_rare(struct kymo_decoder *d, uint64_t token)
{
    uint64_t head = token >> 3, detail = 0, key;
    if (head > UINT32_MAX)
        return 0;
    switch (token & 7) {
    case KYMO__T_ENTER_DETAIL:
        if (!take(&d->tokens, d->tokens_end, &detail) || detail > 0xff)
            return 0;
        /* fall through */
    case KYMO__T_ENTER:
        if (d->depth < KYMO__ENCODE_DEPTH)
            d->open[d->depth] = (uint32_t)head;
        d->depth++;
        return kymo_word(KYMO_ENTER, (unsigned)detail, (uint32_t)head);
    case KYMO__T_LEAVE:
        if (!d->depth || d->depth > KYMO__ENCODE_DEPTH || head > 0xff)
            return 0;
        return kymo_word(KYMO_LEAVE, (unsigned)head, d->open[--d->depth]);
    case KYMO__T_LEAVE_KEY:
        if (!take(&d->tokens, d->tokens_end, &detail) || detail > 0xff)
            return 0;
        if (d->depth > KYMO__ENCODE_DEPTH)
            d->depth--;
        return kymo_word(KYMO_LEAVE, (unsigned)detail, (uint32_t)head);
    case KYMO__T_OTHER:
        if (!head || head > 0xff || head == KYMO__VALUE ||
            !take(&d->tokens, d->tokens_end, &detail) || detail > 0xff ||
            !take(&d->tokens, d->tokens_end, &key) || key > UINT32_MAX)
            return 0;
        return kymo_word((unsigned)head, (unsigned)detail, (uint32_t)key);
    }
    return 0;
}

int kymo__decode(struct kymo_decoder *d, struct kymo_record *records, size_t most)
{
    size_t count = 0;
    /* Copies, which the compiler may keep in registers. */
    const uint8_t *tokens = d->tokens, *times = d->times;
    const uint8_t *const tokens_end = d->tokens_end, *const times_end = d->times_end;
    uint64_t last = d->last, depth = d->depth;
    while (count < most && tokens < tokens_end) {
        uint64_t token, delta, word;
        if (!take(&tokens, tokens_end, &token))
            return -KYMO_EBLOCK;
        unsigned code = token & 7;
        if (kymo__unlikely(code == KYMO__T_VALUE || code == KYMO__T_DOUBLE)) {
            if (!take_value(&tokens, tokens_end, token, &records[count].ticks))
                return -KYMO_EBLOCK;
            records[count++].word = kymo_word(KYMO__VALUE, 0, 0);
            continue;
        }
        if (!take(&times, times_end, &delta))
            return -KYMO_EBLOCK;
        if (kymo__unlikely(code == KYMO__T_BACK)) {
            last -= delta;
            continue;
        }
        /* Plain enters and leaves by arithmetic; see the encoder. */
        uint64_t leave = token == KYMO__T_LEAVE;
        uint64_t slot = depth - leave;
        if (kymo__likely(code == leave && token >> 3 <= UINT32_MAX && slot < KYMO__ENCODE_DEPTH)) {
            uint32_t key = d->open[slot];
            key = leave ? key : (uint32_t)(token >> 3);
            d->open[slot] = key;
            depth = slot + !leave;
            word = (KYMO_ENTER + leave) << 56 | key;
        } else {
            d->tokens = tokens;
            d->depth = depth;
            word = take_rare(d, token);
            tokens = d->tokens;
            depth = d->depth;
            if (!word)
                return -KYMO_EBLOCK;
        }
        records[count].ticks = last += delta;
        records[count++].word = word;
    }
    d->tokens = tokens;
    d->times = times;
    d->last = last;
    d->depth = depth;
    return (int)count;
}
