/* alloc.c — see alloc.h. */
#include "alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "atomic.h"

/* Sanitizers watch heap blocks and know nothing of the arena's. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer) ||                           \
    defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define TAKE malloc
#define TAKE_ZEROED(size) calloc(1, size)
#define RESIZE realloc
#define GIVE free
#else
#define TAKE kymo__arena_take
#define TAKE_ZEROED kymo__arena_take_zeroed
#define RESIZE kymo__arena_resize
#define GIVE kymo__arena_give
#endif

static long left = -1; /* allocations that may still succeed; negative: all */

static int refuse_by_test(void)
{
    if (kymo__likely(kymo__load_relaxed(&left) < 0))
        return 0;
    long now = kymo__load_relaxed(&left);
    while (now > 0 && !kymo__swap_if(&left, &now, now - 1))
        continue;
    return now == 0;
}

void kymo__alloc_fail_after(long n)
{
    kymo__store_relaxed(&left, n);
}

void *kymo__alloc(size_t size)
{
    return refuse_by_test() ? NULL : TAKE(size);
}

void *kymo__alloc_zeroed(size_t size)
{
    return refuse_by_test() ? NULL : TAKE_ZEROED(size);
}

void *kymo__realloc(void *old, size_t size)
{
    return refuse_by_test() ? NULL : RESIZE(old, size);
}

void kymo__free(void *memory)
{
    GIVE(memory);
}

char *kymo__alloc_text(const char *text, size_t len)
{
    char *copy = kymo__alloc(len + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

int kymo__array_grow(void *array, size_t *capacity, size_t count, size_t element)
{
    if (count < *capacity)
        return 0;
    size_t wanted = *capacity ? *capacity * 2 : 16;
    if (wanted > (size_t)-1 / 2 / element)
        return -ENOMEM;
    void *old;
    memcpy(&old, array, sizeof(old)); /* ARRAY is a pointer to a pointer of any type */
    void *grown = kymo__realloc(old, wanted * element);
    if (!grown)
        return -ENOMEM;
    memcpy(array, &grown, sizeof(grown));
    *capacity = wanted;
    return 0;
}
