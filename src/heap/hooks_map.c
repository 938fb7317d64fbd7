/* hooks_map.c — mmap, munmap, mremap, brk and sbrk.

   Only calls of the program and its libraries come here. The C library's own, for a thread's stack
   or for malloc, do not go through slots. Sizes are those of the pages: that is what the kernel maps
   and unmaps. A range that may be lost in a call is reported with the time before the call, but only
   once the call has succeeded. */
#include <assert.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heaprec.h"
#include "variants.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

static size_t in_pages(size_t size)
{
    size_t page = (size_t)getpagesize();
    return (size + page - 1) & ~(page - 1);
}

HOOK_INLINE void *map(void *original, uint32_t key, void *at, size_t size, int protection,
                      int flags, int fd, off_t offset)
{
    void *(*call)(void *, size_t, int, int, int, off_t) =
        HOOK_CALL(void *(*)(void *, size_t, int, int, int, off_t), original);
    if (!kymo_memory_enter())
        return call(at, size, protection, flags, fd, offset);
    uint64_t before = kymo__ticks_before();
    void *got = call(at, size, protection, flags, fd, offset);
    if (got != MAP_FAILED) {
        if (flags & MAP_FIXED) /* it replaces what was there */
            kymo__heaprec_unmapped(before, got, in_pages(size));
        kymo_memory_mapped(key, got, in_pages(size));
    }
    kymo_memory_leave();
    return got;
}

HOOK_INLINE int unmap(void *original, void *at, size_t size)
{
    int (*call)(void *, size_t) = HOOK_CALL(int (*)(void *, size_t), original);
    if (!kymo_memory_enter())
        return call(at, size);
    uint64_t before = kymo__ticks_before();
    int rc = call(at, size);
    if (rc == 0)
        kymo__heaprec_unmapped(before, at, in_pages(size));
    kymo_memory_leave();
    return rc;
}

HOOK_INLINE void *remap(void *original, uint32_t key, void *old, size_t old_size, size_t size,
                        int flags, void *wanted)
{
    void *(*call)(void *, size_t, size_t, int, ...) =
        HOOK_CALL(void *(*)(void *, size_t, size_t, int, ...), original);
    if (!kymo_memory_enter())
        return call(old, old_size, size, flags, wanted);
    uint64_t before = kymo__ticks_before();
    void *got = call(old, old_size, size, flags, wanted);
    if (got != MAP_FAILED) {
        if (!(flags & MREMAP_DONTUNMAP) && old_size)
            kymo__heaprec_unmapped(before, old, in_pages(old_size));
        if (flags & MREMAP_FIXED)
            kymo__heaprec_unmapped(before, got, in_pages(size));
        kymo_memory_mapped(key, got, in_pages(size));
    }
    kymo_memory_leave();
    return got;
}

/* The end of the data segment went from OLD to NEW. */
static void moved_end(uint64_t before, uint32_t key, char *old, char *end)
{
    if (end > old)
        kymo_memory_mapped(key, old, (size_t)(end - old));
    else if (end < old)
        kymo__heaprec_unmapped(before, end, (size_t)(old - end));
}

HOOK_INLINE int set_end(void *original, uint32_t key, void *end)
{
    int (*call)(void *) = HOOK_CALL(int (*)(void *), original);
    if (!kymo_memory_enter())
        return call(end);
    uint64_t before = kymo__ticks_before();
    char *old = sbrk(0);
    int rc = call(end);
    if (rc == 0)
        moved_end(before, key, old, end);
    kymo_memory_leave();
    return rc;
}

HOOK_INLINE void *move_end(void *original, uint32_t key, intptr_t more)
{
    void *(*call)(intptr_t) = HOOK_CALL(void *(*)(intptr_t), original);
    if (!kymo_memory_enter())
        return call(more);
    uint64_t before = kymo__ticks_before();
    char *old = call(more);
    if ((intptr_t)old != -1)
        moved_end(before, key, old, old + more);
    kymo_memory_leave();
    return old;
}

#define MAP(ID)                                                                                    \
    HOOK_VARIANTS(ID, void *, map,                                                                 \
                  (void *at, size_t size, int protection, int flags, int fd, off_t offset),        \
                  HOOK_KEY(ID), at, size, protection, flags, fd, offset)
MAP(MMAP)
MAP(MMAP64)
HOOK_VARIANTS(MUNMAP, int, unmap, (void *at, size_t size), at, size)
/* The fifth argument of mremap is there with MREMAP_FIXED and MREMAP_DONTUNMAP; like every argument
   it is in a register, which may be read and passed on in any case. */
HOOK_VARIANTS(MREMAP, void *, remap,
              (void *old, size_t old_size, size_t size, int flags, void *wanted), HOOK_KEY(MREMAP),
              old, old_size, size, flags, wanted)
HOOK_VARIANTS(BRK, int, set_end, (void *end), HOOK_KEY(BRK), end)
HOOK_VARIANTS(SBRK, void *, move_end, (intptr_t more), HOOK_KEY(SBRK), more)

void kymo__hooks_map(kymo_hook_table table)
{
    HOOK_ENTER(table, MMAP);
    HOOK_ENTER(table, MMAP64);
    HOOK_ENTER(table, MUNMAP);
    HOOK_ENTER(table, MREMAP);
    HOOK_ENTER(table, BRK);
    HOOK_ENTER(table, SBRK);
}
