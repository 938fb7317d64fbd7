/* elsewhere.h — the parts of a trip (trip.h) that leave the beaten track: signal handlers, other
   stacks, code made at run time, libraries that come and go. One program each includes it. */
#ifndef KYMO_ELSEWHERE_H
#define KYMO_ELSEWHERE_H

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "trip.h"

#if defined(__SANITIZE_THREAD__)
enum { SIGNALS_ARE_LATE = 1 }; /* they are delivered by the sanitizer, when it likes to */
#else
enum { SIGNALS_ARE_LATE = 0 };
#endif

static _Thread_local struct trip *volatile signalled; /* the compiler takes raise() for a leaf */

static void on_signal(int signal)
{
    (void)signal;
    struct trip *trip = signalled;
    signalled = NULL;
    if (trip)
        trip_on(trip);
}

static void by_signal(struct trip *trip, int signal)
{
    jmp_buf *back = trip->back;
    trip->back = NULL;
    signalled = trip;
    raise(signal);
    trip->back = back;
}

__attribute__((noinline, unused)) static void in_handler(struct trip *trip)
{
    by_signal(trip, SIGUSR1);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline, unused)) static void in_handler_on_its_stack(struct trip *trip)
{
    /* Not twice at once: from a third stack, the kernel would begin at its top again. */
    static _Thread_local volatile bool in_use;
    bool before = in_use;
    in_use = true;
    by_signal(trip, before ? SIGUSR1 : SIGUSR2);
    in_use = before;
    __asm__ volatile("" ::: "memory");
}

/* Once per thread for the stack, once per process for the handlers. */
static inline void elsewhere_signals(void)
{
    static _Thread_local char *stack;
    const size_t size = 1 << 20;
    if (!stack)
        stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const stack_t alternate = {.ss_sp = stack, .ss_size = size};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
    if (sigaltstack(&alternate, NULL) || sigaction(SIGUSR1, &action, NULL))
        abort();
    action.sa_flags |= SA_ONSTACK;
    if (sigaction(SIGUSR2, &action, NULL))
        abort();
}

static void coroutine(unsigned high, unsigned low)
{
    trip_on((struct trip *)(uintptr_t)((uint64_t)high << 32 | low));
}

/* On a stack made for it, which is gone afterwards. */
__attribute__((noinline, unused)) static void in_coroutine(struct trip *trip)
{
    size_t size = (1024u + 64u * trip_chance(trip, 9)) << 10;
    char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ucontext_t here, there;
    jmp_buf *back = trip->back;
    if (stack == MAP_FAILED || getcontext(&there))
        abort();
    trip->back = NULL;
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = size;
    there.uc_link = &here;
    makecontext(&there, (void (*)(void))coroutine, 2, (unsigned)((uint64_t)(uintptr_t)trip >> 32),
                (unsigned)(uintptr_t)trip);
    swapcontext(&here, &there);
    munmap(stack, size);
    trip->back = back;
}

#if defined(__x86_64__)
/* push %rbp; mov %rsp,%rbp; call *%rsi; pop %rbp; ret */
static const uint8_t jit_code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3};
/* sub $8,%rsp; call *%rsi; add $8,%rsp; ret */
static const uint8_t jit_code_bare[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd6,
                                        0x48, 0x83, 0xc4, 0x08, 0xc3};
#else
/* stp x29,x30,[sp,-16]!; mov x29,sp; blr x1; ldp x29,x30,[sp],16; ret */
static const uint32_t jit_code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0020, 0xa8c17bfd, 0xd65f03c0};
/* str x30,[sp,-16]!; blr x1; ldr x30,[sp],16; ret */
static const uint32_t jit_code_bare[] = {0xf81f0ffe, 0xd63f0020, 0xf84107fe, 0xd65f03c0};
#endif

typedef void jitted(struct trip *trip, void (*call)(struct trip *trip));

static inline jitted *jit_make(const void *code, size_t size)
{
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        abort();
    memcpy(page + 64, code, size);
    if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
        abort();
    __builtin___clear_cache(page, page + 4096);
    jitted *function;
    char *entry = page + 64;
    memcpy(&function, &entry, sizeof(function));
    return function;
}

__attribute__((noinline)) static void jit_callee(struct trip *trip)
{
    trip_on(trip);
}

__attribute__((noinline, unused)) static void in_jit(struct trip *trip)
{
    static jitted *made;
    jitted *function = __atomic_load_n(&made, __ATOMIC_ACQUIRE);
    if (!function) {
        function = jit_make(jit_code, sizeof(jit_code));
        __atomic_store_n(&made, function, __ATOMIC_RELEASE);
    }
    function(trip, jit_callee);
    __asm__ volatile("" ::: "memory");
}

/* One of two libraries, loaded for this call alone: each lands where the other one was. */
__attribute__((noinline, unused)) static void in_library(struct trip *trip)
{
    const char *path = trip_chance(trip, 2) ? WALK_LIBRARY_A : WALK_LIBRARY_B;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("# %s\n", dlerror());
        abort();
    }
    jitted *function;
    void *symbol = dlsym(library, "walk_library_call");
    memcpy(&function, &symbol, sizeof(function));
    jmp_buf *back = trip->back;
    trip->back = NULL;
    function(trip, jit_callee);
    trip->back = back;
    dlclose(library);
}

#endif
