/* asyncs.c — see asyncs.h. */
#include "asyncs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "calls.h"
#include "hash.h"

enum { LEFT_MOST = 1 << 20, SLOTS = 64 };

int kymo__asyncs_init(struct kymo_asyncs *a, const struct kymo_callables *callables)
{
    *a = (struct kymo_asyncs){.callables = callables->count, .slot_count = SLOTS};
    for (uint32_t i = 0; i < callables->count && !a->ready; i++)
        if (callables->all[i].class == KYMO_CLASS_WAIT &&
            strcmp(callables->all[i].name, "ready") == 0)
            a->ready = i;
    a->of = kymo__alloc_zeroed(callables->count * sizeof(void *));
    a->blocked = kymo__alloc_zeroed(callables->count * sizeof(void *));
    a->slots = kymo__alloc_zeroed(a->slot_count * sizeof(*a->slots));
    if (a->of && a->blocked && a->slots)
        return 0;
    kymo__asyncs_fini(a);
    return -ENOMEM;
}

void kymo__asyncs_fini(struct kymo_asyncs *a)
{
    for (size_t i = 0; a->of && i < a->callables; i++)
        kymo__free(a->of[i]);
    for (size_t i = 0; a->blocked && i < a->callables; i++)
        kymo__free(a->blocked[i]);
    kymo__free(a->of);
    kymo__free(a->blocked);
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

/* Return the slot of ID, or the free one where it belongs. Not a kymo_map, which never forgets: ids
   come and go without end, and an id with nothing open keeps its slot only until the table is
   rebuilt. */
static struct kymo_async_slot *slot_of(struct kymo_asyncs *a, uint64_t id)
{
    size_t at = (size_t)(kymo__hash_word(id) >> 24) & (a->slot_count - 1);
    while (a->slots[at].used && a->slots[at].id != id)
        at = (at + 1) & (a->slot_count - 1);
    return &a->slots[at];
}

/* Make room for one more id: drop ids with nothing open, and grow if needed. */
static int widen_asyncs(struct kymo_asyncs *a)
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
            *slot_of(a, old[i].id) = old[i];
    kymo__free(old);
    return 0;
}

int kymo__asyncs_begin(struct kymo_asyncs *a, uint32_t callable, uint64_t id, kymo_ns time)
{
    if (widen_asyncs(a) < 0 || !cost_of(a, callable))
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
    a->slots_used += !slot->used;
    a->open[at - 1] =
        (struct kymo_async_open){.id = id, .callable = callable, .outer = slot->top, .begun = time};
    *slot = (struct kymo_async_slot){.id = id, .top = at, .used = true};
    return 0;
}

static kymo_ns longer(kymo_ns a, kymo_ns b)
{
    return a > b ? a : b;
}

static void count_length(struct kymo_async_cost *cost, kymo_ns length, bool inside)
{
    length = longer(length, 0);
    cost->count++;
    cost->inside += inside;
    cost->time = kymo__ns_add(cost->time, length);
    cost->longest = longer(length, cost->longest);
}

/* Add what happened inside a span. */
static void add_inside(struct kymo_async_cost *cost, kymo_ns waited, kymo_ns ready,
                       kymo_ns ready_longest)
{
    cost->waited = kymo__ns_add(cost->waited, waited);
    cost->ready = kymo__ns_add(cost->ready, ready);
    cost->ready_longest = longer(ready_longest, cost->ready_longest);
}

/* A span of CALLABLE that took LENGTH has ended inside OUTER. */
static void count_inside(struct kymo_asyncs *a, struct kymo_async_open *outer, uint32_t callable,
                         kymo_ns length)
{
    if (!a->ready || callable != a->ready) {
        outer->inside = kymo__ns_add(outer->inside, length);
        outer->last = callable;
        return;
    }
    outer->ready = kymo__ns_add(outer->ready, length);
    outer->ready_longest = longer(length, outer->ready_longest);
    if (outer->last)
        add_inside(a->of[outer->last], 0, length, length);
    outer->last = 0;
}

/* Keep an event whose other half may be on another thread. */
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
    while (slot->used && *link && a->open[*link - 1].callable != callable)
        link = &a->open[*link - 1].outer;
    if (!slot->used || !*link)
        return leave_over(a,
                          &(struct kymo_async_end){.id = id, .callable = callable, .time = time});
    uint32_t at = *link;
    struct kymo_async_open *span = &a->open[at - 1];
    struct kymo_async_open *outer = span->outer ? &a->open[span->outer - 1] : NULL;
    count_length(a->of[callable], time - span->begun, outer != NULL);
    add_inside(a->of[callable], span->inside, span->ready, span->ready_longest);
    if (outer)
        count_inside(a, outer, callable, longer(time - span->begun, 0));
    *link = span->outer;
    span->outer = a->free;
    a->free = at;
    return 0;
}

static int add_blocked(struct kymo_asyncs *a, uint32_t callable,
                       const struct kymo_async_blocked *more)
{
    struct kymo_async_blocked **slot = &a->blocked[callable];
    if (!*slot && !(*slot = kymo__alloc_zeroed(sizeof(**slot))))
        return -ENOMEM;
    struct kymo_async_blocked *sum = *slot;
    if (more->longest > sum->longest) {
        sum->longest = more->longest;
        sum->when = more->when;
    }
    sum->count += more->count;
    sum->time = kymo__ns_add(sum->time, more->time);
    return 0;
}

int kymo__asyncs_blocked(struct kymo_asyncs *a, uint32_t callable, kymo_ns time, uint64_t ns)
{
    kymo_ns length = ns < INT64_MAX / 2 ? (kymo_ns)ns : INT64_MAX / 2;
    const struct kymo_async_blocked one = {1, length, length, time - length};
    return add_blocked(a, callable, &one);
}

/* Move open spans to the leftovers. */
static int put_aside(struct kymo_asyncs *a)
{
    for (size_t i = 0; i < a->slot_count; i++) {
        for (uint32_t at = a->slots[i].top; at; at = a->open[at - 1].outer) {
            const struct kymo_async_open *span = &a->open[at - 1];
            const struct kymo_async_end begin = {.id = span->id,
                                                 .callable = span->callable,
                                                 .begin = true,
                                                 .time = span->begun,
                                                 .inside = span->inside,
                                                 .ready = span->ready,
                                                 .ready_longest = span->ready_longest};
            int rc = leave_over(a, &begin);
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
        if (other->blocked[i])
            rc = add_blocked(a, (uint32_t)i, other->blocked[i]);
        const struct kymo_async_cost *more = other->of[i];
        struct kymo_async_cost *cost = more ? cost_of(a, (uint32_t)i) : NULL;
        if (!more)
            continue;
        if (!cost)
            return -ENOMEM;
        cost->count += more->count;
        cost->inside += more->inside;
        cost->time = kymo__ns_add(cost->time, more->time);
        cost->longest = longer(more->longest, cost->longest);
        add_inside(cost, more->waited, more->ready, more->ready_longest);
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
        count_length(cost, (ended ? next->time : end) - now->time, false);
        add_inside(cost, now->inside, now->ready, now->ready_longest);
        cost->open += !ended;
        i += ended;
    }
    a->left_count = 0;
    return 0;
}
