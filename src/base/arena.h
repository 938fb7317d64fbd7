/* arena.h — the allocator used by alloc.h: memory mapped for kymograph alone.

   The recorder runs inside other people's programs: within their malloc, in their signal handlers,
   on a thread's first instruction. So nothing here calls the program's allocator, and nothing a
   program does to its heap affects these pieces. Small pieces come in size classes from mapped
   slabs and are reused within their class; large ones are separate mappings.

   A signal handler that interrupts these functions must not call them: see lock.h. */
#ifndef KYMO_ARENA_H
#define KYMO_ARENA_H

#include <stddef.h>

/* Return SIZE bytes aligned to 16, or NULL. The zeroed form clears them. */
void *kymo__arena_take(size_t size);
void *kymo__arena_take_zeroed(size_t size);

/* Resize OLD, which may be NULL, to SIZE bytes; NULL leaves OLD untouched. */
void *kymo__arena_resize(void *old, size_t size);
void kymo__arena_give(void *piece);

/* In a child forked without running fork handlers: discard whatever another thread was doing here
   in the parent. Pieces in use stay valid. */
void kymo__arena_forked(void);

#endif
