/* mapped.h — memory straight from the system, in whole pages.

   For memory that may be needed inside an allocator or a signal handler, or is large and mostly
   untouched: nothing here allocates, it only makes system calls. errno is preserved. */
#ifndef KYMO_MAPPED_H
#define KYMO_MAPPED_H

#include <stddef.h>

/* SIZE zeroed bytes in whole pages, or NULL. They cost memory when touched. */
void *kymo__pages_new(size_t size);

/* Free memory from kymo__pages_new; NULL is fine. */
void kymo__pages_free(void *memory, size_t size);

/* Back SIZE bytes at MEMORY, whole pages, with memory now, if the system can. It takes less than half as long
   as to do so page by page when they are first read and, again, when they are first written to. */
void kymo__pages_back(void *memory, size_t size);

/* Release the memory of the pages that lie wholly in the SIZE bytes at MEMORY; they then read as
   zeros. */
void kymo__pages_drop(void *memory, size_t size);

#endif
