/* arenas.c — the arenas in which pymalloc keeps small objects, as mappings: see pymem.h. */
#include "pymem.h"

#include <kymo/memory.h>
#include <kymo/payload.h>

static PyObjectArenaAllocator below;
static bool placed;
static uint32_t key, reporting;

/* Arenas come and go inside calls that are being reported: that of the object which needs one. */
static bool enter_arena(bool *mine)
{
    if (!__atomic_load_n(&reporting, __ATOMIC_RELAXED))
        return false;
    *mine = kymo_memory_enter();
    return *mine || kymo__memory_thread.entered;
}

static void *arena_alloc(void *Py_UNUSED(ctx), size_t size)
{
    bool mine = false, seen = enter_arena(&mine);
    void *at = below.alloc(below.ctx, size);
    if (seen && at)
        kymo_memory_mapped(key, at, size);
    if (mine)
        kymo_memory_leave();
    return at;
}

static void arena_free(void *Py_UNUSED(ctx), void *at, size_t size)
{
    bool mine = false, seen = enter_arena(&mine);
    if (seen && at)
        kymo_memory_unmapping(at, size);
    below.free(below.ctx, at, size);
    if (mine)
        kymo_memory_leave();
}

void kymo__arenas_install(void)
{
    key = kymo_name_key("arena");
    if (!placed) {
        PyObject_GetArenaAllocator(&below);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        PyObjectArenaAllocator ours = {below.ctx, arena_alloc, arena_free};
        PyObject_SetArenaAllocator(&ours);
        placed = true;
    }
    __atomic_store_n(&reporting, 1u, __ATOMIC_RELEASE);
}

void kymo__arenas_silence(void)
{
    __atomic_store_n(&reporting, 0u, __ATOMIC_RELEASE);
}

int kymo__arenas_placed(void)
{
    PyObjectArenaAllocator now;
    PyObject_GetArenaAllocator(&now);
    return now.alloc == arena_alloc && now.free == arena_free;
}

int kymo__arenas_remove(void)
{
    kymo__arenas_silence();
    if (!placed)
        return 0;
    if (!kymo__arenas_placed())
        return 1;
    PyObject_SetArenaAllocator(&below);
    placed = false;
    return 0;
}
