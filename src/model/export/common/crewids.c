/* crewids.c — ids of threads and processes that are unique within a file. */
#include <stdlib.h>

#include "alloc.h"
#include "crewjob.h"

struct named {
    uint64_t tid;
    uint32_t thread;
};

static int by_tid(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

uint64_t *kymo__crew_tids(const struct kymo_reader *r)
{
    struct named *all = kymo__alloc((r->thread_count + 1) * sizeof(*all));
    uint64_t *tids = kymo__alloc((r->thread_count + 1) * sizeof(*tids));
    if (!all || !tids) {
        kymo__free(all);
        kymo__free(tids);
        return NULL;
    }
    for (uint32_t i = 0; i < r->thread_count; i++)
        all[i] = (struct named){r->threads[i].tid, i};
    if (r->thread_count)
        qsort(all, r->thread_count, sizeof(*all), by_tid);
    for (size_t i = 0; i < r->thread_count; i++) {
        bool again = all[i].tid >= KYMO__SECOND_TID || (i && all[i].tid == all[i - 1].tid);
        tids[all[i].thread] = again ? KYMO__SECOND_TID + all[i].thread : all[i].tid;
    }
    kymo__free(all);
    return tids;
}

int64_t kymo__crew_pid(const struct kymo_capture *capture, uint32_t index,
                       struct kymo_process_info *info)
{
    struct kymo_process_info other = {.size = sizeof(other)};
    info->size = sizeof(*info);
    if (kymo_capture_process(capture, index, info) < 0)
        return 0;
    for (uint32_t i = 0; i < index; i++)
        if (kymo_capture_process(capture, i, &other) == 0 && other.pid == info->pid)
            return (int64_t)KYMO__SECOND_TID + index;
    return info->pid;
}
