/* Tiles of a timeline, and single calls: long calls apart, short ones together. */
#include "tile.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "callfind.h"
#include "callinfo.h"
#include "othermarks.h"
#include "tally.h"
#include "tape.h"
#include "tilerows.h"

/* A tile, taken apart. */
struct part {
    uint32_t start, length, busy, name, count, number;
    uint16_t depth;
    uint8_t flags;
};
enum { MOST = 100 };
static struct part parts[MOST];

static uint32_t number_at(const uint8_t *at)
{
    uint32_t number;
    memcpy(&number, at, sizeof(number));
    return number;
}

/* Make the tile at LEVEL and INDEX of thread 0; returns how many parts it has. */
static size_t read_tile(struct kymo_capture *capture, unsigned level, uint64_t index)
{
    struct kymo_callables callables;
    struct kymo_buffer out = {0};
    const struct kymo_tile_place place = {
        .level = level, .index = index, .origin = (kymo_ns)tape_zero, .events = KYMO__TILE_EVENTS};
    CHECK_OK(kymo__callables_init(&callables, capture));
    CHECK_OK(kymo__tile_make(capture, &callables, &place, &out));
    size_t count = number_at(out.bytes + 8);
    CHECK(count <= MOST);
    CHECK_EQ(out.len, KYMO__TILE_HEADER + count * KYMO__TILE_PART);
    const uint8_t *at = out.bytes + KYMO__TILE_HEADER;
    for (size_t i = 0; i < count; i++) {
        parts[i] = (struct part){
            .start = number_at(at + 4 * i),
            .length = number_at(at + 4 * (count + i)),
            .busy = number_at(at + 4 * (2 * count + i)),
            .name = number_at(at + 4 * (3 * count + i)),
            .count = number_at(at + 4 * (4 * count + i)),
            .number = number_at(at + 4 * (5 * count + i)),
            .flags = at[26 * count + i],
        };
        memcpy(&parts[i].depth, at + 24 * count + 2 * i, 2);
    }
    kymo__buffer_fini(&out);
    kymo__callables_fini(&callables);
    return count;
}

/* f from 0 to 3000; in it g at 100, of 10 each, three times, h from 200 to 300, and g again. */
static struct kymo_capture *record_calls(void)
{
    tape_start("calls");
    uint32_t f = tape_function("f"), g = tape_function("g"), h = tape_function("h");
    tape_enter(0, f);
    for (uint64_t i = 0; i < 3; i++) {
        tape_enter(100 + 15 * i, g);
        tape_leave(110 + 15 * i, g);
    }
    tape_enter(200, h);
    tape_leave(300, h);
    tape_enter(310, g);
    tape_leave(320, g);
    tape_leave(3000, f);
    return tape_stop("calls");
}

static void a_long_call_is_a_part_and_short_ones_are_joined(void)
{
    struct kymo_capture *capture = record_calls();

    CHECK_EQ(read_tile(capture, 6, 0), 5); /* columns of 64: two g begin between 64 and 128 */

    CHECK_EQ(parts[0].start, 0);
    CHECK_EQ(parts[0].length, 3000);
    CHECK_EQ(parts[0].flags, KYMO__PART_CALL);
    CHECK_EQ(parts[1].start, 100);
    CHECK_EQ(parts[1].length, 25);
    CHECK_EQ(parts[1].count, 2);
    CHECK_EQ(parts[1].busy, 20);
    CHECK_EQ(parts[1].number, 0);
    kymo_close(capture);
}

static void columns_decide_what_is_joined(void)
{
    struct kymo_capture *capture = record_calls();

    CHECK_EQ(read_tile(capture, 7, 0), 4); /* columns of 128: h is short, too, and leads its part */
    CHECK_EQ(parts[2].count, 2);
    CHECK_EQ(parts[2].busy, 110);
    CHECK(parts[2].name != parts[1].name);
    CHECK_EQ(read_tile(capture, 3, 0), 6); /* columns of 8: nothing is short */
    for (size_t i = 0; i < 6; i++)
        CHECK_EQ(parts[i].flags, KYMO__PART_CALL);
    kymo_close(capture);
}

static void a_call_is_cut_at_the_ends_of_its_tile(void)
{
    struct kymo_capture *capture = record_calls();

    CHECK_EQ(read_tile(capture, 1, 1), 1); /* from 1024 to 2048 */

    CHECK_EQ(parts[0].start, 0);
    CHECK_EQ(parts[0].length, 1024);
    CHECK_EQ(parts[0].count, 0);
    CHECK_EQ(parts[0].number, 1);
    CHECK_EQ(parts[0].flags, KYMO__PART_CALL | KYMO__PART_BEFORE | KYMO__PART_AFTER);
    CHECK_EQ(read_tile(capture, 1, 3), 0); /* after everything */
    kymo_close(capture);
}

