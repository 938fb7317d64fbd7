/* What a replay of memory events finds equals what the test recorded, to the byte. */
#include <errno.h>
#include <kymo/heap.h>

#include "alloc.h"
#include "check.h"
#include "heapmade.h"
#include "random.h"
#include "replay.h"

static struct kymo_capture *capture;
static struct kymo_heap *heap;
static struct kymo_heap_info info;

static void look_with(const char *name, const struct kymo_heap_options *options)
{
    CHECK_OK(kymo_stop());
    CHECK_OK(kymo_open(check_path(name), &capture));
    CHECK_OK(kymo_heap_new(capture, options, &heap));
    info = (struct kymo_heap_info){.size = sizeof(info)};
    CHECK_OK(kymo_heap_info(heap, &info));
}

static void look(const char *name)
{
    look_with(name, NULL);
}

static void done(void)
{
    kymo_heap_free(heap);
    kymo_close(capture);
}

static struct kymo_heap_row row_at(unsigned set, size_t index)
{
    struct kymo_heap_row row = {.size = sizeof(row)};
    CHECK_OK(kymo_heap_row(heap, set, index, &row));
    return row;
}

static size_t rows_of(unsigned set)
{
    struct kymo_heap_row row = {.size = sizeof(row)};
    size_t count = 0;
    while (kymo_heap_row(heap, set, count, &row) == 0)
        count++;
    return count;
}

static void the_peak_is_by_stack(void)
{
    heapmade_begin(check_path("peak"), "exact");
    uint32_t main_line = heapmade_line("main", "app.py", 1, 5);
    uint32_t a = heapmade_stack_of(main_line, heapmade_line("load", "app.py", 10, 12));
    uint32_t b = heapmade_stack_of(main_line, heapmade_line("parse", "app.py", 20, 22));
    heapmade_alloc(10, "malloc", 0x1000, 100, a);
    heapmade_alloc(20, "malloc", 0x2000, 300, b);
    heapmade_free(30, 0x1000);
    heapmade_alloc(40, "malloc", 0x3000, 150, a); /* 450: the peak */
    heapmade_free(50, 0x2000);
    heapmade_alloc(60, "malloc", 0x4000, 200, a); /* 350 */
    look("peak");

    CHECK_EQ(info.mode, KYMO_HEAP_EXACT);
    CHECK_EQ(info.set[KYMO_HEAP_AT_PEAK].bytes, 450);
    CHECK_EQ(info.set[KYMO_HEAP_AT_PEAK].count, 2);
    CHECK_EQ(row_at(KYMO_HEAP_AT_PEAK, 0).sum.bytes, 300);
    CHECK_EQ(row_at(KYMO_HEAP_AT_PEAK, 0).stack, b);
    CHECK_EQ(row_at(KYMO_HEAP_AT_PEAK, 1).sum.bytes, 150);
    CHECK_EQ(rows_of(KYMO_HEAP_AT_PEAK), 2);
    CHECK_STR(row_at(KYMO_HEAP_AT_PEAK, 0).function, "malloc");
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].bytes, 350);
    CHECK_EQ(rows_of(KYMO_HEAP_AT_END), 1);
    CHECK_EQ(info.set[KYMO_HEAP_ALL].bytes, 750);
    CHECK_EQ(info.set[KYMO_HEAP_ALL].count, 4);
    CHECK_EQ(info.peak_by[KYMO_HEAP_NATIVE], 450);
    CHECK_EQ(info.disorder, 0);
    CHECK_EQ(info.unknown_frees, 0);
    done();
}

static void a_capture_without_memory_events_says_so(void)
{
    const struct kymo_options options = {.size = sizeof(options), .path = check_path("none")};
    CHECK_OK(kymo_start(&options));
    kymo_instant("something else");
    look("none");
    CHECK_EQ(info.mode, KYMO_HEAP_NONE);
    CHECK_EQ(rows_of(KYMO_HEAP_AT_PEAK), 0);
    done();
}

