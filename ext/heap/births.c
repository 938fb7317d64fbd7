/* births.c — see births.h: a hash table with linear probing, in memory of its own. */
#include "births.h"

#include <sched.h>
#include <sys/mman.h>

enum { SLOTS_FIRST = 1 << 16 };

uint32_t kymo__births_on;
static struct kymo_birth *slots;
static size_t slot_count, used; /* a power of two; at most half are used */
static unsigned wanted_parts;
static bool incomplete;

/* Not a mutex of Python's: allocators must not detach from the interpreter. */
static uint32_t locked;

static void lock_births(void)
{
    while (__atomic_exchange_n(&locked, 1u, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void unlock_births(void)
{
    __atomic_store_n(&locked, 0u, __ATOMIC_RELEASE);
}

void kymo__births_forked(void)
{
    unlock_births();
}

static size_t first_slot(uint64_t address)
{
    return (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (slot_count - 1);
}

/* The slot of ADDRESS, or the free one where it would go. */
static struct kymo_birth *slot_of(uint64_t address)
{
    size_t i = first_slot(address);
    while (slots[i].address && slots[i].address != address)
        i = (i + 1) & (slot_count - 1);
    return &slots[i];
}

static bool grow_births(void)
{
    struct kymo_birth *old = slots;
    size_t old_count = slot_count, count = slot_count ? slot_count * 2 : SLOTS_FIRST;
    void *made = mmap(NULL, count * sizeof *slots, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return false;
    slots = made;
    slot_count = count;
    for (size_t i = 0; i < old_count; i++)
        if (old[i].address)
            *slot_of(old[i].address) = old[i];
    if (old)
        munmap(old, old_count * sizeof *old);
    return true;
}

void kymo__births_begin(unsigned parts)
{
    kymo__births_end();
    wanted_parts = parts;
    incomplete = !grow_births();
    __atomic_store_n(&kymo__births_on, !incomplete, __ATOMIC_RELEASE);
}

void kymo__births_end(void)
{
    __atomic_store_n(&kymo__births_on, 0u, __ATOMIC_RELEASE);
    lock_births();
    if (slots)
        munmap(slots, slot_count * sizeof *slots);
    slots = NULL;
    slot_count = used = 0;
    unlock_births();
}

void kymo__births_add(const void *at, size_t size, bool raw)
{
    kymo_stack stack = wanted_parts ? kymo_stack_record(wanted_parts, 0) : 0;
    lock_births();
    if (slots && (used < slot_count / 2 || grow_births())) {
        struct kymo_birth *slot = slot_of((uintptr_t)at);
        used += !slot->address;
        *slot = (struct kymo_birth){(uintptr_t)at, size, stack, raw};
    } else {
        incomplete = true;
    }
    unlock_births();
}

/* Move later entries of the same run into the gap, so that no search stops at it. */
static void close_gap(size_t gap)
{
    size_t mask = slot_count - 1;
    for (size_t i = (gap + 1) & mask; slots[i].address; i = (i + 1) & mask) {
        size_t home = first_slot(slots[i].address);
        if (((i - home) & mask) >= ((i - gap) & mask)) {
            slots[gap] = slots[i];
            gap = i;
        }
    }
    slots[gap] = (struct kymo_birth){0};
}

void kymo__births_remove(const void *at)
{
    lock_births();
    if (slots) {
        struct kymo_birth *slot = slot_of((uintptr_t)at);
        if (slot->address) {
            used--;
            close_gap((size_t)(slot - slots));
        }
    }
    unlock_births();
}

bool kymo__births_find(const void *at, struct kymo_birth *birth)
{
    lock_births();
    *birth = slots ? *slot_of((uintptr_t)at) : (struct kymo_birth){0};
    unlock_births();
    return birth->address != 0;
}

bool kymo__births_incomplete(void)
{
    return incomplete;
}
