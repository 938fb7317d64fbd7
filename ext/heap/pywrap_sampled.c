/* pywrap_sampled.c — the wrappers for the sampled mode: see pywrap.h. Nearly every call is a subtraction
   or a look at the filter, and a jump. */
#include "pywrap.h"

#include <kymo/memory.h>

const uint16_t *kymo__pywrap_filter;
uint32_t kymo__pywrap_sampling;

/* ---- calls that have to be looked at ---- */

/* If not, what is called reports: nothing is decided here, and it must not be hidden. */
PYWRAP_INLINE bool samples(void)
{
    return __builtin_expect(__atomic_load_n(&kymo__pywrap_sampling, __ATOMIC_RELAXED), 1);
}

#define LOOKING static __attribute__((noinline, cold))

LOOKING void *look_malloc(const struct pywrap *d, size_t size)
{
    if (!samples())
        return d->onward.malloc(d->onward.ctx, size);
    uint32_t look = kymo_memory_look(size);
    void *at = d->onward.malloc(d->onward.ctx, size);
    return kymo_memory_looked(look, d->malloc_key, at, size);
}

LOOKING void *look_calloc(const struct pywrap *d, size_t count, size_t size)
{
    if (!samples())
        return d->onward.calloc(d->onward.ctx, count, size);
    uint32_t look = kymo_memory_look(count * size);
    void *at = d->onward.calloc(d->onward.ctx, count, size);
    return kymo_memory_looked(look, d->calloc_key, at, count * size);
}

LOOKING void *look_realloc(const struct pywrap *d, void *from, size_t size)
{
    if (!samples())
        return d->onward.realloc(d->onward.ctx, from, size);
    uint32_t look = kymo_memory_look(size);
    struct kymo_memory_move move;
    bool moves = from && look;
    if (moves) {
        kymo_memory_moving(&move, from);
        kymo_memory_releasing(from, kymo__pywrap_offset);
        move.look = look;
    }
    void *at = d->onward.realloc(d->onward.ctx, from, size);
    if (moves) { /* Python's allocators keep a block that they could not resize */
        kymo_memory_released();
        kymo_memory_moved(&move, d->realloc_key, at, size, false);
    }
    return kymo_memory_looked(moves ? 1 : look, d->realloc_key, at, size);
}

LOOKING void look_free(const struct pywrap *d, void *at)
{
    bool outermost = at && samples() && kymo_memory_enter();
    if (!outermost && at && samples() && kymo_memory_is_apart(at)) {
        kymo__pywrap_free_apart(&d->onward, at);
        return;
    }
    if (outermost) {
        kymo_memory_freeing(at);
        kymo_memory_releasing(at, kymo__pywrap_offset);
    }
    d->onward.free(d->onward.ctx, at);
    if (outermost) {
        kymo_memory_released();
        kymo_memory_leave();
    }
}

/* ---- the others ---- */

/* Is AT certainly not sampled? Also for NULL. */
PYWRAP_INLINE bool is_unsampled(const void *at)
{
    const uint16_t *filter = __atomic_load_n(&kymo__pywrap_filter, __ATOMIC_RELAXED);
    return __builtin_expect(
        !__atomic_load_n(&filter[kymo__memory_filter_at((uintptr_t)at)], __ATOMIC_RELAXED), 1);
}

PYWRAP_INLINE void *inner_end(void *at)
{
    kymo__memory_thread.last = (uintptr_t)at;
    kymo_memory_inner_end();
    return at;
}

/* Out of line, so that a call for a small block needs no stack. */
#define NESTING static __attribute__((noinline))

NESTING void *nest_malloc(const struct pywrap *d, size_t size)
{
    if (!samples())
        return d->onward.malloc(d->onward.ctx, size);
    kymo_memory_inner_begin();
    return inner_end(d->onward.malloc(d->onward.ctx, size));
}

NESTING void *nest_calloc(const struct pywrap *d, size_t count, size_t size)
{
    if (!samples())
        return d->onward.calloc(d->onward.ctx, count, size);
    kymo_memory_inner_begin();
    return inner_end(d->onward.calloc(d->onward.ctx, count, size));
}

PYWRAP_INLINE void *domain_malloc(const struct pywrap *d, size_t size)
{
    if (!kymo_memory_skips(size))
        return look_malloc(d, size);
    if (size <= d->alone)
        return d->onward.malloc(d->onward.ctx, size);
    return nest_malloc(d, size);
}

PYWRAP_INLINE void *domain_calloc(const struct pywrap *d, size_t count, size_t size)
{
    if (!kymo_memory_skips(count * size))
        return look_calloc(d, count, size);
    if (count * size <= d->alone)
        return d->onward.calloc(d->onward.ctx, count, size);
    return nest_calloc(d, count, size);
}

PYWRAP_INLINE void *domain_realloc(const struct pywrap *d, void *from, size_t size)
{
    if (!is_unsampled(from) || !kymo_memory_skips(size))
        return look_realloc(d, from, size);
    if (!samples())
        return d->onward.realloc(d->onward.ctx, from, size);
    kymo_memory_inner_begin();
    return inner_end(d->onward.realloc(d->onward.ctx, from, size));
}

PYWRAP_INLINE void domain_free(const struct pywrap *d, void *at)
{
    if (is_unsampled(at))
        d->onward.free(d->onward.ctx, at);
    else
        look_free(d, at);
}

PYWRAP_TABLE(kymo__pywrap_samples);