static void frees_of_unknown_blocks_are_counted_and_change_nothing(void)
{
    heapmade_begin(check_path("unknown"), "exact");
    heapmade_free(10, 0x9000);
    heapmade_alloc(20, "malloc", 0x1000, 64, 0);
    heapmade_free(30, 0x2000);
    look("unknown");
    CHECK_EQ(info.unknown_frees, 2);
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].bytes, 64);
    CHECK_EQ(row_at(KYMO_HEAP_AT_END, 0).stack, 0);
    done();
}

static void allocating_over_a_live_block_is_disorder(void)
{
    heapmade_begin(check_path("over"), "exact");
    heapmade_alloc(10, "malloc", 0x1000, 64, 0);
    heapmade_alloc(20, "malloc", 0x1000, 32, 0);
    look("over");
    CHECK_EQ(info.disorder, 1);
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].bytes, 32);
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].count, 1);
    done();
}

static void a_tracked_block_replaces_the_same_block_of_malloc(void)
{
    heapmade_begin(check_path("tracked"), "exact");
    heapmade_alloc(10, "malloc", 0x1000, 64, 0);
    heapmade_alloc(20, "tracked numpy", 0x1000, 64, 0);
    look("tracked");
    CHECK_EQ(info.disorder, 0);
    CHECK_EQ(info.set[KYMO_HEAP_AT_PEAK].bytes, 64);
    CHECK_EQ(info.end_by[KYMO_HEAP_TRACKED], 64);
    CHECK_EQ(info.end_by[KYMO_HEAP_NATIVE], 0);
    done();
}

static void a_move_is_no_temporary_block(void)
{
    heapmade_begin(check_path("move"), "exact");
    heapmade_alloc(10, "malloc", 0x1000, 64, 0);
    heapmade_realloc(20, 0x1000, 0x2000, 128, 0);
    heapmade_realloc(30, 0x2000, 0x2000, 256, 0); /* in place */
    heapmade_alloc(40, "malloc", 0x3000, 8, 0);
    heapmade_free(50, 0x3000);
    look("move");
    CHECK_EQ(info.reallocations, 2);
    CHECK_EQ(info.disorder, 0);
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].bytes, 256);
    CHECK_EQ(info.set[KYMO_HEAP_TEMPORARY].count, 1);
    CHECK_EQ(info.set[KYMO_HEAP_TEMPORARY].bytes, 8);
    done();
}

static void *free_elsewhere(void *arg)
{
    (void)arg;
    heapmade_free(15, 0x1000);
    return NULL;
}

static void blocks_freed_late_or_by_another_thread_are_not_temporary(void)
{
    const struct kymo_heap_options options = {
        .size = sizeof(options), .at = INT64_MAX, .temporary = 2};
    heapmade_begin(check_path("late"), "exact");
    heapmade_alloc(10, "malloc", 0x1000, 64, 0);
    heapmade_thread(free_elsewhere, NULL);
    heapmade_alloc(20, "malloc", 0x2000, 10, 0);
    heapmade_alloc(21, "malloc", 0x3000, 20, 0);
    heapmade_free(22, 0x2000); /* after one more: temporary */
    heapmade_alloc(23, "malloc", 0x4000, 30, 0);
    heapmade_free(24, 0x3000); /* the same */
    heapmade_alloc(25, "malloc", 0x5000, 40, 0);
    heapmade_alloc(26, "malloc", 0x6000, 50, 0);
    heapmade_free(27, 0x4000); /* after two more: not */
    look_with("late", &options);
    CHECK_EQ(info.set[KYMO_HEAP_TEMPORARY].bytes, 30);
    CHECK_EQ(info.set[KYMO_HEAP_TEMPORARY].count, 2);
    done();
}

static void *other_thread(void *arg)
{
    /* At tick 30 it takes over an address that the first thread frees at the same tick. */
    heapmade_alloc(30, "malloc", 0x1000, 7, *(uint32_t *)arg);
    heapmade_alloc(35, "malloc", 0x7000, 11, 0);
    heapmade_free(50, 0x2000);
    return NULL;
}

