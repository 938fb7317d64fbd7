/* The memory events of any file are replayed and exported without harm, and their sums agree.
   Inputs are those of fuzz_reader.c. */
#include <kymo/heap.h>

static void read_heap(struct kymo_capture *capture);

#define FUZZ_READ read_heap
#include "fuzz_reader.c"

/* The rows of a set are its total, and sorted. */
static void check_set(const struct kymo_heap *heap, unsigned set, const struct kymo_heap_sum *all)
{
    struct kymo_heap_row row = {.size = sizeof(row)};
    uint64_t bytes = 0, before = UINT64_MAX;
    for (size_t i = 0; kymo_heap_row(heap, set, i, &row) == 0; i++) {
        if (row.sum.bytes > before)
            abort();
        before = row.sum.bytes;
        bytes += row.sum.bytes;
        text_bytes += strlen(row.function);
    }
    if (bytes != all->bytes)
        abort();
}

static void check_lists(const struct kymo_heap *heap)
{
    struct kymo_heap_point point = {.size = sizeof(point)};
    struct kymo_heap_class class_ = {.size = sizeof(class_)};
    struct kymo_heap_snapshot shot = {.size = sizeof(shot)};
    struct kymo_heap_object object = {.size = sizeof(object)};
    struct kymo_heap_row row = {.size = sizeof(row)};
    kymo_ns last = INT64_MIN;
    for (size_t i = 0; kymo_heap_point(heap, i, &point) == 0; i++) {
        if (point.time < last)
            abort();
        last = point.time;
    }
    for (size_t i = 0; kymo_heap_class(heap, i, &class_) == 0; i++)
        continue;
    for (size_t i = 0; kymo_heap_snapshot(heap, i, &shot) == 0; i++)
        text_bytes += strlen(shot.reason);
    for (size_t i = 0; kymo_heap_object(heap, i, &object) == 0; i++)
        text_bytes += strlen(object.type) + strlen(object.path);
    for (size_t i = 0; kymo_heap_held(heap, i, &row) == 0; i++)
        text_bytes += strlen(row.function);
}

static void read_heap(struct kymo_capture *capture)
{
    static const char *const formats[] = {"snapshot", "timeline", "pprof", "collapsed"};
    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(capture, &info);
    const struct kymo_heap_options options = {
        .size = sizeof(options), .at = info.start / 2 + info.end / 2, .points = 16};
    struct kymo_heap *heap;
    if (kymo_heap_new(capture, &options, &heap) < 0)
        return;
    struct kymo_heap_info totals = {.size = sizeof(totals)};
    kymo_heap_info(heap, &totals);
    for (unsigned set = 0; set < KYMO_HEAP_SETS; set++)
        check_set(heap, set, &totals.set[set]);
    check_lists(heap);
    kymo_heap_free(heap);
    kymo_export(capture, "/dev/null",
                &(struct kymo_export_options){.size = sizeof(struct kymo_export_options),
                                              .format = formats[info.file_bytes % 4],
                                              .to = INT64_MAX,
                                              .thread = -1,
                                              .of = KYMO_OF_MEMORY});
}
