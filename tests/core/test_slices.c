/* Calls one after another: those that began in a stretch of time, whole, with ids that do not
   depend on the stretch. */
#include "slices.h"

#include <errno.h>

#include "alloc.h"
#include "random.h"
#include "tape.h"

enum { MOST = 4000 };
static struct kymo_slice_row rows[MOST];

/* Read those from FROM to TO into rows; returns how many. */
static size_t read_rows(struct kymo_capture *capture, int64_t thread, kymo_ns from, kymo_ns to)
{
    struct kymo_slices *slices;
    size_t count = 0;
    int rc;
    CHECK_OK(kymo__slices_new(capture, thread, from, to, &slices));
    while ((rc = kymo__slices_next(slices, &rows[count])) > 0) {
        count += rc == 1;
        CHECK(count < MOST);
    }
    CHECK_OK(rc);
    kymo__slices_free(slices);
    return count;
}

static void calls_come_in_the_order_of_their_ends(void)
{
    tape_start("plain");
    uint32_t f = tape_function("f"), g = tape_function("g");
    tape_enter(0, f);
    tape_enter(10, g);
    tape_put(20, KYMO_LEAVE, 2, g);
    tape_leave(50, f);
    struct kymo_capture *capture = tape_stop("plain");
    kymo_ns zero = (kymo_ns)tape_zero;

    CHECK_EQ(read_rows(capture, -1, INT64_MIN, INT64_MAX), 2);
    CHECK_EQ(rows[0].key, g);
    CHECK_EQ(rows[0].parent, rows[1].id);
    CHECK_EQ(rows[0].start, zero + 10);
    CHECK_EQ(rows[0].end, zero + 20);
    CHECK_EQ(rows[0].depth, 1);
    CHECK_EQ(rows[0].leave, 2);
    CHECK_EQ(rows[1].self, 40);
    CHECK_EQ(rows[1].parent, 0);
    CHECK_EQ(read_rows(capture, 0, INT64_MIN, INT64_MAX), 2);
    struct kymo_slices *slices;
    CHECK_EQ(kymo__slices_new(capture, 1, 0, 0, &slices), -EINVAL);
    CHECK_EQ(kymo__slices_new(capture, -2, 0, 0, &slices), -EINVAL);
    kymo_close(capture);
}

static void a_stretch_gives_the_same_rows_as_looking_at_all(void)
{
    tape_start("random");
    uint64_t state = 3, time = 0;
    uint32_t keys[4] = {tape_function("a"), tape_function("b"), tape_function("c"), tape_span("s")};
    for (unsigned i = 0; i < 3000; i++) {
        time += random_next(&state) % 3 * 10;
        uint64_t what = random_next(&state) % 10, key = random_next(&state) % 4;
        tape_put(time, what < 5 ? KYMO_ENTER : KYMO_LEAVE, 0, keys[key]);
    }
    struct kymo_capture *capture = tape_stop("random");
    kymo_ns zero = (kymo_ns)tape_zero, end = (kymo_ns)time;
    size_t all = read_rows(capture, -1, INT64_MIN, INT64_MAX);
    struct kymo_slice_row *every = malloc((all + 1) * sizeof(*every));
    memcpy(every, rows, all * sizeof(*every));

    for (kymo_ns from = 0; from < end; from += end / 11)
        for (kymo_ns to = from; to < end + 50; to += end / 7) {
            size_t count = read_rows(capture, -1, zero + from, zero + to), seen = 0;
            for (size_t i = 0; i < all; i++) {
                if (every[i].start < zero + from || every[i].start >= zero + to)
                    continue;
                CHECK(seen < count);
                CHECK_EQ(rows[seen].id, every[i].id);
                CHECK_EQ(rows[seen].parent, every[i].parent);
                CHECK_EQ(rows[seen].start, every[i].start);
                CHECK_EQ(rows[seen].end, every[i].end);
                CHECK_EQ(rows[seen].self, every[i].self);
                CHECK_EQ(rows[seen].depth, every[i].depth);
                CHECK_EQ(rows[seen].flags, every[i].flags);
                seen++;
            }
            CHECK_EQ(seen, count);
        }
    free(every);
    kymo_close(capture);
}

static void memory_may_run_out_anywhere(void)
{
    tape_start("memory");
    uint32_t f = tape_function("f"), span = tape_span("span");
    for (uint64_t i = 0; i < 100; i++) {
        tape_enter(i, f);
        tape_put_value(i, KYMO_ARG, 0, span, i);
    }
    tape_enter(100, span); /* which goes on when the call around it has ended */
    tape_put_value(100, KYMO_ARG_TEXT, 0, span, span);
    tape_leave(110, f);
    struct kymo_capture *capture = tape_stop("memory");
    int rc = -ENOMEM;
    for (long n = 0; rc == -ENOMEM; n++) {
        struct kymo_slices *slices = NULL;
        struct kymo_slice_row row;
        CHECK(n < 1000);
        kymo__alloc_fail_after(n);
        rc = kymo__slices_new(capture, -1, INT64_MIN, INT64_MAX, &slices);
        while (rc >= 0 && (rc = kymo__slices_next(slices, &row)) > 0)
            continue;
        kymo__alloc_fail_after(-1);
        kymo__slices_free(slices);
    }
    CHECK_OK(rc);
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(calls_come_in_the_order_of_their_ends),
    CHECK_CASE(a_stretch_gives_the_same_rows_as_looking_at_all),
    CHECK_CASE(memory_may_run_out_anywhere),
};

CHECK_MAIN(cases)
