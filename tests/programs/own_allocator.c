/* own_allocator.c — a library with a malloc and a free of its own, which take nobody else's blocks.
   Loaded with RTLD_DEEPBIND, it uses them; everybody else uses the C library's. */
#include <stddef.h>
#include <stdlib.h>

static char pool[1 << 20];
static size_t used;

void *malloc(size_t size)
{
    void *at = pool + used;
    used += (size + 15) & ~(size_t)15;
    return used <= sizeof(pool) ? at : NULL;
}

void free(void *at)
{
    if (at && ((char *)at < pool || (char *)at >= pool + sizeof(pool)))
        abort();
}

static void *volatile sink;

void *own_make(size_t size);
void own_free(void *at);
int own_has(const void *at);

void *own_make(size_t size)
{
    return sink = malloc(size);
}

void own_free(void *at)
{
    free(at);
}

int own_has(const void *at)
{
    return (const char *)at >= pool && (const char *)at < pool + sizeof(pool);
}
