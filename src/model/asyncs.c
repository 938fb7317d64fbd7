/* asyncs.c — see asyncs.h. */
#include "asyncs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "calls.h"
#include "hash.h"

enum { LEFT_MOST = 1 << 20, SLOTS = 64 };

int kymo__asyncs_init(struct kymo_asyncs *a, size_t callables)
{
    *a = (struct kymo_asyncs){.callables = callables, .slot_count = SLOTS};
    a->of = kymo__alloc_zeroed(callables * sizeof(void *));
    a->slots = kymo__alloc_zeroed(a->slot_count * sizeof(*a->slots));
    if (a->of && a->slots)
        return 0;
    kymo__asyncs_fini(a);
    return -ENOMEM;
}

void kymo__asyncs_fini(struct kymo_asyncs *a)
{
    for (size_t i = 0; a->of && i < a->callables; i++)
        kymo__free(a->of[i]);
    kymo__free(a->of);
    kymo__free(a->slots);
    kymo__free(a->open);
    kymo__free(a->left);
    *a = (struct kymo_asyncs){0};
}

static struct kymo_async_cost *cost_of(struct kymo_asyncs *a, uint32_t callable)
{
    if (!a->of[callable])
        a->of[callable] = kymo__alloc_zeroed(sizeof(**a->of));
    return a->of[callable];
}

/* The slot of ID, or the free one where it would be. An id that has nothing open any more
   keeps its slot until the table is made anew. */
static struct kymo_async_slot *slot_of(struct kymo_asyncs *a, uint64_t id)
{
    size_t at = (size_t)(kymo__hash_word(id + 1) >> 24) & (a->slot_count - 1);
    while (a->slots[at].id && a->slots[at].id != id + 1)
        at = (at + 1) & (a->slot_count - 1);
    return &a->slots[at];
}

