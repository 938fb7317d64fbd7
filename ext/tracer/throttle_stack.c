/* throttle_stack.c — the recorded enters of each thread that have no leave yet, in a session with a
   budget. See throttle.h. */
#include <pthread.h>
#include <stdlib.h>

#include <kymo/lane.h>

#include "throttle.h"
#include "tracer.h"

enum { FRAMES = 64 /* room on a thread's first stack */ };

struct frame {
    struct site *site;
    const void *owner;
    uint64_t ticks;
    int depth; /* kymo__depth before it */
};

/* Its memory is freed when the thread ends. */
static __thread struct stack {
    struct frame *frames;
    size_t depth, capacity;
    uint32_t session;
} stack;

static pthread_key_t stack_key;
static bool has_stack_key;

/* Destructors that run later may call Python again; then there is a new stack, and another round
   of destructors. */
static void free_stack(void *ours)
{
    struct stack *mine = ours;
    free(mine->frames);
    *mine = (struct stack){0};
}

/* Once: extensions are never unloaded. */
__attribute__((constructor)) static void make_stack_key(void)
{
    has_stack_key = pthread_key_create(&stack_key, free_stack) == 0;
}

/* Make room for one more. */
static bool widen_stack(void)
{
    size_t capacity = stack.capacity ? stack.capacity * 2 : FRAMES;
    struct frame *frames = realloc(stack.frames, capacity * sizeof *frames);
    if (!frames)
        return false;
    stack.frames = frames;
    stack.capacity = capacity;
    if (has_stack_key)
        (void)pthread_setspecific(stack_key, &stack); /* if this fails, the memory stays */
    return true;
}

static void push_call(struct site *site, const void *owner, uint64_t ticks, int depth)
{
    if (stack.session != kymo__throttle_session) {
        stack.session = kymo__throttle_session;
        stack.depth = 0;
    }
    if (stack.depth == stack.capacity && !widen_stack())
        return;
    stack.frames[stack.depth++] = (struct frame){site, owner, ticks, depth};
    site->active++;
}

void kymo__throttle_push(struct site *site, const void *owner, uint64_t ticks)
{
    push_call(site, owner, ticks, kymo__depth - 1);
}

void kymo__throttle_open(const void *code, const void *owner, bool expected)
{
    struct site *site = kymo__site(code, SITE_FUNCTION);
    if (!site || (site->off && !expected))
        return;
    push_call(site, owner, kymo_ticks(), 0); /* it does not count for max_depth */
    if (expected && site->active)
        site->active--;
}

/* Remove the entries from AT on from the stack. */
static void cut_stack(size_t at)
{
    for (size_t i = at; i < stack.depth; i++)
        stack.frames[i].site->active--;
    stack.depth = at;
}

void kymo__throttle_close_all(void)
{
    if (stack.session == kymo__throttle_session)
        cut_stack(0);
}

void kymo__throttle_close(const void *owner)
{
    size_t i = stack.session == kymo__throttle_session ? stack.depth : 0;
    while (i > 0 && stack.frames[i - 1].owner != owner)
        i--;
    if (i)
        cut_stack(i - 1);
}

bool kymo__throttle_pop(struct site *site, const void *owner, uint64_t ticks)
{
    if (stack.session != kymo__throttle_session)
        stack.depth = 0;
    if (site->off && !site->active)
        return false; /* its enter did not count for max_depth either */
    if (!stack.depth)
        return !kymo__too_deep_leave() && !site->off; /* it was open when tracing began */
    /* Usually the innermost; deeper if leaves were lost in between. */
    for (size_t i = stack.depth; i-- > 0 && stack.depth - i < 64;) {
        if (stack.frames[i].site != site || stack.frames[i].owner != owner)
            continue;
        cut_stack(i);
        kymo__depth = stack.frames[i].depth; /* those in between may have counted only one side */
        site->calls++;
        site->ticks += ticks - stack.frames[i].ticks;
        return true;
    }
    (void)kymo__too_deep_leave();
    return false;
}

void *kymo__throttle_stack_take(void *before)
{
    struct stack *taken = before ? before : stack.depth ? calloc(1, sizeof *taken) : NULL;
    if (!taken)
        return NULL;
    struct stack free_memory = *taken;
    *taken = stack;
    stack = free_memory;
    stack.depth = 0;
    return taken;
}

void kymo__throttle_stack_give(void *taken)
{
    struct stack nothing = {0}, *given = taken ? taken : &nothing;
    struct stack was = stack;
    stack = *given;
    *given = was;
    given->depth = 0;
    if (!taken)
        free(nothing.frames);
}
