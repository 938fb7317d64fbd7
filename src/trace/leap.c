/* leap.c — see leap.h. The same steps as in kymo__decode. */
#include "leap.h"

#include "atomic.h"
#include "varint.h"

/* Read a varint at *AT, of which three bytes are there; false if it is longer. Three bytes hold the
   tokens of a quarter of a million keys. */
static inline bool short_varint(const uint8_t **at, uint64_t *v)
{
    const uint8_t *p = *at;
    uint64_t sum = *p++;
    if (sum & 0x80) {
        uint64_t second = *p++;
        sum = (sum & 0x7f) | (second & 0x7f) << 7;
        if (kymo__unlikely(second & 0x80)) {
            uint64_t third = *p++;
            if (third & 0x80)
                return false;
            sum |= third << 14;
        }
    }
    *v = sum;
    *at = p;
    return true;
}

/* How many varints of three bytes there are at least between AT and END. */
static inline size_t whole(const uint8_t *at, const uint8_t *end)
{
    return (size_t)(end - at) / 3;
}

size_t kymo__leap(struct kymo_leap *leap, struct kymo_decoder *d, uint64_t limit, size_t most)
{
    const uint8_t *tokens = d->tokens, *times = d->times;
    uint64_t last = d->last, depth = d->depth, low = depth, entered = leap->entered;
    size_t count = 0, safe = 0;
    bool left = false;
    leap->from = entered;
    for (; count < most; count++) {
        if (count == safe) {
            /* The last bytes are left to the decoder. */
            size_t next = whole(tokens, d->tokens_end), times_next = whole(times, d->times_end);
            next = next < times_next ? next : times_next;
            if (!next)
                break;
            safe = next < most - count ? count + next : most;
        }
        const uint8_t *after = tokens, *after_time = times;
        uint64_t token, delta;
        if (!short_varint(&after, &token) || !short_varint(&after_time, &delta) ||
            last + delta >= limit)
            break;
        if (token == KYMO__T_LEAVE) {
            if (kymo__unlikely(depth - 1 >= KYMO__ENCODE_DEPTH)) /* or none is open */
                break;
            depth--;
            low = depth < low ? depth : low;
            left = true;
        } else {
            if (kymo__unlikely((token & 7) != KYMO__T_ENTER || depth >= KYMO__ENCODE_DEPTH))
                break;
            d->open[depth] = (uint32_t)(token >> 3);
            leap->numbers[depth++] = ++entered;
            left = false;
        }
        last += delta;
        tokens = after;
        times = after_time;
    }
    d->tokens = tokens;
    d->times = times;
    d->last = last;
    d->depth = depth;
    leap->low = low;
    leap->left = left;
    leap->entered = entered;
    return count;
}
