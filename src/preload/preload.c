/* preload.c — the malloc family, passed on to whoever would have had the call otherwise.

   This library comes before all others in LD_PRELOAD, so that a program which looks up malloc by
   itself finds it here. Each function calls on through a pointer that libkymo may make lead to its
   hooks (preload.h). Without libkymo it changes nothing. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "preload.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    MALLOC,
    CALLOC,
    REALLOC,
    REALLOCARRAY,
    ALIGNED_ALLOC,
    POSIX_MEMALIGN,
    MEMALIGN,
    VALLOC,
    PVALLOC,
    FREE,
    COUNT
};

EXPORT struct kymo_preload_entry kymo_preload_table[COUNT + 1] = {
    [MALLOC] = {"malloc", NULL, NULL},
    [CALLOC] = {"calloc", NULL, NULL},
    [REALLOC] = {"realloc", NULL, NULL},
    [REALLOCARRAY] = {"reallocarray", NULL, NULL},
    [ALIGNED_ALLOC] = {"aligned_alloc", NULL, NULL},
    [POSIX_MEMALIGN] = {"posix_memalign", NULL, NULL},
    [MEMALIGN] = {"memalign", NULL, NULL},
    [VALLOC] = {"valloc", NULL, NULL},
    [PVALLOC] = {"pvalloc", NULL, NULL},
    [FREE] = {"free", NULL, NULL},
};

/* ---- before the functions are known ---- */

/* dlsym may allocate. What it gets from here is never reused. */
static _Alignas(16) char early[1 << 16];
static size_t early_used;
static __thread bool resolving __attribute__((tls_model("initial-exec")));
static bool resolved;
static uintptr_t loader, loader_end; /* where the loader lies */

static bool is_early(const void *at)
{
    return (uintptr_t)at - (uintptr_t)early < sizeof(early);
}

static void *early_block(size_t size)
{
    size_t whole = (size + 15) & ~(size_t)15;
    if (whole < size || whole > sizeof(early))
        return NULL;
    size_t at = __atomic_fetch_add(&early_used, whole, __ATOMIC_RELAXED);
    return at <= sizeof(early) - whole ? early + at : NULL;
}

static int find_loader(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size, (void)arg;
    if (info->dlpi_addr != _r_debug.r_ldbase || !info->dlpi_addr)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t end = info->dlpi_addr + part->p_vaddr + part->p_memsz;
        if (part->p_type == PT_LOAD && end > loader_end)
            loader_end = end;
    }
    loader = info->dlpi_addr;
    return 1;
}

/* Find the functions. False when dlsym, called by this, allocates. Two threads may do it at once:
   both find the same. */
static bool resolve_functions(void)
{
    if (__atomic_load_n(&resolved, __ATOMIC_ACQUIRE))
        return true;
    if (resolving)
        return false;
    resolving = true;
    dl_iterate_phdr(find_loader, NULL);
    for (int i = 0; i < COUNT; i++) {
        void *real = dlsym(RTLD_NEXT, kymo_preload_table[i].symbol), *none = NULL;
        __atomic_store_n(&kymo_preload_table[i].real, real, __ATOMIC_RELAXED);
        __atomic_compare_exchange_n(&kymo_preload_table[i].next, &none, real, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&resolved, true, __ATOMIC_RELEASE);
    resolving = false;
    return true;
}

/* What function I calls for a caller at FROM; NULL: nothing yet, or there is none. The loader's own
   allocations are not recorded: it makes them in states in which nothing else may run. */
static void *target(int i, const void *from)
{
    if (__builtin_expect(!resolve_functions(), 0))
        return NULL;
    bool loads = (uintptr_t)from - loader < loader_end - loader;
    return loads ? kymo_preload_table[i].real
                 : __atomic_load_n(&kymo_preload_table[i].next, __ATOMIC_ACQUIRE);
}

#define TARGET(i) target(i, __builtin_return_address(0))

static void *failed(void)
{
    errno = ENOMEM;
    return NULL;
}

/* ---- the functions ---- */

EXPORT void *malloc(size_t size)
{
    void *(*call)(size_t) = (void *(*)(size_t))(uintptr_t)TARGET(MALLOC);
    return call ? call(size) : early_block(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
    void *(*call)(size_t, size_t) = (void *(*)(size_t, size_t))(uintptr_t)TARGET(CALLOC);
    size_t bytes;
    if (call)
        return call(count, size);
    return __builtin_mul_overflow(count, size, &bytes) ? failed() : early_block(bytes);
}

EXPORT void *realloc(void *old, size_t size)
{
    void *(*call)(void *, size_t) = (void *(*)(void *, size_t))(uintptr_t)TARGET(REALLOC);
    if (call && !is_early(old))
        return call(old, size);
    /* How long the old block was is not known, but where its memory ends. */
    void *block = malloc(size);
    size_t most = is_early(old) ? (size_t)(early + sizeof(early) - (char *)old) : 0;
    if (block && most)
        memmove(block, old, size < most ? size : most);
    return block;
}

EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
    void *(*call)(void *, size_t, size_t) =
        (void *(*)(void *, size_t, size_t))(uintptr_t)TARGET(REALLOCARRAY);
    size_t bytes;
    if (call && !is_early(old))
        return call(old, count, size);
    return __builtin_mul_overflow(count, size, &bytes) ? failed() : realloc(old, bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    void *(*call)(size_t, size_t) = (void *(*)(size_t, size_t))(uintptr_t)TARGET(ALIGNED_ALLOC);
    return call ? call(alignment, size) : failed();
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    void *(*call)(size_t, size_t) = (void *(*)(size_t, size_t))(uintptr_t)TARGET(MEMALIGN);
    return call ? call(alignment, size) : failed();
}

EXPORT int posix_memalign(void **place, size_t alignment, size_t size)
{
    int (*call)(void **, size_t, size_t) =
        (int (*)(void **, size_t, size_t))(uintptr_t)TARGET(POSIX_MEMALIGN);
    return call ? call(place, alignment, size) : ENOMEM;
}

EXPORT void *valloc(size_t size)
{
    void *(*call)(size_t) = (void *(*)(size_t))(uintptr_t)TARGET(VALLOC);
    return call ? call(size) : failed();
}

EXPORT void *pvalloc(size_t size)
{
    void *(*call)(size_t) = (void *(*)(size_t))(uintptr_t)TARGET(PVALLOC);
    return call ? call(size) : failed();
}

EXPORT void free(void *at)
{
    if (!at || is_early(at))
        return;
    void (*call)(void *) = (void (*)(void *))(uintptr_t)TARGET(FREE);
    if (call)
        call(at);
}
