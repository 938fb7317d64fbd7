/* Memory of several processes in one capture: that of a process is gone when it ends. */
#include <kymo/heap.h>

#include "capture.h"
#include "check.h"
#include "heaplog.h"
#include "heapmade.h"
#include "rewrite.h"

enum { COUNT = 3 };
static const uint64_t sizes[COUNT] = {100, 300, 200};

/* A process that ends holding a block, a mapping and twice its size of resident memory. */
static void record_one(const char *path, uint64_t bytes)
{
    heapmade_begin(path, "exact");
    heapmade_resident(5, 2 * bytes);
    heapmade_alloc(10, "malloc", 0x1000, bytes, 0);
    heapmade_map(20, "mmap", 0x100000, bytes << 12, 0);
    heapmade_alloc(30, "malloc", 0x2000, 7, 0);
    heapmade_free(40, 0x2000);
    CHECK_OK(kymo_stop());
}

/* The three processes as one capture. */
static struct kymo_capture *merged(const char *name, enum kymo_align how)
{
    static const struct kymo_rewrite_options plain;
    static char paths[COUNT][4096];
    struct kymo_part parts[COUNT];
    struct kymo_alignment alignment;
    struct kymo_capture *all;
    for (int i = 0; i < COUNT; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s.%d", check_path(name), i);
        record_one(paths[i], sizes[i]);
        parts[i] = (struct kymo_part){.from = INT64_MIN, .to = INT64_MAX, .path = paths[i]};
        CHECK_OK(kymo_open(paths[i], &parts[i].capture));
    }
    CHECK_OK(kymo__align(parts, COUNT, how, &alignment));
    CHECK_OK(kymo__rewrite(parts, COUNT, check_path(name), &plain));
    for (int i = 0; i < COUNT; i++)
        kymo_close(parts[i].capture);
    CHECK_OK(kymo_open(check_path(name), &all));
    return all;
}

static struct kymo_heap_info look(struct kymo_capture *capture,
                                  const struct kymo_heap_options *options, struct kymo_heap **heap)
{
    struct kymo_heap_info info = {.size = sizeof(info)};
    CHECK_OK(kymo_heap_new(capture, options, heap));
    CHECK_OK(kymo_heap_info(*heap, &info));
    return info;
}

static struct kymo_heaplog_piece whole_log(struct kymo_capture *capture, kymo_ns start)
{
    struct kymo_heaplog *log;
    struct kymo_heaplog_piece piece;
    CHECK_OK(kymo__heaplog_new(capture, start, NULL, NULL, &log));
    CHECK_OK(kymo__heaplog_pieces(log, 0, (kymo_ns)1 << 50, 1, &piece));
    kymo__heaplog_free(log);
    return piece;
}

static void processes_one_after_another_have_the_peak_of_the_largest(void)
{
    struct kymo_capture *capture = merged("sequence", KYMO__ALIGN_BEST);
    struct kymo_heap *heap;
    struct kymo_heap_info info = look(capture, NULL, &heap);

    uint64_t most = 300 + (300 << 12);
    CHECK_EQ(info.set[KYMO_HEAP_AT_PEAK].bytes, most + 7);
    CHECK_EQ(info.set[KYMO_HEAP_AT_PEAK].count, 3);
    CHECK_EQ(info.peak_by[KYMO_HEAP_NATIVE], 307);
    CHECK_EQ(info.peak_by[KYMO_HEAP_MAPPINGS], 300 << 12);
    CHECK_EQ(info.resident_most, 600);
    CHECK_EQ(info.resident_at_peak, 600);

    uint64_t points_most = 0, last = 0;
    struct kymo_heap_point point = {.size = sizeof(point)};
    for (size_t i = 0; kymo_heap_point(heap, i, &point) == 0; i++) {
        last = point.bytes[KYMO_HEAP_NATIVE] + point.bytes[KYMO_HEAP_MAPPINGS];
        points_most = last > points_most ? last : points_most;
    }
    CHECK_EQ(points_most, most + 7);
    CHECK(last <= 200 + (200 << 12) + 7);
    kymo_heap_free(heap);
    kymo_close(capture);
}