/* Make room for one more id: without those that have nothing open, larger if need be. */
static int widen(struct kymo_asyncs *a)
{
    if ((a->slots_used + 1) * 2 <= a->slot_count)
        return 0;
    size_t alive = 0, old_count = a->slot_count;
    for (size_t i = 0; i < old_count; i++)
        alive += a->slots[i].top != 0;
    size_t wanted = SLOTS;
    while (wanted < 4 * (alive + 1))
        wanted *= 2;
    struct kymo_async_slot *old = a->slots, *slots = kymo__alloc_zeroed(wanted * sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    a->slots = slots;
    a->slot_count = wanted;
    a->slots_used = alive;
    for (size_t i = 0; i < old_count; i++)
        if (old[i].top)
            *slot_of(a, old[i].id - 1) = old[i];
    kymo__free(old);
    return 0;
}

int kymo__asyncs_begin(struct kymo_asyncs *a, uint32_t callable, uint64_t id, kymo_ns time)
{
    if (widen(a) < 0 || !cost_of(a, callable))
        return -ENOMEM;
    uint32_t at = a->free;
    if (at) {
        a->free = a->open[at - 1].outer;
    } else {
        if (a->open_count >= UINT32_MAX - 1 ||
            kymo__array_grow(&a->open, &a->open_capacity, a->open_count, sizeof(*a->open)) < 0)
            return -ENOMEM;
        at = (uint32_t)++a->open_count;
    }
    struct kymo_async_slot *slot = slot_of(a, id);
    a->slots_used += !slot->id;
    a->open[at - 1] =
        (struct kymo_async_open){.id = id, .callable = callable, .outer = slot->top, .begun = time};
    *slot = (struct kymo_async_slot){id + 1, at};
    return 0;
}

static void count(struct kymo_async_cost *cost, kymo_ns length, kymo_ns waited, bool inside)
{
    length = length > 0 ? length : 0;
    cost->count++;
    cost->inside += inside;
    cost->time = kymo__ns_add(cost->time, length);
    cost->waited = kymo__ns_add(cost->waited, waited);
    cost->longest = length > cost->longest ? length : cost->longest;
}

/* Keep what may have its other half on another thread. */
static int leave_over(struct kymo_asyncs *a, const struct kymo_async_end *end)
{
    if (a->left_count >= LEFT_MOST) {
        a->unmatched += !end->begin;
        return 0;
    }
    int rc = kymo__array_grow(&a->left, &a->left_capacity, a->left_count, sizeof(*a->left));
    if (rc == 0)
        a->left[a->left_count++] = *end;
    return rc;
}

int kymo__asyncs_end(struct kymo_asyncs *a, uint32_t callable, uint64_t id, kymo_ns time)
{
    struct kymo_async_slot *slot = slot_of(a, id);
    uint32_t *link = &slot->top;
    while (slot->id && *link && a->open[*link - 1].callable != callable)
        link = &a->open[*link - 1].outer;
    if (!slot->id || !*link)
        return leave_over(a,
                          &(struct kymo_async_end){.id = id, .callable = callable, .time = time});
    uint32_t at = *link;
    struct kymo_async_open *span = &a->open[at - 1];
    struct kymo_async_open *outer = span->outer ? &a->open[span->outer - 1] : NULL;
    count(a->of[callable], time - span->begun, span->inside, outer != NULL);
    if (outer)
        outer->inside = kymo__ns_add(outer->inside, time > span->begun ? time - span->begun : 0);
    *link = span->outer;
    span->outer = a->free;
    a->free = at;
    return 0;
}

/* What is open goes to those left over. */
static int put_aside(struct kymo_asyncs *a)
{
    for (size_t i = 0; i < a->slot_count; i++) {
        for (uint32_t at = a->slots[i].top; at; at = a->open[at - 1].outer) {
            const struct kymo_async_open *span = &a->open[at - 1];
            int rc = leave_over(a, &(struct kymo_async_end){.id = span->id,
                                                            .callable = span->callable,
                                                            .begin = true,
                                                            .time = span->begun,
                                                            .inside = span->inside});
            if (rc < 0)
                return rc;
        }
        a->slots[i].top = 0;
    }
    return 0;
}

int kymo__asyncs_merge(struct kymo_asyncs *a, struct kymo_asyncs *other)
{
    int rc = put_aside(other);
    a->unmatched += other->unmatched;
    for (size_t i = 0; rc == 0 && i < other->left_count; i++)
        rc = leave_over(a, &other->left[i]);
    for (size_t i = 0; rc == 0 && i < a->callables; i++) {
        const struct kymo_async_cost *more = other->of[i];
        struct kymo_async_cost *cost = more ? cost_of(a, (uint32_t)i) : NULL;
        if (!more)
            continue;
        if (!cost)
            return -ENOMEM;
        cost->count += more->count;
        cost->inside += more->inside;
        cost->time = kymo__ns_add(cost->time, more->time);
        cost->waited = kymo__ns_add(cost->waited, more->waited);
        cost->longest = more->longest > cost->longest ? more->longest : cost->longest;
    }
    return rc;
}

static int by_span(const void *x, const void *y)
{
    const struct kymo_async_end *a = x, *b = y;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    if (a->callable != b->callable)
        return a->callable < b->callable ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (int)b->begin - (int)a->begin;
}

int kymo__asyncs_settle(struct kymo_asyncs *a, kymo_ns end)
{
    if (a->left_count)
        qsort(a->left, a->left_count, sizeof(*a->left), by_span);
    for (size_t i = 0; i < a->left_count; i++) {
        const struct kymo_async_end *now = &a->left[i], *next = now + 1;
        struct kymo_async_cost *cost = cost_of(a, now->callable);
        if (!cost)
            return -ENOMEM;
        if (!now->begin) {
            a->unmatched++;
            continue;
        }
        bool ended = i + 1 < a->left_count && !next->begin && next->id == now->id &&
                     next->callable == now->callable;
        count(cost, (ended ? next->time : end) - now->time, now->inside, false);
        cost->open += !ended;
        i += ended;
    }
    a->left_count = 0;
    return 0;
}
