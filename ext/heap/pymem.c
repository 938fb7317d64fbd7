/* pymem.c — see pymem.h. A free is reported before it happens, an allocation afterwards. */
#include "pymem.h"

#include <kymo/memory.h>
#include <kymo/payload.h>

#include "births.h"

enum { DOMAINS = 3 }; /* PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ */

static struct domain {
    PyMemAllocatorEx below; /* what is wrapped; valid for ever once set, see pymem.h */
    bool placed;            /* our functions are installed, perhaps below someone else's */
    bool reached;           /* one of them was called while `probing` */
    uint32_t malloc_key, calloc_key, realloc_key; /* names, in the running session */
} domains[DOMAINS];

static uint32_t reporting;
static uint32_t probing; /* only while not reporting */

/* 1 while most calls end with the countdown of the sampled mode: it is on, and nothing else is to be
   done for every block. Then we are reporting, too. */
static uint32_t sampling;

static inline __attribute__((always_inline)) bool is_sampling(void)
{
    return __atomic_load_n(&sampling, __ATOMIC_RELAXED);
}

/* End a call for a block that is not sampled. */
static inline __attribute__((always_inline)) void *skipped(void *at)
{
    kymo__memory_thread.last = (uintptr_t)at;
    kymo_memory_leave();
    return at;
}

static inline __attribute__((always_inline)) bool enter(void)
{
    return (is_sampling() || __builtin_expect(__atomic_load_n(&reporting, __ATOMIC_RELAXED), 1)) &&
           kymo_memory_enter();
}

/* Objects are in the domains mem and object. */
static inline __attribute__((always_inline)) bool keeps_births(const struct domain *d)
{
    return __builtin_expect(__atomic_load_n(&kymo__births_on, __ATOMIC_RELAXED), 0) &&
           d != &domains[PYMEM_DOMAIN_RAW];
}

static inline __attribute__((always_inline)) void allocated(const struct domain *d, uint32_t key,
                                                            void *at, size_t size)
{
    if (!kymo_memory_passes(at, size))
        kymo_memory_allocated(key, at, size);
    if (keeps_births(d))
        kymo__births_add(at, size);
}

static inline __attribute__((always_inline)) void *domain_malloc(struct domain *d, size_t size)
{
    if (!enter()) {
        if (__builtin_expect(__atomic_load_n(&probing, __ATOMIC_RELAXED), 0))
            d->reached = true;
        return d->below.malloc(d->below.ctx, size);
    }
    if (is_sampling() && kymo_memory_skips(size))
        return skipped(d->below.malloc(d->below.ctx, size));
    void *at = d->below.malloc(d->below.ctx, size);
    if (at)
        allocated(d, d->malloc_key, at, size);
    kymo_memory_leave();
    return at;
}

static inline __attribute__((always_inline)) void *domain_calloc(const struct domain *d,
                                                                 size_t count, size_t size)
{
    if (!enter())
        return d->below.calloc(d->below.ctx, count, size);
    if (is_sampling() && kymo_memory_skips(count * size))
        return skipped(d->below.calloc(d->below.ctx, count, size));
    void *at = d->below.calloc(d->below.ctx, count, size);
    if (at)
        allocated(d, d->calloc_key, at, count * size);
    kymo_memory_leave();
    return at;
}

static inline __attribute__((always_inline)) void *domain_realloc(const struct domain *d,
                                                                  void *from, size_t size)
{
    if (!enter())
        return d->below.realloc(d->below.ctx, from, size);
    struct kymo_memory_move move;
    if (from)
        kymo_memory_moving(&move, from);
    void *at = d->below.realloc(d->below.ctx, from, size);
    if (!from && at)
        allocated(d, d->realloc_key, at, size);
    else if (from) /* Python's allocators keep a block that they could not resize */
        kymo_memory_moved(&move, d->realloc_key, at, size, false);
    if (from && at && keeps_births(d)) {
        kymo__births_remove(from);
        kymo__births_add(at, size);
    }
    kymo_memory_leave();
    return at;
}

static inline __attribute__((always_inline)) void domain_free(const struct domain *d, void *at)
{
    if (!at || (is_sampling() && kymo_memory_unsampled(at)) || !enter()) {
        d->below.free(d->below.ctx, at);
        return;
    }
    kymo_memory_freeing(at);
    if (keeps_births(d))
        kymo__births_remove(at);
    d->below.free(d->below.ctx, at);
    kymo_memory_leave();
}

