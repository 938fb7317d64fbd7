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

/* One varint at *AT; false when it is not whole. */
static inline bool take(const uint8_t **at, const uint8_t *end, uint64_t *v)
{
    const uint8_t *p = *at;
    if (kymo__likely(end - p >= 2)) {
        if (kymo__likely(p[0] < 0x80)) {
            *v = p[0];
            *at = p + 1;
            return true;
        }
        if (kymo__likely(p[1] < 0x80)) {
            *v = (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
            *at = p + 2;
            return true;
        }
    }
    p = kymo__varint_get(p, end, v);
    if (!p)
        return false;
    *at = p;
    return true;
}

/* The value that stands for TOKEN, read on from D. */
static bool take_value(struct kymo_decoder *d, uint64_t token, uint64_t *bits)
{
    if ((token & 7) == KYMO__T_DOUBLE) {
        double number = (double)kymo__unzigzag(token >> 3);
        memcpy(bits, &number, sizeof(number));
        return true;
    }
    return token == KYMO__T_VALUE && take(&d->tokens, d->tokens_end, bits);
}

/* The word of TOKEN, which carries a time; 0 when it makes no sense. */
static inline uint64_t take_word(struct kymo_decoder *d, uint64_t token)
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
        return kymo__word(KYMO_ENTER, (unsigned)detail, (uint32_t)head);
    case KYMO__T_LEAVE:
        if (!d->depth || d->depth > KYMO__ENCODE_DEPTH || head > 0xff)
            return 0;
        return kymo__word(KYMO_LEAVE, (unsigned)head, d->open[--d->depth]);
    case KYMO__T_LEAVE_KEY:
        if (!take(&d->tokens, d->tokens_end, &detail) || detail > 0xff)
            return 0;
        if (d->depth > KYMO__ENCODE_DEPTH)
            d->depth--;
        return kymo__word(KYMO_LEAVE, (unsigned)detail, (uint32_t)head);
    case KYMO__T_OTHER:
        if (!head || head > 0xff || head == KYMO__VALUE ||
            !take(&d->tokens, d->tokens_end, &detail) || detail > 0xff ||
            !take(&d->tokens, d->tokens_end, &key) || key > UINT32_MAX)
            return 0;
        return kymo__word((unsigned)head, (unsigned)detail, (uint32_t)key);
    }
    return 0;
}

int kymo__decode(struct kymo_decoder *d, struct kymo_record *records, size_t most)
{
    size_t count = 0;
    while (count < most && d->tokens < d->tokens_end) {
        uint64_t token, delta;
        if (!take(&d->tokens, d->tokens_end, &token))
            return -KYMO_EBLOCK;
        unsigned code = token & 7;
        if (kymo__unlikely(code == KYMO__T_VALUE || code == KYMO__T_DOUBLE)) {
            if (!take_value(d, token, &records[count].ticks))
                return -KYMO_EBLOCK;
            records[count++].word = kymo__word(KYMO__VALUE, 0, 0);
            continue;
        }
        if (!take(&d->times, d->times_end, &delta))
            return -KYMO_EBLOCK;
        if (kymo__unlikely(code == KYMO__T_BACK)) {
            d->last -= delta;
            continue;
        }
        uint64_t word = take_word(d, token);
        if (!word)
            return -KYMO_EBLOCK;
        records[count].ticks = d->last += delta;
        records[count++].word = word;
    }
    return (int)count;
}
