/* mapping_allocator.c — a library with an allocator of its own that maps pages for each block, and
   unmaps them, through slots. Loaded with RTLD_DEEPBIND, it uses it. */
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGES = 1 << 16 };

void *malloc(size_t size)
{
    void *at = size <= PAGES
                   ? mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                   : MAP_FAILED;
    return at == MAP_FAILED ? NULL : at;
}

void free(void *at)
{
    if (at)
        munmap(at, PAGES);
}

static void *volatile sink;

void mapping_churn(int count, size_t size);
void mapping_ranges(int count, size_t size);

/* COUNT blocks of SIZE bytes. */
void mapping_churn(int count, size_t size)
{
    while (count--) {
        sink = malloc(size);
        free(sink);
    }
}

/* The same of the program's own mappings. */
void mapping_ranges(int count, size_t size)
{
    while (count--) {
        sink = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        munmap(sink, size);
    }
}
