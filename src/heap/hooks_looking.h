/* hooks_looking.h — hooks of the sampled mode, for the few calls that are not passed on at once: the
   countdown ends, or the block may be a sampled one. */
#ifndef KYMO_HOOKS_LOOKING_H
#define KYMO_HOOKS_LOOKING_H

#include <stddef.h>
#include <stdint.h>

/* Call ORIGINAL, which is like malloc, calloc, realloc or free, and report that. KEY is where the key of
   the function's name is. A hook must end with the call of one of these, so that its own frame is no
   part of the stack. */
void *kymo__look_malloc(void *original, const uint32_t *key, size_t size);
void *kymo__look_calloc(void *original, const uint32_t *key, size_t count, size_t size);
void *kymo__look_realloc(void *original, const uint32_t *key, void *old, size_t size);
void kymo__look_free(void *original, void *at);

#endif
