/* tracked.h — memory that libraries report to Python's tracemalloc, by the number of their domain.

   Mostly it was recorded already: numpy gets the data of an array from malloc and reports it then.
   Such a block goes when malloc's does, and the library's word that it is gone means nothing: the
   library may keep the memory and use it again. But a domain may also be memory of a device, or
   pages that the library mapped. Then the reports are all there is. */
#ifndef KYMO_TRACKED_H
#define KYMO_TRACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Forget everything, for a new session. 0 or -ENOMEM. */
int kymo__tracked_begin(void);

/* Sampled mode: the library of DOMAIN reports SIZE bytes at AT. Is there certainly nothing to do about
   it? That is so for nearly every block that comes from malloc. */
bool kymo__tracked_passes(uint32_t domain, uintptr_t at, size_t size);

/* The library of DOMAIN reports SIZE bytes at AT. Returns the key of the name to record, and in *OWN
   whether the memory comes from no allocator that is recorded. Between kymo_memory_enter and
   leave. */
uint32_t kymo__tracked_add(uint32_t domain, uintptr_t at, size_t size, bool *own);

/* The library reports that AT is gone: was it *OWN of kymo__tracked_add? */
bool kymo__tracked_take(uintptr_t at);

/* Could it be? */
bool kymo__tracked_any(void);

#endif
