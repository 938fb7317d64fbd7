/* answer_tile.c — a tile of a thread: values capture, thread, level, index; generation, which only
   keeps a browser from showing an old one; and events, above which it is made from summaries. */
#include "answers.h"
#include "atomic.h"
#include "tile.h"
#include "tilecache.h"

void kymo__answer_tile(const struct view_request *request, struct view_answer *answer)
{
    int64_t capture, thread, level, index, events;
    if (!kymo__request_number(request, "capture", 0, VIEW_CAPTURES - 1, 0, &capture) ||
        !kymo__request_number(request, "thread", 0, UINT32_MAX, -1, &thread) ||
        !kymo__request_number(request, "level", 0, KYMO__TILE_LEVELS - 1, -1, &level) ||
        !kymo__request_number(request, "index", 0, INT64_MAX, -1, &index) ||
        !kymo__request_number(request, "events", 0, KYMO__TILE_EVENTS, KYMO__TILE_EVENTS,
                              &events)) {
        kymo__answer_problem(answer, 400, "tile needs capture, thread, level and index");
        return;
    }
    struct view_lease lease;
    if (kymo__view_lease(request->view, (unsigned)capture, &lease) < 0) {
        kymo__answer_problem(answer, 404, "there is no such capture");
        return;
    }
    const struct kymo_tile_place place = {
        .thread = (uint32_t)thread,
        .level = (unsigned)level,
        .index = (uint64_t)index,
        .origin = request->view->origin[capture],
        .events = (uint64_t)events,
        .stop = kymo__answer_stop,
        .stop_arg = (void *)(uintptr_t)request,
    };
    const struct view_tile_key key = {
        .generation = lease.state->generation,
        .index = place.index,
        .capture = (uint32_t)capture,
        .thread = place.thread,
        .level = place.level,
        .kind = 'c',
    };
    bool usual = events == KYMO__TILE_EVENTS;
    int rc = usual ? kymo__tile_cache_find(request->view->tiles, &key, &answer->bytes) : 0;
    if (rc == 0) {
        kymo__add_relaxed(&request->view->tiles_made, 1);
        rc = kymo__tile_make(lease.capture, &lease.state->callables, &place, &answer->bytes);
        kymo__add_relaxed(&request->view->tiles_made, -1u);
        if (rc == 0 && usual)
            kymo__tile_cache_keep(request->view->tiles, &key, answer->bytes.bytes,
                                  answer->bytes.len);
    }
    kymo__answer_bytes_end(request, answer, &lease, rc);
}