static void what_each_process_held_at_its_end_is_alive_at_the_end(void)
{
    struct kymo_capture *capture = merged("leaks", KYMO__ALIGN_BEST);
    struct kymo_heap *heap;
    struct kymo_heap_info info = look(capture, NULL, &heap);

    CHECK_EQ(info.set[KYMO_HEAP_AT_END].bytes, 600 + (600 << 12));
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].count, 6);
    CHECK_EQ(info.set[KYMO_HEAP_OLD].bytes, 600 + (600 << 12));
    CHECK_EQ(info.end_by[KYMO_HEAP_NATIVE], 600);
    CHECK_EQ(info.end_by[KYMO_HEAP_MAPPINGS], 600 << 12);
    CHECK_EQ(info.set[KYMO_HEAP_ALL].bytes, 621 + (600 << 12));
    CHECK_EQ(info.frees, 3);
    CHECK_EQ(info.resident_end, 1200);
    uint64_t in_classes = 0;
    struct kymo_heap_class class_ = {.size = sizeof(class_)};
    for (size_t i = 0; kymo_heap_class(heap, i, &class_) == 0; i++)
        in_classes += class_.end.bytes;
    CHECK_EQ(in_classes, 600);
    kymo_heap_free(heap);
    kymo_close(capture);
}

static void age_counts_up_to_the_end_of_the_process(void)
{
    struct kymo_capture *capture = merged("age", KYMO__ALIGN_BEST);
    struct kymo_heap *heap;
    const struct kymo_heap_options old = {
        .size = sizeof(old), .at = INT64_MAX, .older_than = 1000000};
    /* Each block is some 30 µs old when its process ends, though the others go on for milliseconds. */
    struct kymo_heap_info info = look(capture, &old, &heap);
    CHECK_EQ(info.set[KYMO_HEAP_OLD].bytes, 0);
    kymo_heap_free(heap);
    kymo_close(capture);
}

static void a_time_after_the_end_of_a_process_does_not_show_its_memory(void)
{
    struct kymo_capture *capture = merged("at", KYMO__ALIGN_BEST);
    struct kymo_heap *heap;
    struct kymo_info file = {.size = offsetof(struct kymo_info, samples)};
    CHECK_OK(kymo_capture_info(capture, &file));
    const struct kymo_heap_options at = {.size = sizeof(at), .at = file.end};
    struct kymo_heap_info info = look(capture, &at, &heap);
    CHECK_EQ(info.set[KYMO_HEAP_AT_TIME].bytes, 200 + (200 << 12));
    CHECK_EQ(info.set[KYMO_HEAP_AT_TIME].count, 2);
    kymo_heap_free(heap);
    kymo_close(capture);
}

static void the_log_of_the_viewer_falls_when_a_process_ends(void)
{
    struct kymo_capture *capture = merged("log", KYMO__ALIGN_BEST);
    struct kymo_info file = {.size = offsetof(struct kymo_info, samples)};
    CHECK_OK(kymo_capture_info(capture, &file));
    struct kymo_heaplog_piece piece = whole_log(capture, file.start);
    CHECK_EQ(piece.most[KYMO__HEAPLOG_TOTAL], 307 + (300 << 12));
    CHECK_EQ(piece.end[KYMO__HEAPLOG_TOTAL], 200 + (200 << 12));
    CHECK_EQ(piece.most[KYMO__HEAPLOG_RESIDENT], 600);
    CHECK_EQ(piece.end[KYMO__HEAPLOG_RESIDENT], 400);
    kymo_close(capture);
}

static void processes_at_once_are_added_up(void)
{
    struct kymo_capture *capture = merged("once", KYMO__ALIGN_START);
    struct kymo_heap *heap;
    struct kymo_heap_info info = look(capture, NULL, &heap);
    CHECK(info.set[KYMO_HEAP_AT_PEAK].bytes >= 600 + (600 << 12));
    CHECK_EQ(info.peak_by[KYMO_HEAP_MAPPINGS], 600 << 12);
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].bytes, 600 + (600 << 12));
    CHECK_EQ(info.resident_most, 1200);
    kymo_heap_free(heap);
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(processes_one_after_another_have_the_peak_of_the_largest),
    CHECK_CASE(what_each_process_held_at_its_end_is_alive_at_the_end),
    CHECK_CASE(age_counts_up_to_the_end_of_the_process),
    CHECK_CASE(a_time_after_the_end_of_a_process_does_not_show_its_memory),
    CHECK_CASE(the_log_of_the_viewer_falls_when_a_process_ends),
    CHECK_CASE(processes_at_once_are_added_up),
};

CHECK_MAIN(cases)