static int refuse_all(void *arg)
{
    ++*(int *)arg;
    return -1;
}

/* Enough calls that it is asked about, without summaries and with them. */
static void a_tile_that_nobody_wants_any_more_is_not_made(void)
{
    enum { CALLS = 2000000 };
    tape_start("unwanted.kymo");
    uint32_t f = tape_function("f");
    for (int i = 0; i < CALLS; i++) {
        tape_enter((uint64_t)i * 100, f);
        tape_leave((uint64_t)i * 100 + 50, f);
    }
    struct kymo_capture *capture = tape_stop("unwanted.kymo");
    struct kymo_callables callables;
    CHECK_OK(kymo__callables_init(&callables, capture));
    for (int i = 0; i < 2; i++) {
        struct kymo_buffer out = {0};
        int asked = 0;
        const struct kymo_tile_place place = {
            .level = 22,
            .origin = (kymo_ns)tape_zero,
            .events = i ? KYMO__TILE_EVENTS : UINT64_MAX,
            .stop = refuse_all,
            .stop_arg = &asked,
        };
        CHECK_EQ(kymo__tile_make(capture, &callables, &place, &out), -ECANCELED);
        CHECK_EQ(asked, 1);
        CHECK_EQ(out.len, 0);
        kymo__buffer_fini(&out);
    }
    kymo__callables_fini(&callables);
    kymo_close(capture);
}

/* The times of samples, one after the other. */
struct times {
    kymo_ns of[MOST];
    size_t count;
};

static int note_time(void *arg, const struct kymo_event *event)
{
    struct times *times = arg;
    CHECK_LE(times->count + 1, MOST);
    times->of[times->count++] = event->time;
    return 0;
}

static int count_blocks(void *arg)
{
    ++*(size_t *)arg;
    return 0;
}

/* Samples in some blocks and none in most. */
static void reading_only_blocks_with_samples_finds_the_same(void)
{
    enum { CALLS = 1000000, RARE = 150000 };
    tape_start("rare.kymo");
    uint32_t f = tape_function("f");
    for (uint64_t i = 0; i < CALLS; i++) {
        tape_enter(i * 100, f);
        if (i % RARE < 3)
            tape_put_value(i * 100 + 20, KYMO_SAMPLE, KYMO_SAMPLED_CPU, 0, i + 1);
        tape_leave(i * 100 + 50, f);
    }
    struct kymo_capture *capture = tape_stop("rare.kymo");
    const kymo_ns windows[][2] = {
        {INT64_MIN, INT64_MAX},
        {(kymo_ns)tape_zero + 15000020, (kymo_ns)tape_zero + 60000120},
        {(kymo_ns)tape_zero + 15000021, (kymo_ns)tape_zero + 60000121},
        {(kymo_ns)tape_zero + 1000000, (kymo_ns)tape_zero + 2000000},
    };
    const size_t found[] = {21, 10, 10, 0};
    for (int i = 0; i < 4; i++) {
        struct times all = {0}, quick = {0};
        size_t blocks = 0;
        CHECK_OK(kymo__each_sample(capture, 0, windows[i][0], windows[i][1], note_time, &all));
        CHECK_OK(kymo__each_sample_quick(capture, 0, windows[i][0], windows[i][1], note_time,
                                         &quick, count_blocks, &blocks));
        CHECK_EQ(all.count, found[i]);
        CHECK_EQ(quick.count, all.count);
        CHECK(memcmp(quick.of, all.of, sizeof(all.of)) == 0);
        CHECK_LE(1, blocks);
    }
    struct times none = {0};
    int asked = 0;
    CHECK_EQ(kymo__each_sample_quick(capture, 0, INT64_MIN, INT64_MAX, note_time, &none, refuse_all,
                                     &asked),
             -1);
    CHECK_EQ(none.count, 0);
    kymo_close(capture);
}

static void there_is_no_tile_beyond_all_time(void)
{
    struct kymo_capture *capture = record_calls();
    struct kymo_callables callables;
    struct kymo_buffer out = {0};
    struct kymo_tile_place place = {.level = KYMO__TILE_LEVELS};
    CHECK_OK(kymo__callables_init(&callables, capture));
    CHECK_EQ(kymo__tile_make(capture, &callables, &place, &out), -EINVAL);
    place = (struct kymo_tile_place){.level = KYMO__TILE_LEVELS - 1, .index = UINT64_MAX};
    CHECK_EQ(kymo__tile_make(capture, &callables, &place, &out), -EINVAL);
    place = (struct kymo_tile_place){.thread = 1};
    CHECK_EQ(kymo__tile_make(capture, &callables, &place, &out), -EINVAL);
    CHECK_EQ(out.len, 0);
    kymo__callables_fini(&callables);
    kymo_close(capture);
}