static void threads_are_merged_by_time_and_frees_come_first(void)
{
    heapmade_begin(check_path("threads"), "exact");
    uint32_t stack = heapmade_stack_of(0, heapmade_line("worker", "app.py", 1, 2));
    heapmade_alloc(10, "malloc", 0x1000, 100, 0);
    heapmade_thread(other_thread, &stack);
    heapmade_alloc(20, "malloc", 0x2000, 1000, 0);
    heapmade_free(30, 0x1000);
    heapmade_free(40, 0x7000);
    look("threads");
    CHECK_EQ(info.disorder, 0);
    CHECK_EQ(info.unknown_frees, 0);
    CHECK_EQ(info.set[KYMO_HEAP_AT_PEAK].bytes, 1100);
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].bytes, 7);
    CHECK_EQ(row_at(KYMO_HEAP_AT_END, 0).stack, stack);
    done();
}

static void unmapping_may_leave_pieces(void)
{
    heapmade_begin(check_path("maps"), "exact");
    heapmade_map(10, "mmap", 0x100000, 0x5000, 0);
    heapmade_unmap(20, 0x101000, 0x1000); /* two pieces are left */
    heapmade_map(30, "mmap", 0x200000, 0x2000, 0);
    heapmade_unmap(40, 0x104000, 0xfd000); /* the end of the first, the start of the other */
    heapmade_map(50, "mmap", 0x102000, 0x1000, 0); /* over the middle of what is left */
    look("maps");
    CHECK_EQ(info.set[KYMO_HEAP_AT_PEAK].bytes, 0x6000);
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].bytes, 0x4000);
    CHECK_EQ(info.end_by[KYMO_HEAP_MAPPINGS], info.set[KYMO_HEAP_AT_END].bytes);
    CHECK_EQ(info.disorder, 0);
    /* Everything is old enough; a mapping in pieces is one. */
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].count, 3);
    CHECK_EQ(info.set[KYMO_HEAP_OLD].count, 3);
    done();
}

static void arenas_are_not_counted_with_the_objects_in_them(void)
{
    heapmade_begin(check_path("arenas"), "exact");
    heapmade_map(10, "arena", 0x100000, 0x40000, 0);
    heapmade_alloc(20, "PyObject_Malloc", 0x100010, 48, 0);
    look("arenas");
    CHECK_EQ(info.set[KYMO_HEAP_AT_PEAK].bytes, 48);
    CHECK_EQ(info.end_by[KYMO_HEAP_ARENAS], 0x40000);
    CHECK_EQ(info.end_by[KYMO_HEAP_OBJECTS], 48);
    CHECK_EQ(rows_of(KYMO_HEAP_AT_END), 1);
    done();
}

static void objects_in_arenas_from_before_are_not_counted_as_use_of_new_ones(void)
{
    heapmade_begin(check_path("use"), "exact");
    heapmade_alloc(10, "PyObject_Malloc", 0x100010, 48, 0); /* in an arena that was there */
    heapmade_map(20, "arena", 0x400000, 0x40000, 0);
    heapmade_map(30, "arena", 0x200000, 0x40000, 0);
    heapmade_alloc(40, "PyObject_Malloc", 0x400000, 32, 0);
    heapmade_alloc(50, "PyMem_Malloc", 0x23fff0, 16, 0);
    heapmade_alloc(60, "PyObject_Malloc", 0x240000, 100, 0);
    heapmade_alloc(70, "PyObject_Malloc", 0x410000, 500, 0);
    heapmade_free(80, 0x410000);
    heapmade_free(90, 0x100010);
    heapmade_alloc(100, "PyObject_Malloc", 0x600010, 400, 0); /* from before, and freed unseen */
    heapmade_map(110, "arena", 0x600000, 0x40000, 0);
    heapmade_alloc(120, "PyObject_Malloc", 0x600010, 64, 0);
    heapmade_alloc(130, "PyObject_Malloc", 0x600100, 512, 0);
    heapmade_alloc(140, "PyObject_Malloc", 0x700000, 513, 0);
    look("use");
    CHECK_EQ(info.peak_by[KYMO_HEAP_ARENAS], 3 * 0x40000);
    CHECK_EQ(info.in_arenas_at_peak, 32 + 16 + 64 + 512);
    done();
}

