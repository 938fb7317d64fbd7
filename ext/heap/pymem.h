/* pymem.h — wrap Python's allocators: the domains raw, mem and object, and the arenas of pymalloc.

   The wrappers pass every pointer through unchanged. They keep the context of the allocator they
   wrap and find it in static memory, so a thread that reads an allocator while it is replaced, and
   sees the function of one with the context of the other, still calls something that works: the raw
   domain is used without the GIL, and free-threaded builds have none. */
#ifndef KYMO_EXT_PYMEM_H
#define KYMO_EXT_PYMEM_H

#include "compat.h"

#include <stdbool.h>

/* Begin to report allocations of all three domains, or arenas, in the running session, which records
   memory in the sampled mode or not. After kymo__births_begin. With the GIL. */
void kymo__pymem_install(bool sampled);
void kymo__arenas_install(void);

/* Put the allocators back. Returns how many stay because someone else has wrapped them meanwhile;
   they only pass calls on until the next install. Those that someone else has removed before are
   added to *GONE. With the GIL. */
int kymo__pymem_remove(int *gone);
int kymo__arenas_remove(void);

/* Stop reporting without touching the allocators: in a forked child, before Python can be used. */
void kymo__pymem_silence(void);
void kymo__arenas_silence(void);

/* How many of ours are installed and outermost now. With the GIL. */
int kymo__pymem_placed(void);
int kymo__arenas_placed(void);

#endif
