/* Tiles, calls and marks of any capture can be asked for without harm; inputs are those of
   fuzz_reader.c. */
#include <stddef.h>

#include "callfind.h"
#include "callinfo.h"
#include "othermarks.h"
#include "tile.h"

enum { MARKS_MOST = 1000, THREADS_MOST = 4 };

static void ask_everything(struct kymo_capture *capture);
#define FUZZ_READ ask_everything
#include "fuzz_reader.c"

static void ask_tiles(struct kymo_capture *capture, const struct kymo_callables *callables,
                      uint32_t thread, kymo_ns origin)
{
    for (unsigned level = 0; level < KYMO__TILE_LEVELS; level += 5) {
        for (unsigned kind = 0; kind < 3; kind++) {
            struct kymo_buffer out = {0};
            const struct kymo_tile_place place = {.thread = thread,
                                                  .level = level,
                                                  .index = level & 1,
                                                  .origin = origin,
                                                  .events = kind ? KYMO__TILE_EVENTS : 0,
                                                  .full = kind == 2};
            int rc = kymo__tile_make(capture, callables, &place, &out);
            if (rc == 0 &&
                (out.len < KYMO__TILE_HEADER || (out.len - KYMO__TILE_HEADER) % KYMO__TILE_PART))
                abort();
            kymo__buffer_fini(&out);
        }
    }
}

static void ask_calls(struct kymo_capture *capture, const struct kymo_callables *callables,
                      uint32_t thread, kymo_ns origin)
{
    struct kymo_callinfo info;
    for (uint32_t depth = 0; depth < 4; depth++) {
        kymo__callinfo_find(capture, thread, kymo__ns_add(origin, 1000 * depth), depth, &info);
        kymo__callinfo_fini(&info);
    }
    bool *wanted = calloc(callables->count + 1, sizeof *wanted);
    if (!wanted)
        return;
    wanted[callables->count / 2] = true;
    const struct kymo_callfind search = {.callables = callables,
                                         .wanted = wanted,
                                         .time = origin,
                                         .first = origin,
                                         .last = capture->end,
                                         .budget = 10000};
    struct kymo_callfound found;
    kymo__callfind(capture, &search, &found);
    free(wanted);
}

static void ask_everything(struct kymo_capture *capture)
{
    struct kymo_info info = {.size = offsetof(struct kymo_info, samples)};
    struct kymo_callables callables;
    kymo_capture_info(capture, &info);
    if (kymo__callables_init(&callables, capture) < 0)
        return;
    for (uint32_t i = 0; i < info.threads && i < THREADS_MOST; i++) {
        ask_tiles(capture, &callables, i, info.start);
        ask_calls(capture, &callables, i, info.start);
    }
    struct kymo_marks marks;
    kymo__marks_read(&marks, capture, &callables, MARKS_MOST, NULL, NULL);
    kymo__marks_fini(&marks);
    kymo__callables_fini(&callables);
}