static void the_live_set_at_a_time_is_what_was_alive_then(void)
{
    struct kymo_heap_options options = {.size = sizeof(options), .at = INT64_MAX};
    heapmade_begin(check_path("at"), "exact");
    kymo_instant("start");
    heapmade_alloc(1000, "malloc", 0x1000, 100, 0);
    heapmade_alloc(2000, "malloc", 0x2000, 200, 0);
    heapmade_free(3000, 0x1000);
    heapmade_alloc(4000, "malloc", 0x3000, 400, 0);
    look("at");
    kymo_ns peak = info.peak_time;
    CHECK_EQ(info.set[KYMO_HEAP_AT_PEAK].bytes, 600);
    kymo_heap_free(heap);
    options.at = peak - 500000; /* between the free and the last */
    CHECK_OK(kymo_heap_new(capture, &options, &heap));
    kymo_heap_info(heap, &info);
    CHECK_EQ(info.set[KYMO_HEAP_AT_TIME].bytes, 200);
    kymo_heap_free(heap);
    options.at = peak - 1500000;
    CHECK_OK(kymo_heap_new(capture, &options, &heap));
    kymo_heap_info(heap, &info);
    CHECK_EQ(info.set[KYMO_HEAP_AT_TIME].bytes, 300);
    done();
}

static void leaks_can_be_limited_to_old_ones(void)
{
    const struct kymo_heap_options options = {
        .size = sizeof(options), .at = INT64_MAX, .older_than = 5000000};
    heapmade_begin(check_path("old"), "exact");
    heapmade_alloc(1000, "malloc", 0x1000, 100, 0);
    heapmade_alloc(9000, "malloc", 0x2000, 200, 0);
    heapmade_resident(10000, 1 << 20);
    look_with("old", &options);
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].bytes, 300);
    CHECK_EQ(info.set[KYMO_HEAP_OLD].bytes, 100);
    CHECK_EQ(info.resident_end, 1 << 20);
    done();
}

static void few_points_still_show_the_peak(void)
{
    const struct kymo_heap_options options = {
        .size = sizeof(options), .at = INT64_MAX, .points = 4};
    struct kymo_heap_point point = {.size = sizeof(point)};
    heapmade_begin(check_path("points"), "exact");
    for (int i = 0; i < 100; i++) {
        heapmade_alloc(100 * i, "malloc", 0x1000, i == 60 ? 1 << 20 : 64, 0);
        heapmade_free(100 * i + 50, 0x1000);
    }
    look_with("points", &options);
    size_t count = 0, peaks = 0;
    kymo_ns last = INT64_MIN;
    while (kymo_heap_point(heap, count, &point) == 0) {
        CHECK(point.time >= last);
        last = point.time;
        peaks += point.bytes[KYMO_HEAP_NATIVE] == 1 << 20;
        count++;
    }
    CHECK_EQ(count, 4);
    CHECK_EQ(peaks, 1);
    done();
}

static void samples_are_weighed(void)
{
    enum { BLOCKS = 20000, SIZE = 1000, RATE = 8000 };
    uint64_t recorded = 0;
    uint64_t random = 7;
    heapmade_begin(check_path("sampled"), "sampled");
    kymo_metadata("memory.rate", "8000");
    for (uint64_t i = 0; i < BLOCKS; i++) {
        /* 1 - e^(-1/8) */
        if ((double)(random_next(&random) >> 11) / 9007199254740992.0 >= 0.11750309741540454)
            continue;
        heapmade_alloc((double)i, "malloc", 0x10000 + 16 * i, SIZE, 0);
        recorded++;
    }
    look("sampled");
    const struct kymo_heap_sum *sum = &info.set[KYMO_HEAP_AT_END];
    CHECK_EQ(info.mode, KYMO_HEAP_SAMPLED);
    CHECK_EQ(info.rate, RATE);
    CHECK_EQ(info.allocations, recorded);
    double off = (double)sum->bytes - (double)BLOCKS * SIZE;
    CHECK(sum->error > 0);
    CHECK(off < 4 * sum->error && off > -4 * sum->error);
    /* The standard error of a sum of BLOCKS independent ones. */
    CHECK_LE(sum->error, 1.1 * 387500);
    CHECK_LE(0.9 * 387500, sum->error);
    done();
}