/* The context of the wrapped allocator is not used: see pymem.h. */
#define WRAPPERS(name, number)                                                                     \
    static void *name##_malloc(void *Py_UNUSED(ctx), size_t size)                                  \
    {                                                                                              \
        return domain_malloc(&domains[number], size);                                              \
    }                                                                                              \
    static void *name##_calloc(void *Py_UNUSED(ctx), size_t count, size_t size)                    \
    {                                                                                              \
        return domain_calloc(&domains[number], count, size);                                       \
    }                                                                                              \
    static void *name##_realloc(void *Py_UNUSED(ctx), void *from, size_t size)                     \
    {                                                                                              \
        return domain_realloc(&domains[number], from, size);                                       \
    }                                                                                              \
    static void name##_free(void *Py_UNUSED(ctx), void *at)                                        \
    {                                                                                              \
        domain_free(&domains[number], at);                                                         \
    }

WRAPPERS(raw, PYMEM_DOMAIN_RAW)
WRAPPERS(mem, PYMEM_DOMAIN_MEM)
WRAPPERS(obj, PYMEM_DOMAIN_OBJ)

static const PyMemAllocatorEx wrappers[DOMAINS] = {
    [PYMEM_DOMAIN_RAW] = {NULL, raw_malloc, raw_calloc, raw_realloc, raw_free},
    [PYMEM_DOMAIN_MEM] = {NULL, mem_malloc, mem_calloc, mem_realloc, mem_free},
    [PYMEM_DOMAIN_OBJ] = {NULL, obj_malloc, obj_calloc, obj_realloc, obj_free},
};

static const char *const names[DOMAINS][3] = {
    [PYMEM_DOMAIN_RAW] = {"PyMem_RawMalloc", "PyMem_RawCalloc", "PyMem_RawRealloc"},
    [PYMEM_DOMAIN_MEM] = {"PyMem_Malloc", "PyMem_Calloc", "PyMem_Realloc"},
    [PYMEM_DOMAIN_OBJ] = {"PyObject_Malloc", "PyObject_Calloc", "PyObject_Realloc"},
};

/* Are our functions the outermost of domain NUMBER? */
static bool is_outermost(int number)
{
    PyMemAllocatorEx now;
    PyMem_GetAllocator((PyMemAllocatorDomain)number, &now);
    return now.malloc == wrappers[number].malloc && now.calloc == wrappers[number].calloc &&
           now.realloc == wrappers[number].realloc && now.free == wrappers[number].free;
}

int kymo__pymem_placed(void)
{
    int count = 0;
    for (int i = 0; i < DOMAINS; i++)
        count += is_outermost(i);
    return count;
}

/* Does Python still call our functions of domain NUMBER? Whoever wraps them may be gone, and may have
   put back what it found before us. */
static bool is_reached(int number)
{
    static void *(*const allocate[DOMAINS])(size_t) = {PyMem_RawMalloc, PyMem_Malloc,
                                                       PyObject_Malloc};
    static void (*const release[DOMAINS])(void *) = {PyMem_RawFree, PyMem_Free, PyObject_Free};
    domains[number].reached = false;
    __atomic_store_n(&probing, 1u, __ATOMIC_SEQ_CST);
    release[number](allocate[number](1));
    __atomic_store_n(&probing, 0u, __ATOMIC_SEQ_CST);
    return domains[number].reached;
}

static void place_wrapper(int number)
{
    struct domain *d = &domains[number];
    PyMemAllocatorEx ours = wrappers[number];
    PyMem_GetAllocator((PyMemAllocatorDomain)number, &d->below);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    ours.ctx = d->below.ctx;
    PyMem_SetAllocator((PyMemAllocatorDomain)number, &ours);
    d->placed = true;
}

void kymo__pymem_install(bool sampled)
{
    for (int i = 0; i < DOMAINS; i++) {
        domains[i].malloc_key = kymo_name_key(names[i][0]);
        domains[i].calloc_key = kymo_name_key(names[i][1]);
        domains[i].realloc_key = kymo_name_key(names[i][2]);
    }
    for (int i = 0; i < DOMAINS; i++)
        if (!domains[i].placed || !is_reached(i))
            place_wrapper(i);
    __atomic_store_n(&reporting, 1u, __ATOMIC_RELEASE);
    __atomic_store_n(&sampling, (uint32_t)(sampled && !kymo__births_on), __ATOMIC_RELEASE);
}

void kymo__pymem_silence(void)
{
    __atomic_store_n(&sampling, 0u, __ATOMIC_RELEASE);
    __atomic_store_n(&reporting, 0u, __ATOMIC_RELEASE);
}

int kymo__pymem_remove(int *gone)
{
    int kept = 0;
    kymo__pymem_silence();
    for (int i = 0; i < DOMAINS; i++) {
        if (!domains[i].placed)
            continue;
        bool outermost = is_outermost(i), reached = outermost || is_reached(i);
        if (outermost)
            PyMem_SetAllocator((PyMemAllocatorDomain)i, &domains[i].below);
        domains[i].placed = reached && !outermost;
        kept += domains[i].placed;
        *gone += !reached;
    }
    return kept;
}
