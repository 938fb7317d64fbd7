/* functions.c — see functions.h. */
#include "functions.h"

#include <errno.h>

#include "alloc.h"
#include "atomic.h"

enum { ENTER_RESUME = 1, ENTER_THROW = 2 };

int kymo__functions_init(struct kymo_functions *f, const struct kymo_callables *callables)
{
    f->callables = callables;
    f->of = kymo__alloc_zeroed(callables->count * sizeof(void *));
    return f->of ? 0 : -ENOMEM;
}

void kymo__functions_fini(struct kymo_functions *f)
{
    for (size_t i = 0; f->of && i < f->callables->count; i++) {
        if (f->of[i])
            kymo__histogram_fini(&f->of[i]->lengths);
        kymo__free(f->of[i]);
    }
    kymo__free(f->of);
    f->of = NULL;
}

static struct kymo_function_cost *cost_of(struct kymo_functions *f, uint32_t callable)
{
    struct kymo_function_cost *cost = f->of[callable];
    if (kymo__unlikely(!cost)) {
        cost = f->of[callable] = kymo__alloc_zeroed(sizeof(*cost));
        if (cost)
            cost->least = INT64_MAX;
    }
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

int kymo__functions_merge(struct kymo_functions *f, struct kymo_functions *other)
{
    for (size_t i = 0; i < f->callables->count; i++) {
        const struct kymo_function_cost *more = other->of[i];
        if (!more)
            continue;
        struct kymo_function_cost *cost = f->of[i];
        if (!cost) {
            f->of[i] = other->of[i];
            other->of[i] = NULL;
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
        int rc = kymo__histogram_merge(&cost->lengths, &more->lengths);
        if (rc < 0)
            return rc;
    }
    return 0;
}
