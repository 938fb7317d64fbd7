/* pywrap.c — the wrappers that report every call: see pywrap.h. */
#include "pywrap.h"

#include <kymo/memory.h>

#include "births.h"

struct pywrap kymo__pywrap[PYWRAP_DOMAINS];
uint32_t kymo__pywrap_reporting, kymo__pywrap_probing, kymo__pywrap_offset;

void kymo__pywrap_free_apart(const PyMemAllocatorEx *below, void *at)
{
    const struct kymo_memory_thread outer = kymo__memory_thread;
    kymo_memory_freeing(at);
    kymo_memory_releasing(at, kymo__pywrap_offset);
    below->free(below->ctx, at);
    kymo__memory_thread.releasing_from = outer.releasing_from;
    kymo__memory_thread.releasing_to = outer.releasing_to;
}

PYWRAP_INLINE bool enter(void)
{
    return __builtin_expect(__atomic_load_n(&kymo__pywrap_reporting, __ATOMIC_RELAXED), 1) &&
           kymo_memory_enter();
}

PYWRAP_INLINE bool keeps_births(void)
{
    return __builtin_expect(__atomic_load_n(&kymo__births_on, __ATOMIC_RELAXED), 0);
}

PYWRAP_INLINE void is_born(const struct pywrap *d, const void *at, size_t size)
{
    kymo__births_add(at, size, d == &kymo__pywrap[PYMEM_DOMAIN_RAW]);
}

PYWRAP_INLINE void allocated(const struct pywrap *d, uint32_t key, void *at, size_t size)
{
    if (!kymo_memory_passes(at, size))
        kymo_memory_allocated(key, at, size);
    if (keeps_births())
        is_born(d, at, size);
}

PYWRAP_INLINE void *domain_malloc(struct pywrap *d, size_t size)
{
    if (!enter()) {
        if (__builtin_expect(__atomic_load_n(&kymo__pywrap_probing, __ATOMIC_RELAXED), 0))
            d->reached = true;
        return d->below.malloc(d->below.ctx, size);
    }
    void *at = d->below.malloc(d->below.ctx, size);
    if (at)
        allocated(d, d->malloc_key, at, size);
    kymo_memory_leave();
    return at;
}

PYWRAP_INLINE void *domain_calloc(const struct pywrap *d, size_t count, size_t size)
{
    if (!enter())
        return d->below.calloc(d->below.ctx, count, size);
    void *at = d->below.calloc(d->below.ctx, count, size);
    if (at)
        allocated(d, d->calloc_key, at, count * size);
    kymo_memory_leave();
    return at;
}

PYWRAP_INLINE void *domain_realloc(const struct pywrap *d, void *from, size_t size)
{
    if (!enter())
        return d->below.realloc(d->below.ctx, from, size);
    struct kymo_memory_move move;
    if (from) {
        kymo_memory_moving(&move, from);
        kymo_memory_releasing(from, kymo__pywrap_offset);
    }
    void *at = d->below.realloc(d->below.ctx, from, size);
    kymo_memory_released();
    if (!from && at)
        allocated(d, d->realloc_key, at, size);
    else if (from) /* Python's allocators keep a block that they could not resize */
        kymo_memory_moved(&move, d->realloc_key, at, size, false);
    if (from && at && keeps_births()) {
        kymo__births_remove(from);
        is_born(d, at, size);
    }
    kymo_memory_leave();
    return at;
}

PYWRAP_INLINE void domain_free(const struct pywrap *d, void *at)
{
    if (!at || !enter()) {
        if (at && kymo_memory_is_apart(at))
            kymo__pywrap_free_apart(&d->below, at);
        else
            d->below.free(d->below.ctx, at);
        return;
    }
    kymo_memory_freeing(at);
    if (keeps_births())
        kymo__births_remove(at);
    kymo_memory_releasing(at, kymo__pywrap_offset);
    d->below.free(d->below.ctx, at);
    kymo_memory_released();
    kymo_memory_leave();
}

PYWRAP_TABLE(kymo__pywrap_reports);
