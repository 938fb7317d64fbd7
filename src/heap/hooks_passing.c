/* hooks_passing.c — the malloc family in the sampled mode, where what is called does not come back to
   any hook: it is the C library's, whose own calls go through no slots.

   So nobody has to know that the thread is inside an allocator, and nearly every call is a subtraction
   or a look at the filter, and a jump. The thread's last block is not kept either: objects whose
   blocks are reported to Python get the hooks of hooks_nesting.c, and what is larger than
   KYMO__SAMPLED_LOOK does not pass. */
#include <assert.h>

#include "heaprec.h"
#include "hooks_looking.h"
#include "variants.h"

HOOK_INLINE void *pass_malloc(void *original, const uint32_t *key, size_t size)
{
    if (!kymo_memory_skips(size))
        return kymo__look_malloc(original, key, size);
    return HOOK_CALL(void *(*)(size_t), original)(size);
}

HOOK_INLINE void *pass_calloc(void *original, const uint32_t *key, size_t count, size_t size)
{
    if (!kymo_memory_skips(count * size))
        return kymo__look_calloc(original, key, count, size);
    return HOOK_CALL(void *(*)(size_t, size_t), original)(count, size);
}

HOOK_INLINE void *pass_realloc(void *original, const uint32_t *key, void *old, size_t size)
{
    if (!kymo__held_not(old) || !kymo_memory_skips(size))
        return kymo__look_realloc(original, key, old, size);
    return HOOK_CALL(void *(*)(void *, size_t), original)(old, size);
}

HOOK_INLINE void pass_free(void *original, void *at)
{
    if (kymo__unlikely(!kymo__held_not(at))) {
        kymo__look_free(original, at);
        return;
    }
    HOOK_CALL(void (*)(void *), original)(at);
}

HOOK_SAMPLED(MALLOC, void *, pass_malloc, (size_t size), HOOK_KEY_AT(MALLOC), size)
HOOK_SAMPLED(CALLOC, void *, pass_calloc, (size_t count, size_t size), HOOK_KEY_AT(CALLOC), count,
             size)
HOOK_SAMPLED(REALLOC, void *, pass_realloc, (void *old, size_t size), HOOK_KEY_AT(REALLOC), old,
             size)
HOOK_SAMPLED(FREE, void, pass_free, (void *at), at)

void kymo__hooks_passing(kymo_hook_table table)
{
    HOOK_ENTER(table, MALLOC);
    HOOK_ENTER(table, CALLOC);
    HOOK_ENTER(table, REALLOC);
    HOOK_ENTER(table, FREE);
}
