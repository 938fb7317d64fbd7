/* alloc.h — the only door to the heap.

   One door makes it possible to fail the n-th allocation in a test, and later to
   keep the recorder's own memory out of memory profiles. */
#ifndef KYMO_ALLOC_H
#define KYMO_ALLOC_H

#include <stddef.h>

/* Memory of SIZE bytes, or NULL. The zeroed form clears it. */
void *kymo__alloc(size_t size);
void *kymo__alloc_zeroed(size_t size);

/* OLD grown or shrunk to SIZE, or NULL with OLD untouched. */
void *kymo__realloc(void *old, size_t size);
void kymo__free(void *memory);

/* A copy of the LEN bytes at TEXT with a zero byte after them, or NULL. */
char *kymo__alloc_text(const char *text, size_t len);

/* Make room for one more element of ELEMENT bytes in *ARRAY, which holds COUNT and
   has space for *CAPACITY. Returns 0 or -ENOMEM with everything as it was. */
int kymo__array_grow(void *array, size_t *capacity, size_t count, size_t element);

/* Tests only: let the next N allocations succeed and fail every later one; a
   negative N ends that. */
void kymo__alloc_fail_after(long n);

#endif
