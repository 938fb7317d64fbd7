/* hooks_nesting.c — the malloc family and C++'s operators in the sampled mode, where what is called may
   get to further hooks: operator new calls malloc, and an allocator that is not the C library's calls
   mmap. The thread is marked meanwhile.

   Hooks inside count bytes of their own. That does no harm: see kymo_memory_skips. */
#include <assert.h>

#include "heaprec.h"
#include "hooks_looking.h"
#include "unwound.h"
#include "variants.h"

/* ---- around the calls ---- */

/* The mode is on. Otherwise what is called reports, and must not be hidden. */
HOOK_INLINE bool samples(void)
{
    return kymo__likely(kymo__load_relaxed(&kymo__hooked.sampling));
}

HOOK_INLINE void *inner_end(void *at)
{
    kymo__memory_thread.last = (uintptr_t)at;
    kymo_memory_inner_end();
    return at;
}

/* ---- the malloc family ---- */

HOOK_INLINE void *nest_malloc(void *original, const uint32_t *key, size_t size)
{
    void *(*call)(size_t) = HOOK_CALL(void *(*)(size_t), original);
    if (!samples())
        return call(size);
    if (!kymo_memory_skips(size))
        return kymo__look_malloc(original, key, size);
    kymo_memory_inner_begin();
    return inner_end(call(size));
}

HOOK_INLINE void *nest_calloc(void *original, const uint32_t *key, size_t count, size_t size)
{
    void *(*call)(size_t, size_t) = HOOK_CALL(void *(*)(size_t, size_t), original);
    if (!samples())
        return call(count, size);
    if (!kymo_memory_skips(count * size))
        return kymo__look_calloc(original, key, count, size);
    kymo_memory_inner_begin();
    return inner_end(call(count, size));
}

HOOK_INLINE void *nest_realloc(void *original, const uint32_t *key, void *old, size_t size)
{
    void *(*call)(void *, size_t) = HOOK_CALL(void *(*)(void *, size_t), original);
    if (!samples())
        return call(old, size);
    if (!kymo__held_not(old) || !kymo_memory_skips(size))
        return kymo__look_realloc(original, key, old, size);
    kymo_memory_inner_begin();
    return inner_end(call(old, size));
}

HOOK_INLINE void nest_free(void *original, void *at)
{
    void (*call)(void *) = HOOK_CALL(void (*)(void *), original);
    if (!samples()) {
        call(at);
    } else if (!kymo__held_not(at)) {
        kymo__look_free(original, at);
    } else {
        kymo_memory_inner_begin();
        call(at);
        kymo_memory_inner_end();
    }
}

/* ---- the operators ---- */

typedef void *some_new(size_t size, uintptr_t a, uintptr_t b);
typedef void some_delete(void *at, uintptr_t a, uintptr_t b);

/* Every operator takes at most two more words: an alignment, the address of a tag. Further registers do
   no harm in either architecture's calling convention. */
WHOLE static void *new_skipped(void *original, size_t size, uintptr_t a, uintptr_t b)
{
    NOTICE_UNWINDING();
    kymo_memory_inner_begin();
    return inner_end(HOOK_CALL(some_new *, original)(size, a, b));
}

WHOLE static void *new_looking(void *original, size_t size, uintptr_t a, uintptr_t b,
                               const uint32_t *key)
{
    NOTICE_UNWINDING();
    uint32_t look = kymo_memory_look(size);
    void *at = HOOK_CALL(some_new *, original)(size, a, b);
    return kymo_memory_looked(look, hook_key(key), at, size);
}

HOOK_INLINE void *create(void *original, size_t size, uintptr_t a, uintptr_t b, const uint32_t *key)
{
    if (!samples())
        return HOOK_CALL(some_new *, original)(size, a, b);
    return kymo_memory_skips(size) ? new_skipped(original, size, a, b)
                                   : new_looking(original, size, a, b, key);
}

static KYMO__COLD void delete_looking(void *original, void *at, uintptr_t a, uintptr_t b)
{
    bool outermost = at && kymo_memory_enter();
    if (outermost)
        kymo__heaprec_freeing(at);
    HOOK_CALL(some_delete *, original)(at, a, b);
    if (outermost)
        kymo_memory_leave();
}

HOOK_INLINE void destroy(void *original, void *at, uintptr_t a, uintptr_t b)
{
    some_delete *call = HOOK_CALL(some_delete *, original);
    if (!samples()) {
        call(at, a, b);
    } else if (!kymo__held_not(at)) {
        delete_looking(original, at, a, b);
    } else {
        kymo_memory_inner_begin();
        call(at, a, b);
        kymo_memory_inner_end();
    }
}

/* ---- the hooks ---- */

HOOK_SAMPLED(MALLOC, void *, nest_malloc, (size_t size), HOOK_KEY_AT(MALLOC), size)
HOOK_SAMPLED(CALLOC, void *, nest_calloc, (size_t count, size_t size), HOOK_KEY_AT(CALLOC), count,
             size)
HOOK_SAMPLED(REALLOC, void *, nest_realloc, (void *old, size_t size), HOOK_KEY_AT(REALLOC), old,
             size)
HOOK_SAMPLED(FREE, void, nest_free, (void *at), at)

#define CREATE(ID)                                                                                 \
    HOOK_SAMPLED(ID, void *, create, (size_t size, uintptr_t a, uintptr_t b), size, a, b,          \
                 HOOK_KEY_AT(ID))
#define DESTROY(ID) HOOK_SAMPLED(ID, void, destroy, (void *at, uintptr_t a, uintptr_t b), at, a, b)

HOOK_OPERATORS(CREATE, DESTROY)

void kymo__hooks_nesting(kymo_hook_table table)
{
#define ENTER(ID) HOOK_ENTER(table, ID);
    ENTER(MALLOC)
    ENTER(CALLOC)
    ENTER(REALLOC)
    ENTER(FREE)
    HOOK_OPERATORS(ENTER, ENTER)
#undef ENTER
}
