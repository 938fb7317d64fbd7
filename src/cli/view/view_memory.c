/* view_memory.c — the memory of a capture over time, made once for all requests. */
#include <errno.h>

#include "alloc.h"
#include "clock.h"
#include "heaplog.h"
#include "view.h"

enum { RARELY = 10 }; /* of a growing capture it is made anew after so many times what it takes */

void kymo__view_memory_back(struct view *view, struct view_memory *memory)
{
    pthread_mutex_lock(&view->lock);
    bool last = memory && --memory->users == 0;
    pthread_mutex_unlock(&view->lock);
    if (!last)
        return;
    kymo__heaplog_free(memory->log);
    kymo__free(memory);
}

/* Is OLD good enough for the capture in STATE? */
static bool is_recent(const struct view_memory *old, const struct view_state *state)
{
    if (!old || old->generation == state->generation)
        return old != NULL;
    return state->info.ending == KYMO_ENDED_RUNNING &&
           kymo__clock_ns(CLOCK_MONOTONIC) - old->made < RARELY * old->cost;
}

static int make_memory(struct view *view, const struct view_lease *lease, unsigned which,
                       int (*stop)(void *view), struct view_memory **made)
{
    struct view_memory *memory = kymo__alloc_zeroed(sizeof(*memory));
    if (!memory)
        return -ENOMEM;
    kymo_ns began = kymo__clock_ns(CLOCK_MONOTONIC);
    int rc = kymo__heaplog_new(lease->capture, view->origin[which], stop, view, &memory->log);
    if (rc < 0) {
        kymo__free(memory);
        return rc;
    }
    memory->generation = lease->state->generation;
    memory->users = 1;
    memory->made = kymo__clock_ns(CLOCK_MONOTONIC);
    memory->cost = memory->made - began;
    *made = memory;
    return 0;
}

int kymo__view_memory(struct view *view, const struct view_lease *lease, unsigned which,
                      int (*stop)(void *view), struct view_memory **memory)
{
    int rc = 0;
    pthread_mutex_lock(&view->booking);
    if (!is_recent(view->memory[which], lease->state)) {
        struct view_memory *made = NULL;
        rc = make_memory(view, lease, which, stop, &made);
        if (rc == 0) {
            kymo__view_memory_back(view, view->memory[which]);
            view->memory[which] = made;
        }
    }
    if (rc == 0) {
        pthread_mutex_lock(&view->lock);
        *memory = view->memory[which];
        (*memory)->users++;
        pthread_mutex_unlock(&view->lock);
    }
    pthread_mutex_unlock(&view->booking);
    return rc;
}