static void live_mode_has_its_sums_from_rows(void)
{
    struct kymo_heap_snapshot shot = {.size = sizeof(shot)};
    heapmade_begin(check_path("live"), "live");
    uint32_t stack = heapmade_stack_of(0, heapmade_line("cache", "app.py", 1, 2));
    heapmade_snapshot(10, 2, "signal");
    heapmade_held(10, 2, 500, 5, stack, "malloc");
    heapmade_held(20, 0, 100, 1, stack, "malloc");
    heapmade_held(20, 0, 30, 3, 0, "PyObject_Malloc");
    heapmade_held(21, 1, 900, 9, stack, "malloc");
    look("live");
    CHECK_EQ(info.mode, KYMO_HEAP_LIVE);
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].bytes, 130);
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].count, 4);
    CHECK_EQ(info.set[KYMO_HEAP_AT_PEAK].bytes, 900);
    CHECK_EQ(row_at(KYMO_HEAP_AT_PEAK, 0).stack, stack);
    CHECK_OK(kymo_heap_snapshot(heap, 0, &shot));
    CHECK_STR(shot.reason, "signal");
    CHECK_EQ(shot.rows, 1);
    CHECK_EQ(shot.sum.bytes, 500);
    done();
}

static void live_mode_says_how_much_was_mapped_at_once(void)
{
    heapmade_begin(check_path("mapped"), "live");
    heapmade_map(10, "mmap", 0x100000, 0x3000, 0);
    heapmade_map(20, "mmap", 0x200000, 0x5000, 0);
    heapmade_map(25, "arena", 0x300000, 0x100000, 0); /* the objects in it count */
    heapmade_unmap(30, 0x100000, 0x3000);
    heapmade_held(40, 0, 100, 1, 0, "malloc");
    heapmade_held(41, 1, 900, 9, 0, "malloc");
    look("mapped");
    CHECK_EQ(info.set[KYMO_HEAP_AT_PEAK].bytes, 900);
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].bytes, 0x5000 + 100);
    CHECK_EQ(info.mapped_most, 0x8000);
    CHECK(info.mapped_most_time > 0);
    CHECK_EQ(info.peak_time, 0);
    done();
    heapmade_begin(check_path("exactly"), "exact");
    heapmade_map(10, "mmap", 0x100000, 0x3000, 0);
    look("exactly");
    CHECK_EQ(info.set[KYMO_HEAP_AT_PEAK].bytes, 0x3000);
    CHECK_EQ(info.mapped_most, 0); /* the peak has it */
    done();
}

static void live_mode_knows_what_was_held_at_snapshots(void)
{
    struct kymo_heap_options options = {.size = sizeof(options), .at = INT64_MAX};
    struct kymo_heap_snapshot shot = {.size = sizeof(shot)};
    heapmade_begin(check_path("shots"), "live");
    heapmade_map(10, "mmap", 0x100000, 0x5000, 0);
    heapmade_snapshot(1000, 2, "one");
    heapmade_held(1010, 2, 500, 5, 0, "malloc");
    heapmade_unmap(2000, 0x100000, 0x5000);
    heapmade_snapshot(3000, 3, "two");
    heapmade_held(3010, 3, 700, 7, 0, "malloc");
    heapmade_held(4000, 0, 100, 1, 0, "malloc");
    heapmade_held(4010, 1, 900, 9, 0, "malloc");
    look("shots");
    /* Whether the mapping was there at the peak is not known. */
    CHECK_EQ(info.set[KYMO_HEAP_AT_PEAK].bytes, 900);
    CHECK_EQ(info.peak_by[KYMO_HEAP_MAPPINGS], 0);
    CHECK_EQ(info.peak_time, 0);
    CHECK_OK(kymo_heap_snapshot(heap, 0, &shot));
    kymo_ns first = shot.time;
    const struct {
        kymo_ns at;
        uint64_t bytes;
    } cases[] = {{first - 500000, 0x5000}, {first, 500 + 0x5000}, {first + 2500000, 700}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        kymo_heap_free(heap);
        options.at = cases[i].at;
        CHECK_OK(kymo_heap_new(capture, &options, &heap));
        kymo_heap_info(heap, &info);
        CHECK_EQ(info.set[KYMO_HEAP_AT_TIME].bytes, cases[i].bytes);
    }
    done();
}

