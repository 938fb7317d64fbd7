/* hooks_track.c — PyTraceMalloc_Track and PyTraceMalloc_Untrack: see tracked.h.

   Python does nothing in them unless tracemalloc is on. Both are reported before the call, which may
   itself allocate. */
#include <assert.h>

#include "heaprec.h"
#include "tracked.h"
#include "variants.h"

HOOK_INLINE int track(void *original, unsigned domain, uintptr_t at, size_t size)
{
    int (*call)(unsigned, uintptr_t, size_t) =
        HOOK_CALL(int (*)(unsigned, uintptr_t, size_t), original);
    if (at && !kymo__tracked_passes(domain, at, size) && kymo_memory_enter()) {
        bool own;
        uint32_t key = kymo__tracked_add(domain, at, size, &own);
        kymo__heaprec_tracked(key, (void *)at, size, own);
        kymo_memory_leave();
    }
    return call(domain, at, size);
}

HOOK_INLINE int untrack(void *original, unsigned domain, uintptr_t at)
{
    int (*call)(unsigned, uintptr_t) = HOOK_CALL(int (*)(unsigned, uintptr_t), original);
    if (at && kymo__tracked_any() && kymo_memory_enter()) {
        if (kymo__tracked_take(at) && kymo__heaprec_wants_free((void *)at))
            kymo__heaprec_freeing((void *)at);
        kymo_memory_leave();
    }
    return call(domain, at);
}

HOOK_VARIANTS(TRACK, int, track, (unsigned domain, uintptr_t at, size_t size), domain, at, size)
HOOK_VARIANTS(UNTRACK, int, untrack, (unsigned domain, uintptr_t at), domain, at)

void kymo__hooks_track(kymo_hook_table table)
{
    HOOK_ENTER(table, TRACK);
    HOOK_ENTER(table, UNTRACK);
}