static void a_call_is_found_where_it_begins_and_where_it_is_open(void)
{
    struct kymo_capture *capture = record_calls();
    struct kymo_callinfo info;
    kymo_ns zero = (kymo_ns)tape_zero;
    for (kymo_ns at = 200; at < 300; at += 33) {
        CHECK_EQ(kymo__callinfo_find(capture, 0, zero + at, 1, &info), 1);
        CHECK_EQ(info.start, zero + 200);
        CHECK_EQ(info.end, zero + 300);
        CHECK_EQ(info.self, 100);
        CHECK_EQ(info.callers[0].start, zero);
        kymo__callinfo_fini(&info);
    }
    CHECK_EQ(kymo__callinfo_find(capture, 0, zero + 500, 0, &info), 1);
    CHECK_EQ(info.end - info.start, 3000);
    CHECK_EQ(info.self, 3000 - 140);
    kymo__callinfo_fini(&info);
    CHECK_EQ(kymo__callinfo_find(capture, 0, zero + 500, 1, &info), 0);
    kymo__callinfo_fini(&info);
    CHECK_EQ(kymo__callinfo_find(capture, 9, zero, 1, &info), -EINVAL);
    kymo__callinfo_fini(&info);
    kymo_close(capture);
}

static void the_next_and_the_previous_call_are_found(void)
{
    struct kymo_capture *capture = record_calls();
    struct kymo_callables callables;
    CHECK_OK(kymo__callables_init(&callables, capture));
    bool wanted[8] = {0};
    CHECK(callables.count <= 8);
    for (size_t i = 0; i < callables.count; i++)
        wanted[i] = strcmp(callables.all[i].name, "g") == 0;
    kymo_ns zero = (kymo_ns)tape_zero;
    struct kymo_callfind search = {.callables = &callables,
                                   .wanted = wanted,
                                   .time = zero + 130,
                                   .first = zero,
                                   .last = zero + 4000,
                                   .budget = 1000000};
    struct kymo_callfound found;
    CHECK_OK(kymo__callfind(capture, &search, &found));
    CHECK(found.found);
    CHECK_EQ(found.time, zero + 310);
    search.backwards = true;
    CHECK_OK(kymo__callfind(capture, &search, &found));
    CHECK_EQ(found.time, zero + 115);
    search.time = zero + 100;
    CHECK_OK(kymo__callfind(capture, &search, &found));
    CHECK(!found.found && found.done);
    kymo__callables_fini(&callables);
    kymo_close(capture);
}

/* All of it with the n-th allocation failing: an error, or the right answer. */
static int ask_everything(struct kymo_capture *capture)
{
    struct kymo_callables callables;
    struct kymo_buffer out = {0};
    struct kymo_callinfo info = {0};
    struct kymo_marks marks = {0};
    const struct kymo_tile_place place = {.level = 6, .origin = (kymo_ns)tape_zero};
    int rc = kymo__callables_init(&callables, capture);
    if (rc < 0)
        return rc;
    rc = kymo__tile_make(capture, &callables, &place, &out);
    if (rc == 0)
        rc = kymo__callinfo_find(capture, 0, (kymo_ns)tape_zero + 200, 1, &info) == 1 ? 0 : -ENOMEM;
    if (rc == 0)
        rc = kymo__marks_read(&marks, capture, &callables, 10, NULL, NULL);
    kymo__marks_fini(&marks);
    kymo__callinfo_fini(&info);
    kymo__buffer_fini(&out);
    kymo__callables_fini(&callables);
    return rc;
}

static void without_memory_there_is_an_error(void)
{
    struct kymo_capture *capture = record_calls();
    int rc = -ENOMEM;
    long n = 0;
    for (; rc == -ENOMEM; n++) {
        CHECK(n < 1000);
        kymo__alloc_fail_after(n);
        rc = ask_everything(capture);
        kymo__alloc_fail_after(-1);
    }
    CHECK_OK(rc);
    CHECK(n > 5);
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_long_call_is_a_part_and_short_ones_are_joined),
    CHECK_CASE(columns_decide_what_is_joined),
    CHECK_CASE(a_call_is_cut_at_the_ends_of_its_tile),
    CHECK_CASE(a_tile_that_nobody_wants_any_more_is_not_made),
    CHECK_CASE(reading_only_blocks_with_samples_finds_the_same),
    CHECK_CASE(there_is_no_tile_beyond_all_time),
    CHECK_CASE(a_call_is_found_where_it_begins_and_where_it_is_open),
    CHECK_CASE(the_next_and_the_previous_call_are_found),
    CHECK_CASE(without_memory_there_is_an_error),
};

CHECK_MAIN(cases)
