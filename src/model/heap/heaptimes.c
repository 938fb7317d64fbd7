/* heaptimes.c — see heaptimes.h. */
#include "heaptimes.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"

/* Where part NUMBER ends. */
static uint64_t end_of(const struct kymo_heap_times *t, size_t number)
{
    uint64_t length = t->last - t->first;
    if (number + 1 >= t->most)
        return UINT64_MAX;
    return t->first + length / t->most * (number + 1) + length % t->most * (number + 1) / t->most +
           1;
}

int kymo__heap_times_init(struct kymo_heap_times *t, size_t points, uint64_t first, uint64_t last)
{
    *t = (struct kymo_heap_times){
        .most = points, .first = first, .last = last > first ? last : first};
    t->all = kymo__alloc(points * sizeof(*t->all));
    t->end = end_of(t, 0);
    t->now.ticks = first;
    return t->all ? 0 : -ENOMEM;
}

void kymo__heap_times_fini(struct kymo_heap_times *t)
{
    kymo__free(t->all);
    *t = (struct kymo_heap_times){0};
}

void kymo__heap_times_turn(struct kymo_heap_times *t, uint64_t ticks, uint64_t total,
                           const uint64_t *bytes)
{
    while (ticks >= t->end && t->count < t->most) {
        uint64_t next = t->end;
        t->all[t->count++] = t->now;
        t->now = (struct kymo_heap_moment){.ticks = next, .total = total};
        memcpy(t->now.bytes, bytes, sizeof(t->now.bytes));
        t->end = end_of(t, t->count);
    }
}
