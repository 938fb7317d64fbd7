/* allocations.c — a library that makes known allocations, through every function there is.

   Each call is written down with what it asked for and what it got, so that a test can compare a
   recording with the truth. */
#include "allocations.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct made *list;
static size_t count;

static void *wrote(const char *kind, const char *function, size_t size, void *at, void *from)
{
    list[count++] = (struct made){kind, function, size, at, from};
    return at;
}

static void *got(const char *function, size_t size, void *at)
{
    return wrote("memory.alloc", function, size, at, NULL);
}

static void *lost(void *at)
{
    return wrote("memory.free", "", 0, at, NULL);
}

static void *moved(const char *function, size_t size, void *from, void *at)
{
    lost(from);
    return wrote("memory.realloc", function, size, at, from);
}

/* Keep the compiler from removing and replacing calls. */
static void *volatile sink;
static void *volatile nothing;
static volatile size_t huge = (size_t)-1 / 4;

static void blocks(void)
{
    void *a = got("malloc", 101, sink = malloc(101));
    void *b = got("calloc", 3 * 67, sink = calloc(3, 67));
    void *c = got("realloc", 31, sink = realloc(nothing, 31));
    void *d = got("reallocarray", 5 * 23, sink = reallocarray(nothing, 5, 23));
    void *e = got("aligned_alloc", 256, sink = aligned_alloc(64, 256));
    void *f = got("memalign", 77, sink = memalign(128, 77));
    void *g = got("valloc", 13, sink = valloc(13));
    void *h = got("pvalloc", 17, sink = pvalloc(17));
    void *i = NULL;
    if (posix_memalign(&i, 256, 300) == 0)
        got("posix_memalign", 300, i);
    void *volatile was = a;
    a = moved("realloc", 70001, was, sink = realloc(a, 70001));
    was = b;
    b = moved("reallocarray", 40 * 50, was, sink = reallocarray(b, 40, 50));
    void *volatile same = c;
    sink = realloc(same, huge); /* fails: the block stays */
    sink = reallocarray(same, huge, 8);
    sink = malloc(huge);
    free(nothing);
    c = same;
    void *all[] = {a, b, c, d, e, f, g, h, i};
    for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
        lost(all[k]);
        free(all[k]);
    }
    void *z = got("malloc", 55, sink = malloc(55));
    void *volatile old = z;
    sink = realloc(z, 0);
    if (sink) /* some allocators give a smallest block in return */
        free(lost(moved("realloc", 0, old, sink)));
    else
        lost(old);
}

static void ranges(void)
{
    size_t page = (size_t)getpagesize();
    char *a = mmap(NULL, 3 * page - 5, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    wrote("memory.map", "mmap", 3 * page, a, NULL);
    char *b = mremap(a, 3 * page, 40 * page, MREMAP_MAYMOVE);
    wrote("memory.unmap", "", 3 * page, a, NULL);
    wrote("memory.map", "mremap", 40 * page, b, NULL);
    munmap(b + page, page);
    wrote("memory.unmap", "", page, b + page, NULL);
    munmap(b, 40 * page);
    wrote("memory.unmap", "", 40 * page, b, NULL);
    munmap((void *)1, page); /* fails */
    char *end = sbrk((intptr_t)page);
    wrote("memory.map", "brk", page, end, NULL);
    if (brk(end) == 0)
        wrote("memory.unmap", "", page, end, NULL);
}

size_t allocations_make(struct made *into)
{
    list = into;
    count = 0;
    blocks();
    ranges();
    return count;
}

void *allocations_one(size_t size)
{
    return sink = malloc(size);
}

void allocations_free(void *at)
{
    free(at);
}

int PyTraceMalloc_Track(unsigned domain, uintptr_t at, size_t size)
{
    static int calls;
    return domain && at && size ? ++calls : -1;
}

int PyTraceMalloc_Untrack(unsigned domain, uintptr_t at)
{
    return domain && at ? 0 : -1;
}
