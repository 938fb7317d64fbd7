/* view.c — see view.h. */
#include "view.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "capture.h"
#include "capture_file.h"
#include "exits.h"
#include "memory.h"
#include "message.h"
#include "tilecache.h"
#include "units.h"

static void free_state(struct view_state *state)
{
    if (!state)
        return;
    for (size_t i = 0; i < state->spare_count; i++)
        kymo__capture_unshare(state->capture, state->spare[i]);
    kymo__free(state->spare);
    kymo__callables_fini(&state->callables);
    if (state->samples)
        kymo__samplebook_fini(state->samples);
    kymo__free(state->samples);
    kymo_close(state->capture);
    kymo__free(state);
}

/* Make a state of CAPTURE, which it owns from now on. Returns NULL if memory is short. */
static struct view_state *make_state(struct kymo_capture *capture, const struct kymo_info *info,
                                     uint64_t generation)
{
    struct view_state *state = kymo__alloc_zeroed(sizeof(*state));
    if (!state || kymo__callables_init(&state->callables, capture) < 0) {
        kymo__free(state);
        kymo_close(capture);
        return NULL;
    }
    state->capture = capture;
    state->info = *info;
    state->users = 1;
    state->generation = generation;
    return state;
}

/* The page shows what is left; say that it is not everything. */
static void say_incomplete(const char *path, const struct kymo_info *info)
{
    if (info->ending == KYMO_ENDED_KILLED && !info->recovered_records && !info->live_bytes)
        kymo__cli_complain("%s: incomplete: the process was killed, or the file was truncated",
                           path);
    else if (info->damaged_blocks)
        kymo__cli_complain(
            "%s: incomplete: %s cannot be read", path,
            kymo__cli_count(info->damaged_blocks, "damaged block", "damaged blocks").text);
}

int kymo__view_open(struct view *view, const char *const *paths, unsigned count)
{
    *view = (struct view){.count = count};
    pthread_mutex_init(&view->lock, NULL);
    pthread_mutex_init(&view->surveying, NULL);
    pthread_mutex_init(&view->booking, NULL);
    view->tiles = kymo__tile_cache_new();
    for (unsigned i = 0; i < count; i++) {
        struct kymo_capture *capture;
        struct kymo_info info;
        int code = kymo__cli_capture_open_uncounted(paths[i], &capture, &info);
        if (code != CLI_OK)
            return code;
        say_incomplete(paths[i], &info);
        view->path[i] = paths[i];
        view->origin[i] = info.start;
        view->full_path[i] = realpath(paths[i], NULL);
        view->state[i] = make_state(capture, &info, 0);
        if (!view->state[i] || !view->full_path[i] || !view->tiles)
            return kymo__cli_capture_broken(paths[i], -ENOMEM);
    }
    return CLI_OK;
}

void kymo__view_close(struct view *view)
{
    for (unsigned i = 0; i < view->count; i++) {
        free_state(view->state[i]);
        kymo__view_memory_back(view, view->memory[i]);
        free(view->full_path[i]);
    }
    kymo__tile_cache_free(view->tiles);
    pthread_mutex_destroy(&view->lock);
    pthread_mutex_destroy(&view->surveying);
    pthread_mutex_destroy(&view->booking);
}

static void drop_user(struct view *view, struct view_state *state)
{
    pthread_mutex_lock(&view->lock);
    bool last = --state->users == 0;
    pthread_mutex_unlock(&view->lock);
    if (last)
        free_state(state);
}

/* Has the capture grown since STATE was made? It has also changed if its recording has ended. */
static struct view_state *open_again(struct view *view, unsigned which)
{
    const struct view_state *old = view->state[which];
    struct kymo_capture *capture;
    struct kymo_info info = {.size = offsetof(struct kymo_info, samples)};
    if (old->info.ending != KYMO_ENDED_RUNNING || kymo_open(view->full_path[which], &capture) < 0)
        return NULL;
    kymo_capture_info(capture, &info);
    if (info.records != old->info.records || info.ending != old->info.ending)
        return make_state(capture, &info, old->generation + 1);
    kymo_close(capture);
    return NULL;
}

bool kymo__view_refresh(struct view *view)
{
    bool any = false;
    for (unsigned i = 0; i < view->count; i++) {
        struct view_state *state = open_again(view, i);
        if (!state)
            continue;
        pthread_mutex_lock(&view->lock);
        struct view_state *old = view->state[i];
        view->state[i] = state;
        pthread_mutex_unlock(&view->lock);
        drop_user(view, old);
        any = true;
    }
    return any;
}

int kymo__view_lease(struct view *view, unsigned which, struct view_lease *lease)
{
    if (which >= view->count)
        return -ENOENT;
    pthread_mutex_lock(&view->lock);
    struct view_state *state = view->state[which];
    int rc = 0;
    lease->state = state;
    if (state->spare_count)
        lease->capture = state->spare[--state->spare_count];
    else
        rc = kymo__capture_share(state->capture, &lease->capture);
    state->users += rc == 0;
    pthread_mutex_unlock(&view->lock);
    return rc;
}

void kymo__view_give_back(struct view *view, struct view_lease *lease)
{
    struct view_state *state = lease->state;
    pthread_mutex_lock(&view->lock);
    if (kymo__array_grow(&state->spare, &state->spare_capacity, state->spare_count,
                         sizeof(*state->spare)) == 0)
        state->spare[state->spare_count++] = lease->capture;
    else
        kymo__capture_unshare(state->capture, lease->capture);
    pthread_mutex_unlock(&view->lock);
    drop_user(view, state);
}

int kymo__view_samples(struct view *view, const struct view_lease *lease, int (*stop)(void *view),
                       const struct kymo_samplebook **book)
{
    struct view_state *state = lease->state;
    int rc = 0;
    pthread_mutex_lock(&view->booking);
    if (!state->samples) {
        struct kymo_samplebook *made = kymo__alloc_zeroed(sizeof(*made));
        rc = made ? kymo__samplebook_init(made, lease->capture, stop, view) : -ENOMEM;
        if (rc == 0) {
            /* The share is given back; the capture stays as long as the state. */
            made->samples->names.capture = state->capture;
            state->samples = made;
        } else if (made) {
            kymo__samplebook_fini(made);
            kymo__free(made);
        }
    }
    *book = state->samples;
    pthread_mutex_unlock(&view->booking);
    return rc;
}

void kymo__view_shown(const struct view *view, unsigned which, const struct view_state *state,
                      struct kymo_capture *capture, struct kymo_shown_capture *shown)
{
    *shown = (struct kymo_shown_capture){
        .capture = capture,
        .callables = &state->callables,
        .info = &state->info,
        .path = view->path[which],
        .generation = state->generation,
        .origin = view->origin[which],
        .to = (int64_t)1 << 61,
    };
}
