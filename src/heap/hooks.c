/* hooks.c — what the program calls in place of malloc and its family; in the sampled mode, see
   hooks_passing.c.

   Each hook calls the function that its slot led to. Around an outermost call it reports: a free
   before the call, an allocation after it. */
#include <assert.h>

#include "heaprec.h"
#include "sizes.h"
#include "variants.h"

typedef void *one_size(size_t size);
typedef void *two_sizes(size_t a, size_t b);

/* ---- allocating ---- */

HOOK_INLINE void *allocate(void *original, const uint32_t *key, size_t size)
{
    one_size *call = HOOK_CALL(one_size *, original);
    if (!kymo_memory_enter())
        return call(size);
    void *at = call(size);
    if (kymo__likely(at != NULL) && kymo__heaprec_wants(at, size))
        kymo__heaprec_allocated(hook_key(key), at, size);
    kymo_memory_leave();
    return at;
}

/* aligned_alloc and memalign: SIZE comes second. */
HOOK_INLINE void *allocate_aligned(void *original, uint32_t key, size_t alignment, size_t size)
{
    two_sizes *call = HOOK_CALL(two_sizes *, original);
    if (!kymo_memory_enter())
        return call(alignment, size);
    void *at = call(alignment, size);
    if (at && kymo__heaprec_wants(at, size))
        kymo__heaprec_allocated(key, at, size);
    kymo_memory_leave();
    return at;
}

HOOK_INLINE void *allocate_zeroed(void *original, const uint32_t *key, size_t count, size_t size)
{
    two_sizes *call = HOOK_CALL(two_sizes *, original);
    if (!kymo_memory_enter())
        return call(count, size);
    void *at = call(count, size);
    if (kymo__likely(at != NULL) && kymo__heaprec_wants(at, count * size))
        kymo__heaprec_allocated(hook_key(key), at, count * size);
    kymo_memory_leave();
    return at;
}

HOOK_INLINE int allocate_into(void *original, uint32_t key, void **place, size_t alignment,
                              size_t size)
{
    int (*call)(void **, size_t, size_t) = HOOK_CALL(int (*)(void **, size_t, size_t), original);
    if (!kymo_memory_enter())
        return call(place, alignment, size);
    int rc = call(place, alignment, size);
    if (rc == 0 && *place && kymo__heaprec_wants(*place, size))
        kymo__heaprec_allocated(key, *place, size);
    kymo_memory_leave();
    return rc;
}

/* ---- resizing ---- */

HOOK_INLINE void *resize(void *original, uint32_t key, void *old, size_t size)
{
    void *(*call)(void *, size_t) = HOOK_CALL(void *(*)(void *, size_t), original);
    if (!kymo_memory_enter())
        return call(old, size);
    struct kymo_memory_move move;
    uint64_t was = kymo__sizes_moving(old);
    if (old)
        kymo_memory_moving(&move, old);
    void *at = call(old, size);
    if (old)
        kymo_memory_moved(&move, key, at, size, size == 0);
    else if (at)
        kymo_memory_allocated(key, at, size);
    kymo__sizes_moved(old, was, at, size, size == 0);
    kymo_memory_leave();
    return at;
}

HOOK_INLINE void *resize_array(void *original, uint32_t key, void *old, size_t count, size_t size)
{
    void *(*call)(void *, size_t, size_t) = HOOK_CALL(void *(*)(void *, size_t, size_t), original);
    if (!kymo_memory_enter())
        return call(old, count, size);
    struct kymo_memory_move move;
    uint64_t was = kymo__sizes_moving(old);
    if (old)
        kymo_memory_moving(&move, old);
    void *at = call(old, count, size);
    if (old)
        kymo_memory_moved(&move, key, at, count * size, count == 0 || size == 0);
    else if (at)
        kymo_memory_allocated(key, at, count * size);
    kymo__sizes_moved(old, was, at, count * size, count == 0 || size == 0);
    kymo_memory_leave();
    return at;
}

/* ---- freeing ---- */

