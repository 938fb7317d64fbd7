/* tracked.c — see tracked.h. */
#include "tracked.h"

#include <kymo/payload.h>
#include <stdio.h>

#include "atomic.h"
#include "blocks.h"
#include "heaprec.h"

enum {
    LIBRARIES = 16,
    KEPT = 64 << 10, /* libraries keep blocks that are smaller than this, to use them again */
};

static struct library {
    uint64_t domain; /* and 1 << 32; 0: free */
    uint32_t key;    /* of the name; 0: another thread is about to set it */
    uint32_t uses_malloc;
    char name[32];
} libraries[LIBRARIES];

static struct kymo_blocks own_blocks;
static uint64_t own_count; /* blocks in it */
static uint64_t
    passing; /* `domain` of the last library that was found to use malloc; 0: none was */
static uint32_t other_key; /* of libraries that found no place */

int kymo__tracked_begin(void)
{
    for (int i = 0; i < LIBRARIES; i++)
        libraries[i] = (struct library){0};
    other_key = kymo_name_key("tracked");
    own_count = passing = 0;
    return kymo__blocks_begin(&own_blocks);
}

static uint32_t name_library(struct library *library, uint32_t domain)
{
    static const struct {
        uint32_t domain;
        const char *name;
    } known[] = {{389047, "tracked numpy"}, {424242, "tracked pandas"}};
    const char *name = NULL;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].domain == domain)
            name = known[i].name;
    /* Not every small block becomes the thread's last one in the sampled mode: hooks_passing.c. */
    if (name && kymo__heaprec.options.mode == KYMO_MEMORY_SAMPLED)
        kymo__store_relaxed(&library->uses_malloc, 1u);
    if (!name) {
        snprintf(library->name, sizeof(library->name), "tracked %u", domain);
        name = library->name;
    }
    return kymo_name_key(name);
}

static struct library *library_of(uint32_t domain)
{
    uint64_t wanted = domain | UINT64_C(1) << 32;
    for (int i = 0; i < LIBRARIES; i++) {
        struct library *library = &libraries[i];
        uint64_t now = kymo__load_relaxed(&library->domain);
        if (!now && kymo__swap_if(&library->domain, &now, wanted)) {
            kymo__store_release(&library->key, name_library(library, domain));
            return library;
        }
        if (now == wanted)
            return library;
    }
    return NULL;
}

uint32_t kymo__tracked_add(uint32_t domain, uintptr_t at, size_t size, bool *own)
{
    struct library *library = library_of(domain);
    bool recorded = at == kymo__memory_thread.last;
    uint32_t key = library ? kymo__load_acquire(&library->key) : 0;
    if (library && recorded) {
        kymo__store_relaxed(&library->uses_malloc, 1u);
        kymo__store_relaxed(&passing, library->domain);
    } else if (library && size < KEPT) {
        recorded = kymo__load_relaxed(&library->uses_malloc);
    }
    kymo__tracked_take(at); /* reported again, without the end of the block before */
    *own = !recorded && kymo__blocks_add(&own_blocks, at, 0);
    if (*own)
        kymo__add_relaxed(&own_count, UINT64_C(1));
    return key ? key : other_key;
}

bool kymo__tracked_passes(uint32_t domain, uintptr_t at, size_t size)
{
    return (domain | UINT64_C(1) << 32) == kymo__load_relaxed(&passing) &&
           (at == kymo__memory_thread.last || size < KEPT) && !kymo__tracked_any() &&
           kymo_memory_unsampled((const void *)at);
}

bool kymo__tracked_any(void)
{
    return kymo__load_relaxed(&own_count) != 0;
}

bool kymo__tracked_take(uintptr_t at)
{
    uint64_t value;
    if (!kymo__tracked_any() || !kymo__blocks_take(&own_blocks, at, &value))
        return false;
    kymo__add_relaxed(&own_count, (uint64_t)-1);
    return true;
}
