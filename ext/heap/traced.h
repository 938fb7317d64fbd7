/* traced.h — what is below tracemalloc.

   tracemalloc puts back the allocators that it found when it is stopped, and with them removes whatever
   was put above it meanwhile. So where tracemalloc is on, our wrappers go below it: then they are what
   it puts back. It keeps what it wraps in memory of its own, to which the context of its functions
   points. */
#ifndef KYMO_EXT_TRACED_H
#define KYMO_EXT_TRACED_H

#include "compat.h"

/* Where tracemalloc keeps the allocator of domain NUMBER that it wraps; NULL if tracemalloc is off or
   someone else is above it. With the GIL. */
PyMemAllocatorEx *kymo__traced_allocator(int number);

/* Let AT have the functions of TO, one by one, while other threads call them. Its context stays. */
static inline void kymo__allocator_store(PyMemAllocatorEx *at, const PyMemAllocatorEx *to)
{
    __atomic_store_n(&at->malloc, to->malloc, __ATOMIC_RELEASE);
    __atomic_store_n(&at->calloc, to->calloc, __ATOMIC_RELEASE);
    __atomic_store_n(&at->realloc, to->realloc, __ATOMIC_RELEASE);
    __atomic_store_n(&at->free, to->free, __ATOMIC_RELEASE);
}

#endif
