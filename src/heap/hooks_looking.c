/* hooks_looking.c — see hooks_looking.h. */
#include "hooks_looking.h"

#include <assert.h>

#include "heaprec.h"
#include "variants.h"

KYMO__COLD void *kymo__look_malloc(void *original, const uint32_t *key, size_t size)
{
    uint32_t look = kymo_memory_look(size);
    void *at = HOOK_CALL(void *(*)(size_t), original)(size);
    return kymo_memory_looked(look, hook_key(key), at, size);
}

/* If the product is too large, the call fails, whatever was counted. */
KYMO__COLD void *kymo__look_calloc(void *original, const uint32_t *key, size_t count, size_t size)
{
    uint32_t look = kymo_memory_look(count * size);
    void *at = HOOK_CALL(void *(*)(size_t, size_t), original)(count, size);
    return kymo_memory_looked(look, hook_key(key), at, count * size);
}

KYMO__COLD void *kymo__look_realloc(void *original, const uint32_t *key, void *old, size_t size)
{
    uint32_t look = kymo_memory_look(size);
    struct kymo_memory_move move;
    bool moves = old && look;
    if (moves) {
        kymo_memory_moving(&move, old);
        move.look = look;
    }
    void *at = HOOK_CALL(void *(*)(void *, size_t), original)(old, size);
    if (moves)
        kymo_memory_moved(&move, hook_key(key), at, size, size == 0);
    return kymo_memory_looked(moves ? 1 : look, hook_key(key), at, size);
}

KYMO__COLD void kymo__look_free(void *original, void *at)
{
    void (*call)(void *) = HOOK_CALL(void (*)(void *), original);
    if (!at || !kymo_memory_enter()) {
        call(at);
        return;
    }
    kymo__heaprec_freeing(at);
    call(at);
    kymo_memory_leave();
}
