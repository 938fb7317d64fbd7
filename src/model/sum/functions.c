/* functions.c — see functions.h. */
#include "functions.h"

#include <errno.h>

#include "alloc.h"
#include "atomic.h"

enum { ENTER_RESUME = 1, ENTER_THROW = 2 };

/* Costs are made many at a time: there may be millions. */
enum { BLOCK = 256 };

struct kymo_cost_block {
    struct kymo_cost_block *before;
    size_t used;
    struct kymo_function_cost costs[BLOCK];
};

int kymo__functions_init(struct kymo_functions *f, const struct kymo_callables *callables)
{
    f->callables = callables;
    f->blocks = NULL;
    f->of = kymo__alloc_zeroed(callables->count * sizeof(void *));
    return f->of ? 0 : -ENOMEM;
}

void kymo__functions_fini(struct kymo_functions *f)
{
    for (struct kymo_cost_block *block = f->blocks, *before; block; block = before) {
        before = block->before;
        for (size_t i = 0; i < block->used; i++)
            kymo__histogram_fini(&block->costs[i].lengths);
        kymo__free(block);
    }
    kymo__free(f->of);
    f->of = NULL;
    f->blocks = NULL;
}

static struct kymo_function_cost *new_cost(struct kymo_functions *f)
{
    struct kymo_cost_block *block = f->blocks;
    if (!block || block->used == BLOCK) {
        block = kymo__alloc_zeroed(sizeof(*block));
        if (!block)
            return NULL;
        block->before = f->blocks;
        f->blocks = block;
    }
    struct kymo_function_cost *cost = &block->costs[block->used++];
    cost->least = INT64_MAX;
    return cost;
}

static struct kymo_function_cost *cost_of(struct kymo_functions *f, uint32_t callable)
{
    struct kymo_function_cost *cost = f->of[callable];
    if (kymo__unlikely(!cost))
        cost = f->of[callable] = new_cost(f);
    return cost;
}

int kymo__functions_enter(struct kymo_functions *f, uint32_t callable)
{
    struct kymo_function_cost *cost = cost_of(f, callable);
    if (!cost)
        return -ENOMEM;
    cost->active++;
    return 0;
}

int kymo__functions_leave(struct kymo_functions *f, uint32_t callable,
                          const struct kymo_slice *slice)
{
    struct kymo_function_cost *cost = f->of[callable];
    kymo_ns length = slice->end - slice->frame->start;
    bool resumed = slice->frame->enter == ENTER_RESUME || slice->frame->enter == ENTER_THROW;
    bool outermost = --cost->active == 0;
    cost->resumes += resumed;
    cost->calls += !resumed;
    cost->primitive += !resumed && outermost;
    cost->self = kymo__ns_add(cost->self, slice->self);
    cost->sum = kymo__ns_add(cost->sum, length);
    if (outermost)
        cost->total = kymo__ns_add(cost->total, length);
    cost->least = length < cost->least ? length : cost->least;
    cost->most = length > cost->most ? length : cost->most;
    cost->lost_leaves += (slice->flags & KYMO__END_LOST) != 0;
    return kymo__histogram_add(&cost->lengths, length);
}

void kymo__functions_forget(struct kymo_functions *f, uint32_t callable)
{
    if (f->of[callable])
        f->of[callable]->active--;
}

int kymo__functions_off(struct kymo_functions *f, uint32_t callable, kymo_ns when)
{
    struct kymo_function_cost *cost = cost_of(f, callable);
    if (!cost)
        return -ENOMEM;
    cost->off_when = !cost->off || when < cost->off_when ? when : cost->off_when;
    cost->off++;
    return 0;
}

/* Behind the one that is being filled. */
static void take_blocks(struct kymo_functions *f, struct kymo_functions *other)
{
    struct kymo_cost_block **end = &f->blocks;
    while (*end)
        end = &(*end)->before;
    *end = other->blocks;
    other->blocks = NULL;
}

int kymo__functions_merge(struct kymo_functions *f, struct kymo_functions *other)
{
    int rc = 0;
    take_blocks(f, other);
    for (size_t i = 0; rc == 0 && i < f->callables->count; i++) {
        const struct kymo_function_cost *more = other->of[i];
        if (!more)
            continue;
        struct kymo_function_cost *cost = f->of[i];
        if (!cost) {
            f->of[i] = other->of[i];
            continue;
        }
        cost->calls += more->calls;
        cost->resumes += more->resumes;
        cost->primitive += more->primitive;
        cost->self = kymo__ns_add(cost->self, more->self);
        cost->total = kymo__ns_add(cost->total, more->total);
        cost->sum = kymo__ns_add(cost->sum, more->sum);
        cost->least = more->least < cost->least ? more->least : cost->least;
        cost->most = more->most > cost->most ? more->most : cost->most;
        cost->lost_leaves += more->lost_leaves;
        if (more->off && (!cost->off || more->off_when < cost->off_when))
            cost->off_when = more->off_when;
        cost->off += more->off;
        rc = kymo__histogram_merge(&cost->lengths, &more->lengths);
        kymo__histogram_fini(&other->of[i]->lengths);
    }
    kymo__functions_fini(other);
    return rc;
}
