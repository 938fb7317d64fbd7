/* processends.c — see processends.h. */
#include "processends.h"

#include <errno.h>
#include <stdlib.h>

#include "alloc.h"

/* The last tick of THREAD, 0 if it has no records. A track may have a clock of its own. */
static uint64_t last_tick(const struct kymo_reader *r, const struct kymo_reader_thread *thread)
{
    uint64_t last = 0;
    for (size_t i = thread->run; i < (size_t)thread->run + thread->runs; i++) {
        const struct kymo_run *run = &r->runs[i];
        if (!run->damaged && run->type != KYMO__BLOCK_TRACK && run->last_ticks > last)
            last = run->last_ticks;
    }
    return last;
}

static int by_time(const void *a, const void *b)
{
    const struct kymo_process_end *x = a, *y = b;
    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    return x->process < y->process ? -1 : x->process > y->process;
}

int kymo__process_ends_init(struct kymo_process_ends *ends, const struct kymo_reader *r)
{
    size_t count = kymo__process_count(r);
    *ends = (struct kymo_process_ends){0};
    if (count < 2)
        return 0;
    ends->all = kymo__alloc_zeroed(count * sizeof(*ends->all));
    if (!ends->all)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        ends->all[i].process = i;
    for (uint32_t i = 0; i < r->thread_count; i++) {
        struct kymo_process_end *end = &ends->all[kymo__process_of(r, i)];
        uint64_t last = last_tick(r, &r->threads[i]);
        end->ticks = last > end->ticks ? last : end->ticks;
    }
    qsort(ends->all, count, sizeof(*ends->all), by_time);
    ends->count = count - 1;
    return 0;
}

void kymo__process_ends_fini(struct kymo_process_ends *ends)
{
    kymo__free(ends->all);
    *ends = (struct kymo_process_ends){0};
}
