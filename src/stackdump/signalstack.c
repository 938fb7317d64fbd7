/* signalstack.c — see signalstack.h. */
#include "signalstack.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

enum { OWN_NEED = 64 << 10 };

/* This thread's signal stack, if we made it. */
static __thread struct {
    void *memory;
    size_t bytes;
} mine __attribute__((tls_model("initial-exec")));

/* The page below it is inaccessible, so that its own overflow also crashes. */
static void *map_stack(size_t *guard, size_t *whole)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = (OWN_NEED + (size_t)getauxval(AT_MINSIGSTKSZ) + page - 1) / page * page;
    char *memory = mmap(NULL, page + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (mprotect(memory + page, bytes, PROT_READ | PROT_WRITE) != 0) {
        munmap(memory, page + bytes);
        return NULL;
    }
    *guard = page;
    *whole = page + bytes;
    return memory;
}

void *kymo__signalstack_map(size_t *size)
{
    size_t guard, whole;
    char *memory = map_stack(&guard, &whole);
    if (!memory)
        return NULL;
    *size = whole - guard;
    return memory + guard;
}

void kymo__signalstack_new(stack_t *stack)
{
    size_t guard, whole;
    char *memory = mine.memory ? NULL : map_stack(&guard, &whole);
    if (!memory)
        return;
    mine.memory = memory;
    mine.bytes = whole;
    *stack = (stack_t){.ss_sp = memory + guard, .ss_size = whole - guard};
}

void kymo__signalstack_use(void)
{
    stack_t now;
    if (mine.memory || sigaltstack(NULL, &now) != 0 || !(now.ss_flags & SS_DISABLE))
        return;
    kymo__signalstack_new(&now);
    if (mine.memory)
        sigaltstack(&now, NULL);
}

void kymo__signalstack_end(void)
{
    const stack_t none = {.ss_flags = SS_DISABLE};
    stack_t now;
    if (!mine.memory)
        return;
    if (sigaltstack(NULL, &now) == 0 && (uintptr_t)now.ss_sp >= (uintptr_t)mine.memory &&
        (uintptr_t)now.ss_sp < (uintptr_t)mine.memory + mine.bytes && sigaltstack(&none, NULL) != 0)
        return; /* in use */
    munmap(mine.memory, mine.bytes);
    mine.memory = NULL;
}
