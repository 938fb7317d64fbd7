/* mapped.c — see mapped.h. */
#include "mapped.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

void *kymo__pages_new(size_t size)
{
    int saved = errno;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = saved;
    return memory == MAP_FAILED ? NULL : memory;
}

void kymo__pages_free(void *memory, size_t size)
{
    int saved = errno;
    if (memory)
        munmap(memory, size);
    errno = saved;
}

void kymo__pages_back(void *memory, size_t size)
{
    int saved = errno;
    madvise(memory, size, MADV_POPULATE_WRITE);
    errno = saved;
}

void kymo__pages_drop(void *memory, size_t size)
{
    int saved = errno;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t low = ((uintptr_t)memory + page - 1) & ~(page - 1);
    uintptr_t high = ((uintptr_t)memory + size) & ~(page - 1);
    if (low < high)
        madvise((void *)low, high - low, MADV_DONTNEED);
    errno = saved;
}
