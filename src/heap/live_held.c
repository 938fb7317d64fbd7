/* live_held.c — see live_held.h.

   Peak: instead of copying all sums whenever the total reaches a new peak, each peak has a number.
   A holder that changes for the first time after a peak keeps what it held at that peak. So at any
   time a holder either has not changed since the last peak, or knows what it held then. */
#include "live_held.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "atomic.h"
#include "blocks.h"
#include "hash.h"
#include "mapped.h"
#include "sampled.h"

enum {
    HOLDER_BITS = 18,
    HOLDERS = 1 << HOLDER_BITS,
    PROBES = 64,
    WHOLE = 256, /* counts are in 256ths: a sampled block stands for a fraction more than one */
    SIZE_BITS = 64 - HOLDER_BITS,
};

/* All blocks of one stack and function. */
struct holder {
    uint64_t key;  /* stack and function; 0: free */
    uint32_t lock; /* 1: a thread is changing it. Never held across anything that waits */
    uint64_t peak; /* number of the peak that the next two are of */
    int64_t peak_bytes, peak_count;
    int64_t bytes, count;
};

static struct holder *holders; /* the first takes what finds no other place */
uint16_t *kymo__held_filter;   /* stays mapped, a thread may be delayed in it */
uint16_t *kymo__memory_filter;
static int64_t total, peak_total;
static uint64_t peaks; /* number of the last peak */
static uint64_t lost, sampling_rate;
static struct kymo_blocks blocks;

int kymo__live_held_begin(uint64_t rate)
{
    const size_t bytes = HOLDERS * sizeof(*holders);
    const size_t filter_bytes = sizeof(*kymo__held_filter) << KYMO__MEMORY_FILTER_BITS;
    if (!holders)
        holders = kymo__pages_new(bytes);
    else
        kymo__pages_drop(holders, bytes);
    if (!kymo__held_filter)
        kymo__held_filter = kymo__pages_new(filter_bytes);
    else
        kymo__pages_drop(kymo__held_filter, filter_bytes);
    if (!holders || !kymo__held_filter)
        return -ENOMEM;
    kymo__store_release(&kymo__memory_filter, rate ? kymo__held_filter : NULL);
    total = peak_total = 0;
    peaks = lost = 0;
    sampling_rate = rate;
    return kymo__blocks_begin(&blocks);
}

void kymo__live_held_unused(void)
{
    kymo__store_release(&kymo__memory_filter, (uint16_t *)NULL);
}

/* ---- holders ---- */

static uint32_t holder_of(uint32_t stack, uint32_t function)
{
    uint64_t key = (uint64_t)stack << 32 | function;
    uint64_t at = kymo__hash_word(key * 31) >> (64 - HOLDER_BITS);
    for (int i = 0; key && i < PROBES; i++, at++) {
        struct holder *holder = &holders[at % (HOLDERS - 1) + 1];
        uint64_t now = kymo__load_relaxed(&holder->key);
        if (!now && kymo__swap_if(&holder->key, &now, key))
            now = key;
        if (now == key)
            return (uint32_t)(holder - holders);
    }
    return 0;
}

static void raise_peak(int64_t now)
{
    int64_t peak = kymo__load_relaxed(&peak_total);
    while (now > peak)
        if (kymo__swap_if(&peak_total, &peak, now)) {
            kymo__add_release(&peaks, UINT64_C(1));
            return;
        }
}

static void change_holder(struct holder *holder, int64_t bytes, int64_t count)
{
    uint32_t open = 0;
    for (int i = 0; !kymo__swap_if(&holder->lock, &open, 1u); i++, open = 0)
        if (i % 64 == 63)
            sched_yield();
    uint64_t last = kymo__load_acquire(&peaks);
    if (holder->peak != last) {
        holder->peak = last;
        holder->peak_bytes = holder->bytes;
        holder->peak_count = holder->count;
    }
    holder->bytes += bytes;
    holder->count += count;
    int64_t now = kymo__add_relaxed(&total, bytes) + bytes;
    if (bytes > 0)
        raise_peak(now);
    kymo__store_release(&holder->lock, 0u);
}

/* What a block of SIZE bytes stands for. */
static void weigh(uint64_t size, int64_t *bytes, int64_t *count)
{
    double weight = sampling_rate ? kymo__sampled_weight(size, sampling_rate) : 1;
    *bytes = (int64_t)((double)size * weight + 0.5);
    *count = (int64_t)(WHOLE * weight + 0.5);
}

/* ---- blocks ---- */

void kymo__held_add(uintptr_t address, uint64_t size, uint32_t stack, uint32_t function)
{
    uint32_t holder = holder_of(stack, function);
    int64_t bytes, count;
    weigh(size, &bytes, &count);
    if (size >> SIZE_BITS || !kymo__blocks_add(&blocks, address, size << HOLDER_BITS | holder)) {
        kymo__add_relaxed(&lost, UINT64_C(1));
        return;
    }
    if (sampling_rate)
        kymo__add_relaxed(&kymo__held_filter[kymo__memory_filter_at(address)], (uint16_t)1);
    change_holder(&holders[holder], bytes, count);
}

bool kymo__held_take(uintptr_t address, uint64_t *size, uint32_t *stack, uint32_t *function)
{
    uint64_t value;
    if (sampling_rate && !kymo__load_relaxed(&kymo__held_filter[kymo__memory_filter_at(address)]))
        return false;
    if (!kymo__blocks_take(&blocks, address, &value))
        return false;
    if (sampling_rate)
        kymo__add_relaxed(&kymo__held_filter[kymo__memory_filter_at(address)], (uint16_t)-1);
    struct holder *holder = &holders[value & (HOLDERS - 1)];
    int64_t bytes, count;
    *size = value >> HOLDER_BITS;
    *stack = (uint32_t)(holder->key >> 32);
    *function = (uint32_t)holder->key;
    weigh(*size, &bytes, &count);
    change_holder(holder, -bytes, -count);
    return true;
}

uint64_t kymo__held_lost(void)
{
    return kymo__load_relaxed(&lost);
}

void kymo__held_rows(bool at_peak, kymo_held_row *row, void *arg)
{
    uint64_t last = kymo__load_acquire(&peaks);
    for (uint32_t i = 0; i < HOLDERS; i++) {
        const struct holder *holder = &holders[i];
        if (!kymo__load_relaxed(&holder->key) && i)
            continue;
        bool then = at_peak && kymo__load_relaxed(&holder->peak) == last;
        int64_t bytes = kymo__load_relaxed(then ? &holder->peak_bytes : &holder->bytes);
        int64_t count = kymo__load_relaxed(then ? &holder->peak_count : &holder->count);
        count = (count + WHOLE / 2) / WHOLE;
        if (bytes > 0 || count > 0)
            row(arg, (uint64_t)bytes, (uint64_t)count, (uint32_t)(holder->key >> 32),
                (uint32_t)holder->key);
    }
}