static void surviving_objects_are_listed(void)
{
    struct kymo_heap_object object = {.size = sizeof(object)};
    heapmade_begin(check_path("objects"), "exact");
    uint32_t stack = heapmade_stack_of(0, heapmade_line("make", "app.py", 1, 2));
    heapmade_object(10, 0, 12, 3456, 789, "Session", stack, "app.sessions → dict → Session");
    look("objects");
    CHECK_OK(kymo_heap_object(heap, 0, &object));
    CHECK_STR(object.type, "Session");
    CHECK_STR(object.path, "app.sessions → dict → Session");
    CHECK_EQ(object.count, 12);
    CHECK_EQ(object.bytes, 3456);
    CHECK_EQ(object.owned, 789);
    CHECK_EQ(object.stack, stack);
    CHECK_EQ(kymo_heap_object(heap, 1, &object), -ENOENT);
    done();
}

/* ---- random programs ---- */

enum { THREADS = 4, STEPS = 20000, ADDRESSES = 3000, STACKS = 20 };

struct step {
    int thread;
    double time;
    uint64_t address, size, from;
    uint32_t stack;
    bool frees;
};

static struct step steps[STEPS];

static void *play(void *arg)
{
    for (int i = 0; i < STEPS; i++) {
        const struct step *s = &steps[i];
        if (s->thread != *(const int *)arg)
            continue;
        if (s->frees)
            heapmade_free(s->time, s->address);
        else if (s->from)
            heapmade_realloc(s->time, s->from, s->address, s->size, s->stack);
        else
            heapmade_alloc(s->time, "malloc", s->address, s->size, s->stack);
    }
    return NULL;
}

static void random_programs_on_threads_give_what_a_plain_sum_gives(void)
{
    static uint64_t size[ADDRESSES], by_stack[STACKS], at_peak[STACKS];
    static uint32_t of[ADDRESSES], stacks[STACKS];
    uint64_t random = 42;
    uint64_t total = 0, peak = 0, all = 0, live = 0;
    memset(size, 0, sizeof(size));
    memset(by_stack, 0, sizeof(by_stack));
    heapmade_begin(check_path("random"), "exact");
    for (int i = 0; i < STACKS; i++)
        stacks[i] = heapmade_stack_of(0, heapmade_line("f", "app.py", 1, (uint32_t)i + 1));
    for (int i = 0; i < STEPS; i++) {
        size_t at = random_next(&random) % ADDRESSES;
        struct step *s = &steps[i];
        uint32_t stack = (uint32_t)(random_next(&random) % STACKS);
        *s = (struct step){.thread = (int)(random_next(&random) % THREADS),
                           .time = 10 + i,
                           .address = 0x100000 + 16 * at,
                           .stack = stacks[stack],
                           .frees = size[at] && random_next(&random) % 4};
        if (size[at]) {
            by_stack[of[at]] -= size[at];
            total -= size[at];
            live--;
        }
        if (s->frees) {
            size[at] = 0;
            continue;
        }
        s->from = size[at] ? s->address : 0;
        s->size = size[at] = 1 + random_next(&random) % 100000;
        of[at] = stack;
        by_stack[stack] += s->size;
        total += s->size;
        all += s->size;
        live++;
        if (total > peak) {
            peak = total;
            memcpy(at_peak, by_stack, sizeof(at_peak));
        }
    }
    for (int i = 0; i < THREADS; i++)
        heapmade_thread(play, &i);
    look("random");
    CHECK_EQ(info.disorder, 0);
    CHECK_EQ(info.unknown_frees, 0);
    CHECK_EQ(info.set[KYMO_HEAP_AT_PEAK].bytes, peak);
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].bytes, total);
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].count, live);
    CHECK_EQ(info.set[KYMO_HEAP_ALL].bytes, all);
    uint64_t found[STACKS] = {0};
    struct kymo_heap_row row = {.size = sizeof(row)};
    for (size_t i = 0; kymo_heap_row(heap, KYMO_HEAP_AT_PEAK, i, &row) == 0; i++)
        for (int k = 0; k < STACKS; k++)
            found[k] += row.stack == stacks[k] ? row.sum.bytes : 0;
    for (int k = 0; k < STACKS; k++)
        CHECK_EQ(found[k], at_peak[k]);
    uint64_t classes = 0;
    struct kymo_heap_class class = {.size = sizeof(class)};
    for (size_t i = 0; kymo_heap_class(heap, i, &class) == 0; i++)
        classes += class.peak.bytes;
    CHECK_EQ(classes, peak);
    done();
}

