/* alloc.h — the source of all of kymograph's memory: a private arena (arena.h), never the program's
   heap. Having one entry point lets tests fail the n-th allocation. */
#ifndef KYMO_ALLOC_H
#define KYMO_ALLOC_H

#include <stddef.h>

/* Allocate SIZE bytes, or return NULL. The zeroed form clears them. */
void *kymo__alloc(size_t size);
void *kymo__alloc_zeroed(size_t size);

/* Resize OLD to SIZE, or return NULL with OLD untouched. */
void *kymo__realloc(void *old, size_t size);
void kymo__free(void *memory);

/* A copy of the LEN bytes at TEXT with a zero byte after them, or NULL. */
char *kymo__alloc_text(const char *text, size_t len);

/* Make room for one more element of ELEMENT bytes in *ARRAY, which holds COUNT and has space for
   *CAPACITY. Returns 0, or -ENOMEM with nothing changed. */
int kymo__array_grow(void *array, size_t *capacity, size_t count, size_t element);

/* Tests only: let the next N allocations succeed and every later one fail; a negative N turns this
   off. */
void kymo__alloc_fail_after(long n);

#endif
