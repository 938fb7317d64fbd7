/* sizes.c — see sizes.h. */
#include "sizes.h"

#include <kymo/memory.h>

#include "blocks.h"

bool kymo__sizes_on;
static struct kymo_blocks sizes;

int kymo__sizes_begin(bool on)
{
    static bool used;
    kymo__sizes_on = on;
    used |= on;
    return used ? kymo__blocks_begin(&sizes) : 0;
}

/* A block for which there is no room has no size: nobody relies on it. */
void kymo__sizes_add(uintptr_t address, uint64_t size)
{
    kymo__sizes_take(address);
    (void)kymo__blocks_add(&sizes, address, size);
}

uint64_t kymo__sizes_take(uintptr_t address)
{
    uint64_t size;
    return kymo__blocks_take(&sizes, address, &size) ? size : 0;
}

uint64_t kymo_memory_size_of(const void *at)
{
    uint64_t size;
    return kymo__blocks_find(&sizes, (uintptr_t)at, &size) ? size : 0;
}