static void memory_that_runs_out_is_reported(void)
{
    heapmade_begin(check_path("short"), "exact");
    heapmade_map(5, "mmap", 0x100000, 0x5000, 0);
    heapmade_unmap(6, 0x101000, 0x1000);
    for (int i = 0; i < 5000; i++)
        heapmade_alloc(10 + i, "malloc", 0x10000000 + 16 * (uint64_t)i, 8, 0);
    heapmade_snapshot(6000, 2, "asked");
    heapmade_object(6001, 2, 1, 1, 1, "T", 0, "path");
    CHECK_OK(kymo_stop());
    CHECK_OK(kymo_open(check_path("short"), &capture));
    int rc = -ENOMEM;
    for (long n = 0; rc == -ENOMEM; n++) {
        kymo__alloc_fail_after(n);
        rc = kymo_heap_new(capture, NULL, &heap);
        kymo__alloc_fail_after(-1);
    }
    CHECK_OK(rc);
    info = (struct kymo_heap_info){.size = sizeof(info)};
    kymo_heap_info(heap, &info);
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].bytes, 5000 * 8 + 0x4000);
    done();
}

static const struct check_case cases[] = {
    CHECK_CASE(the_peak_is_by_stack),
    CHECK_CASE(a_capture_without_memory_events_says_so),
    CHECK_CASE(frees_of_unknown_blocks_are_counted_and_change_nothing),
    CHECK_CASE(allocating_over_a_live_block_is_disorder),
    CHECK_CASE(a_tracked_block_replaces_the_same_block_of_malloc),
    CHECK_CASE(a_move_is_no_temporary_block),
    CHECK_CASE(blocks_freed_late_or_by_another_thread_are_not_temporary),
    CHECK_CASE(threads_are_merged_by_time_and_frees_come_first),
    CHECK_CASE(unmapping_may_leave_pieces),
    CHECK_CASE(arenas_are_not_counted_with_the_objects_in_them),
    CHECK_CASE(objects_in_arenas_from_before_are_not_counted_as_use_of_new_ones),
    CHECK_CASE(the_live_set_at_a_time_is_what_was_alive_then),
    CHECK_CASE(leaks_can_be_limited_to_old_ones),
    CHECK_CASE(few_points_still_show_the_peak),
    CHECK_CASE(samples_are_weighed),
    CHECK_CASE(live_mode_has_its_sums_from_rows),
    CHECK_CASE(live_mode_says_how_much_was_mapped_at_once),
    CHECK_CASE(live_mode_knows_what_was_held_at_snapshots),
    CHECK_CASE(surviving_objects_are_listed),
    CHECK_CASE(random_programs_on_threads_give_what_a_plain_sum_gives),
    CHECK_CASE(memory_that_runs_out_is_reported),
};

CHECK_MAIN(cases)
