/* answer_memory.c — live memory: what it was in a range, with values from and to; and a tile of it, with
   values level and index (heaplog.h). Both have the value capture. */
#include "answers.h"
#include "heaplog.h"
#include "heapview.h"
#include "tilecache.h"

static int put_memory(struct kymo_jsonout *json, struct view *view, const struct view_lease *lease,
                      unsigned which, kymo_ns from, kymo_ns to)
{
    struct view_memory *memory;
    if (kymo__heap_mode(lease->capture) == KYMO_HEAP_NONE)
        return kymo__heaplog_shown(NULL, lease->capture, from, to, json);
    int rc = kymo__view_memory(view, lease, which, kymo__answer_stop_shared, &memory);
    if (rc < 0)
        return rc;
    rc = kymo__heaplog_shown(memory->log, lease->capture, from, to, json);
    kymo__view_memory_back(view, memory);
    return rc;
}

void kymo__answer_memory(const struct view_request *request, struct view_answer *answer)
{
    struct view_lease lease;
    struct kymo_shown_capture shown;
    struct kymo_jsonout json;
    int64_t capture, from, to;
    if (!kymo__request_number(request, "capture", 0, VIEW_CAPTURES - 1, 0, &capture) ||
        !kymo__request_number(request, "from", 0, (int64_t)1 << 61, 0, &from) ||
        !kymo__request_number(request, "to", 0, (int64_t)1 << 61, (int64_t)1 << 61, &to) ||
        from >= to) {
        kymo__answer_problem(answer, 400, "memory needs from and to, the later one last");
        return;
    }
    if (!kymo__answer_capture(request, answer, &lease, &shown))
        return;
    if (kymo__answer_json_begin(answer, &json))
        kymo__answer_end(answer, &json,
                         put_memory(&json, request->view, &lease, (unsigned)capture, from, to));
    kymo__view_give_back(request->view, &lease);
}

/* Find the tile in the cache, or make it. */
static int take_tile(struct view *view, const struct view_lease *lease, unsigned capture,
                     unsigned level, uint64_t index, struct view_answer *answer)
{
    const struct view_tile_key key = {
        .generation = lease->state->generation,
        .index = index,
        .capture = capture,
        .level = level,
        .kind = 'm',
    };
    bool growing = lease->state->info.ending == KYMO_ENDED_RUNNING;
    int rc = growing ? 0 : kymo__tile_cache_find(view->tiles, &key, &answer->bytes);
    if (rc != 0)
        return rc;
    struct view_memory *memory;
    rc = kymo__view_memory(view, lease, capture, kymo__answer_stop_shared, &memory);
    if (rc < 0)
        return rc;
    rc = kymo__heaplog_tile(memory->log, level, index, &answer->bytes);
    kymo__view_memory_back(view, memory);
    if (rc == 0 && !growing)
        kymo__tile_cache_keep(view->tiles, &key, answer->bytes.bytes, answer->bytes.len);
    return rc;
}

void kymo__answer_memory_tile(const struct view_request *request, struct view_answer *answer)
{
    struct view_lease lease;
    struct kymo_shown_capture shown;
    int64_t capture, level, index;
    if (!kymo__request_number(request, "capture", 0, VIEW_CAPTURES - 1, 0, &capture) ||
        !kymo__request_number(request, "level", 0, KYMO__HEAPLOG_LEVELS - 1, -1, &level) ||
        !kymo__request_number(request, "index", 0, INT64_MAX, -1, &index)) {
        kymo__answer_problem(answer, 400, "memorytile needs capture, level and index");
        return;
    }
    if (!kymo__answer_capture(request, answer, &lease, &shown))
        return;
    int rc = take_tile(request->view, &lease, (unsigned)capture, (unsigned)level, (uint64_t)index,
                       answer);
    kymo__answer_bytes_end(request, answer, &lease, rc);
}