HOOK_INLINE void release_block(void *original, void *at)
{
    void (*call)(void *) = HOOK_CALL(void (*)(void *), original);
    if (!at || !kymo_memory_enter()) {
        if (at && kymo_memory_is_apart(at) && kymo__heaprec_wants_free(at))
            kymo__heaprec_freeing(at);
        call(at);
        return;
    }
    if (kymo__heaprec_wants_free(at))
        kymo__heaprec_freeing(at);
    call(at);
    kymo_memory_leave();
}

HOOK_INLINE void release_sized(void *original, void *at, size_t size)
{
    void (*call)(void *, size_t) = HOOK_CALL(void (*)(void *, size_t), original);
    if (!at || !kymo_memory_enter()) {
        call(at, size);
        return;
    }
    if (kymo__heaprec_wants_free(at))
        kymo__heaprec_freeing(at);
    call(at, size);
    kymo_memory_leave();
}

HOOK_INLINE void release_aligned(void *original, void *at, size_t alignment, size_t size)
{
    void (*call)(void *, size_t, size_t) = HOOK_CALL(void (*)(void *, size_t, size_t), original);
    if (!at || !kymo_memory_enter()) {
        call(at, alignment, size);
        return;
    }
    if (kymo__heaprec_wants_free(at))
        kymo__heaprec_freeing(at);
    call(at, alignment, size);
    kymo_memory_leave();
}

/* ---- the hooks ---- */

HOOK_VARIANTS(MALLOC, void *, allocate, (size_t size), HOOK_KEY_AT(MALLOC), size)
HOOK_VARIANTS(VALLOC, void *, allocate, (size_t size), HOOK_KEY_AT(VALLOC), size)
HOOK_VARIANTS(PVALLOC, void *, allocate, (size_t size), HOOK_KEY_AT(PVALLOC), size)
HOOK_VARIANTS(CALLOC, void *, allocate_zeroed, (size_t count, size_t size), HOOK_KEY_AT(CALLOC),
              count, size)
HOOK_VARIANTS(ALIGNED_ALLOC, void *, allocate_aligned, (size_t alignment, size_t size),
              HOOK_KEY(ALIGNED_ALLOC), alignment, size)
HOOK_VARIANTS(MEMALIGN, void *, allocate_aligned, (size_t alignment, size_t size),
              HOOK_KEY(MEMALIGN), alignment, size)
HOOK_VARIANTS(POSIX_MEMALIGN, int, allocate_into, (void **place, size_t alignment, size_t size),
              HOOK_KEY(POSIX_MEMALIGN), place, alignment, size)
HOOK_VARIANTS(REALLOC, void *, resize, (void *old, size_t size), HOOK_KEY(REALLOC), old, size)
HOOK_VARIANTS(REALLOCARRAY, void *, resize_array, (void *old, size_t count, size_t size),
              HOOK_KEY(REALLOCARRAY), old, count, size)
HOOK_VARIANTS(FREE, void, release_block, (void *at), at)
HOOK_VARIANTS(CFREE, void, release_block, (void *at), at)
HOOK_VARIANTS(FREE_SIZED, void, release_sized, (void *at, size_t size), at, size)
HOOK_VARIANTS(FREE_ALIGNED_SIZED, void, release_aligned, (void *at, size_t alignment, size_t size),
              at, alignment, size)

void kymo__hooks_malloc(kymo_hook_table table)
{
    HOOK_ENTER(table, MALLOC);
    HOOK_ENTER(table, VALLOC);
    HOOK_ENTER(table, PVALLOC);
    HOOK_ENTER(table, CALLOC);
    HOOK_ENTER(table, ALIGNED_ALLOC);
    HOOK_ENTER(table, MEMALIGN);
    HOOK_ENTER(table, POSIX_MEMALIGN);
    HOOK_ENTER(table, REALLOC);
    HOOK_ENTER(table, REALLOCARRAY);
    HOOK_ENTER(table, FREE);
    HOOK_ENTER(table, CFREE);
    HOOK_ENTER(table, FREE_SIZED);
    HOOK_ENTER(table, FREE_ALIGNED_SIZED);
}
