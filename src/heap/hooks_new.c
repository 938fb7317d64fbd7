/* hooks_new.c — operator new and delete, by their mangled names.

   operator new may throw through a hook: see unwound.h. */
#include <assert.h>

#include "heaprec.h"
#include "unwound.h"
#include "variants.h"

enum { CLEANUP_PHASE = 2, CONTINUE_UNWIND = 8 }; /* of the C++ ABI */

__attribute__((used)) int kymo__heaprec_unwound(int version, int actions, uint64_t kind,
                                                const void *exception, const void *context)
{
    (void)version, (void)kind, (void)exception, (void)context;
    if (actions & CLEANUP_PHASE)
        kymo_memory_inner_end(); /* which is kymo_memory_leave in an outermost call */
    return CONTINUE_UNWIND;
}

typedef void *plain_new(size_t size);
typedef void *other_new(size_t size, const void *other); /* nothrow: a reference to a tag */
typedef void *aligned_new(size_t size, size_t alignment);
typedef void *full_new(size_t size, size_t alignment, const void *tag);

static inline void *made(uint32_t key, void *at, size_t size)
{
    if (at && kymo__heaprec_wants(at, size))
        kymo__heaprec_allocated(key, at, size);
    kymo_memory_leave();
    return at;
}

WHOLE static void *new_inside(void *original, uint32_t key, size_t size)
{
    NOTICE_UNWINDING();
    return made(key, HOOK_CALL(plain_new *, original)(size), size);
}

WHOLE static void *aligned_inside(void *original, uint32_t key, size_t size, size_t alignment)
{
    NOTICE_UNWINDING();
    return made(key, HOOK_CALL(aligned_new *, original)(size, alignment), size);
}

HOOK_INLINE void *create_plain(void *original, uint32_t key, size_t size)
{
    if (!kymo_memory_enter())
        return HOOK_CALL(plain_new *, original)(size);
    return new_inside(original, key, size);
}

HOOK_INLINE void *create_aligned(void *original, uint32_t key, size_t size, size_t alignment)
{
    if (!kymo_memory_enter())
        return HOOK_CALL(aligned_new *, original)(size, alignment);
    return aligned_inside(original, key, size, alignment);
}

/* These do not throw. */
HOOK_INLINE void *create_nothrow(void *original, uint32_t key, size_t size, const void *tag)
{
    if (!kymo_memory_enter())
        return HOOK_CALL(other_new *, original)(size, tag);
    return made(key, HOOK_CALL(other_new *, original)(size, tag), size);
}

HOOK_INLINE void *create_full(void *original, uint32_t key, size_t size, size_t alignment,
                              const void *tag)
{
    if (!kymo_memory_enter())
        return HOOK_CALL(full_new *, original)(size, alignment, tag);
    return made(key, HOOK_CALL(full_new *, original)(size, alignment, tag), size);
}

/* Every operator delete takes the address and at most two more words; further registers do no harm
   in either architecture's calling convention. */
HOOK_INLINE void destroy(void *original, void *at, uintptr_t a, uintptr_t b)
{
    void (*call)(void *, uintptr_t, uintptr_t) =
        HOOK_CALL(void (*)(void *, uintptr_t, uintptr_t), original);
    if (!at || !kymo_memory_enter()) {
        call(at, a, b);
        return;
    }
    if (kymo__heaprec_wants_free(at))
        kymo__heaprec_freeing(at);
    call(at, a, b);
    kymo_memory_leave();
}

#define CREATE(ID) HOOK_VARIANTS(ID, void *, create_plain, (size_t size), HOOK_KEY(ID), size)
#define CREATE_ALIGNED(ID)                                                                         \
    HOOK_VARIANTS(ID, void *, create_aligned, (size_t size, size_t alignment), HOOK_KEY(ID), size, \
                  alignment)
#define CREATE_NOTHROW(ID)                                                                         \
    HOOK_VARIANTS(ID, void *, create_nothrow, (size_t size, const void *tag), HOOK_KEY(ID), size,  \
                  tag)
#define CREATE_FULL(ID)                                                                            \
    HOOK_VARIANTS(ID, void *, create_full, (size_t size, size_t alignment, const void *tag),       \
                  HOOK_KEY(ID), size, alignment, tag)
#define DESTROY(ID) HOOK_VARIANTS(ID, void, destroy, (void *at, uintptr_t a, uintptr_t b), at, a, b)

CREATE(NEW)
CREATE(ARRAY)
CREATE_ALIGNED(NEW_ALIGNED)
CREATE_ALIGNED(ARRAY_ALIGNED)
CREATE_NOTHROW(NEW_NOTHROW)
CREATE_NOTHROW(ARRAY_NOTHROW)
CREATE_FULL(NEW_ALIGNED_NOTHROW)
CREATE_FULL(ARRAY_ALIGNED_NOTHROW)
DESTROY(DELETE)
DESTROY(DELETE_SIZED)
DESTROY(DELETE_NOTHROW)
DESTROY(DELETE_ALIGNED)
DESTROY(DELETE_SIZED_ALIGNED)
DESTROY(DELETE_ALIGNED_NOTHROW)
DESTROY(DELETE_ARRAY)
DESTROY(DELETE_ARRAY_SIZED)
DESTROY(DELETE_ARRAY_NOTHROW)
DESTROY(DELETE_ARRAY_ALIGNED)
DESTROY(DELETE_ARRAY_SIZED_ALIGNED)
DESTROY(DELETE_ARRAY_ALIGNED_NOTHROW)

void kymo__hooks_new(kymo_hook_table table)
{
#define ENTER(ID) HOOK_ENTER(table, ID);
    HOOK_OPERATORS(ENTER, ENTER)
#undef ENTER
}
