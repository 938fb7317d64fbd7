/* traced.c — see traced.h. */
#include "traced.h"

#include <dlfcn.h>
#include <stdbool.h>

/* Stopping to track what was never tracked does nothing, and says whether tracemalloc is on. */
static bool is_tracing(void)
{
    enum { OFF = -2 };
    return PyTraceMalloc_Untrack(0, 1) != OFF;
}

/* The object that has AT; NULL: none has. */
static const void *object_of(void *at)
{
    Dl_info place;
    return at && dladdr(at, &place) ? place.dli_fbase : NULL;
}

static bool is_function(void *at)
{
    return object_of(at) != NULL;
}

PyMemAllocatorEx *kymo__traced_allocator(int number)
{
    PyMemAllocatorEx now;
    if (!is_tracing())
        return NULL;
    PyMem_GetAllocator((PyMemAllocatorDomain)number, &now);
    const void *python = object_of((void *)(uintptr_t)PyMem_GetAllocator);
    if (!now.ctx || object_of((void *)(uintptr_t)now.malloc) != python)
        return NULL;
    PyMemAllocatorEx *wrapped = now.ctx;
    bool good = is_function((void *)(uintptr_t)wrapped->malloc) &&
                is_function((void *)(uintptr_t)wrapped->calloc) &&
                is_function((void *)(uintptr_t)wrapped->realloc) &&
                is_function((void *)(uintptr_t)wrapped->free);
    return good ? wrapped : NULL;
}
