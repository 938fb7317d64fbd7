/* answer_samples.c — samples: how many each thread has and what their functions are called; a tile of
   them, with values thread, level and index; and one with its stack, with values thread and time, the
   first from then on or, with back=1, the last before. All have the value capture. */
#include <errno.h>

#include "answers.h"
#include "stacks.h"
#include "tilecache.h"

void kymo__answer_samples(const struct view_request *request, struct view_answer *answer)
{
    struct view_lease lease;
    struct kymo_shown_capture shown;
    struct kymo_jsonout json;
    const struct kymo_samplebook *book;
    if (!kymo__answer_capture(request, answer, &lease, &shown))
        return;
    if (kymo__answer_json_begin(answer, &json)) {
        int rc = 0;
        if (!kymo__may_have_samples(lease.capture)) {
            kymo__jsonout_uint(&json, "samples", 0);
        } else {
            rc = kymo__view_samples(request->view, &lease, kymo__answer_stop_shared, &book);
            rc = rc < 0 ? rc : kymo__shown_samples(&shown, book, &json);
        }
        kymo__answer_end(answer, &json, rc);
    }
    kymo__view_give_back(request->view, &lease);
}

/* Find the tile in the cache, or make it. */
static int take_tile(struct view *view, const struct view_lease *lease, unsigned capture,
                     const struct kymo_tile_place *place, struct view_answer *answer)
{
    const struct kymo_samplebook *book;
    const struct view_tile_key key = {
        .generation = lease->state->generation,
        .index = place->index,
        .capture = capture,
        .thread = place->thread,
        .level = place->level,
        .kind = 's',
    };
    int rc = kymo__tile_cache_find(view->tiles, &key, &answer->bytes);
    if (rc != 0)
        return rc;
    rc = kymo__view_samples(view, lease, kymo__answer_stop_shared, &book);
    rc = rc < 0 ? rc : kymo__sample_tile_make(lease->capture, book, place, &answer->bytes);
    if (rc == 0)
        kymo__tile_cache_keep(view->tiles, &key, answer->bytes.bytes, answer->bytes.len);
    return rc;
}

void kymo__answer_sample_tile(const struct view_request *request, struct view_answer *answer)
{
    struct view_lease lease;
    struct kymo_shown_capture shown;
    int64_t capture, thread, level, index;
    if (!kymo__request_number(request, "capture", 0, VIEW_CAPTURES - 1, 0, &capture) ||
        !kymo__request_number(request, "thread", 0, UINT32_MAX, -1, &thread) ||
        !kymo__request_number(request, "level", 0, KYMO__TILE_LEVELS - 1, -1, &level) ||
        !kymo__request_number(request, "index", 0, INT64_MAX, -1, &index)) {
        kymo__answer_problem(answer, 400, "sampletile needs capture, thread, level and index");
        return;
    }
    if (!kymo__answer_capture(request, answer, &lease, &shown))
        return;
    const struct kymo_tile_place place = {
        .thread = (uint32_t)thread,
        .level = (unsigned)level,
        .index = (uint64_t)index,
        .origin = shown.origin,
        .stop = kymo__answer_stop,
        .stop_arg = (void *)(uintptr_t)request,
    };
    int rc = take_tile(request->view, &lease, (unsigned)capture, &place, answer);
    kymo__answer_bytes_end(request, answer, &lease, rc);
}

void kymo__answer_sample(const struct view_request *request, struct view_answer *answer)
{
    struct view_lease lease;
    struct kymo_shown_capture shown;
    struct kymo_jsonout json;
    struct kymo_event sample = {.size = sizeof(sample)};
    const struct kymo_samplebook *book;
    int64_t thread, time, back;
    if (!kymo__request_number(request, "thread", 0, UINT32_MAX, -1, &thread) ||
        !kymo__request_number(request, "time", 0, (int64_t)1 << 61, -1, &time) ||
        !kymo__request_number(request, "back", 0, 1, 0, &back)) {
        kymo__answer_problem(answer, 400, "sample needs thread and time");
        return;
    }
    if (!kymo__answer_capture(request, answer, &lease, &shown))
        return;
    int rc = kymo__view_samples(request->view, &lease, kymo__answer_stop_shared, &book);
    rc = rc < 0 ? rc
                : kymo__sample_find(lease.capture, (uint32_t)thread,
                                    kymo__ns_add(shown.origin, time), back, &sample);
    if (rc == 0)
        kymo__answer_problem(answer, 404, back ? "no earlier sample" : "no later sample");
    else if (rc < 0)
        kymo__answer_problem(answer, rc == -EINVAL ? 404 : 503, kymo_strerror(rc));
    else if (kymo__answer_json_begin(answer, &json))
        kymo__answer_end(answer, &json, kymo__shown_sample(&shown, book, &sample, &json));
    kymo__view_give_back(request->view, &lease);
}
