/* Calls are added up by callee and callers, and listed one by one. */
#include <errno.h>
#include <kymo/averages.h>
#include <time.h>

#include "alloc.h"
#include "clock.h"
#include "tape.h"

static struct kymo_capture *capture;
static struct kymo_averages *averages;
static struct kymo_timeline *timeline;

/* f(0..100) calls g twice, inside the span s(5..70); g calls itself once. */
static void record(const char *name)
{
    tape_start(name);
    uint32_t f = tape_function("f"), g = tape_function("g"), s = tape_span("s");
    tape_enter(0, f);
    tape_enter(5, s);
    tape_enter(10, g);
    tape_enter(15, g);
    tape_leave(20, g);
    tape_leave(30, g);
    tape_enter(40, g);
    tape_leave(60, g);
    tape_leave(70, s);
    tape_leave(100, f);
    capture = tape_stop(name);
}

static void add_up(size_t stack, bool functions)
{
    CHECK_OK(kymo_averages_new(capture, INT64_MIN, INT64_MAX, stack, functions, &averages));
}

static void list(kymo_ns from, kymo_ns to, bool functions)
{
    CHECK_OK(kymo_timeline_new(capture, from, to, functions, &timeline));
}

static void done(void)
{
    kymo_averages_free(averages);
    kymo_timeline_free(timeline);
    averages = NULL;
    timeline = NULL;
    kymo_close(capture);
}

/* The one called NAME, from the caller CALLER unless that is NULL. */
static struct kymo_average find(const char *name, const char *caller)
{
    struct kymo_average found = {.size = sizeof(found)};
    struct kymo_callee above = {.size = sizeof(above)};
    for (size_t i = 0; i < kymo_averages_count(averages); i++) {
        CHECK_OK(kymo_averages_get(averages, i, &found));
        bool right = strcmp(found.callee.name, name) == 0;
        if (right && caller)
            right = kymo_averages_caller(averages, i, 0, &above) == 0 &&
                    strcmp(above.name, caller) == 0;
        if (right)
            return found;
    }
    CHECK_FAIL("%s is not there", name);
    return found;
}

static void calls_are_added_up_by_callee(void)
{
    record("callee");
    add_up(0, true);

    CHECK_EQ(kymo_averages_count(averages), 3);
    struct kymo_average f = find("f", NULL), g = find("g", NULL), s = find("s", NULL);
    CHECK_EQ(f.calls, 1);
    CHECK_EQ(f.total, 100);
    CHECK_EQ(f.self, 35);
    CHECK_EQ(f.callee.class_, KYMO_CLASS_FUNCTION);
    CHECK_EQ(g.calls, 3);
    CHECK_EQ(g.total, 40); /* the one inside another counts once */
    CHECK_EQ(g.self, 40);
    CHECK_EQ(s.total, 65);
    CHECK_EQ(s.self, 25);
    CHECK(f.outermost && s.outermost && !g.outermost);
    struct kymo_callee nobody = {.size = sizeof(nobody)};
    CHECK_EQ(kymo_averages_caller(averages, 0, 0, &nobody), -ENOENT);
    CHECK_EQ(kymo_averages_get(averages, 3, &f), -EINVAL);
    done();
}

static void callers_take_them_apart(void)
{
    record("callers");
    add_up(1, true);

    CHECK_EQ(kymo_averages_count(averages), 4);
    struct kymo_average outer = find("g", "s"), inner = find("g", "g");
    CHECK_EQ(outer.calls, 2);
    CHECK_EQ(outer.total, 40);
    CHECK_EQ(outer.self, 35);
    CHECK_EQ(inner.calls, 1);
    CHECK_EQ(inner.total, 5);
    done();
}

static void all_callers_make_a_stack(void)
{
    record("stack");
    add_up(SIZE_MAX, true);

    struct kymo_callee caller = {.size = sizeof(caller)};
    const char *const above[] = {"g", "s", "f"};
    bool seen = false;
    for (size_t i = 0; i < kymo_averages_count(averages); i++) {
        if (kymo_averages_caller(averages, i, 2, &caller) < 0)
            continue;
        seen = true;
        for (size_t level = 0; level < 3; level++) {
            CHECK_OK(kymo_averages_caller(averages, i, level, &caller));
            CHECK_STR(caller.name, above[level]);
        }
        CHECK_EQ(kymo_averages_caller(averages, i, 3, &caller), -ENOENT);
    }
    CHECK(seen);
    done();
}

static void without_functions_their_time_is_the_spans(void)
{
    record("spans");
    add_up(0, false);
    list(INT64_MIN, INT64_MAX, false);

    CHECK_EQ(kymo_averages_count(averages), 1);
    CHECK_EQ(find("s", NULL).self, 65);
    CHECK_EQ(kymo_timeline_count(timeline), 1);
    struct kymo_call call = {.size = sizeof(call)};
    CHECK_OK(kymo_timeline_get(timeline, 0, &call));
    CHECK_EQ(call.self, 65);
    CHECK_EQ(call.parent, -1);
    done();
}

static void calls_are_listed_as_they_began(void)
{
    record("list");
    list(INT64_MIN, INT64_MAX, true);

    static const struct {
        const char *name;
        kymo_ns start, end, self;
        int64_t parent;
    } expected[] = {
        {"f", 0, 100, 35, -1}, {"s", 5, 70, 25, 0},  {"g", 10, 30, 15, 1},
        {"g", 15, 20, 5, 2},   {"g", 40, 60, 20, 1},
    };
    CHECK_EQ(kymo_timeline_count(timeline), 5);
    struct kymo_call call = {.size = sizeof(call)};
    for (size_t i = 0; i < 5; i++) {
        CHECK_OK(kymo_timeline_get(timeline, i, &call));
        CHECK_STR(call.callee.name, expected[i].name);
        CHECK_EQ(call.start - (kymo_ns)tape_zero, expected[i].start);
        CHECK_EQ(call.end - (kymo_ns)tape_zero, expected[i].end);
        CHECK_EQ(call.self, expected[i].self);
        CHECK_EQ(call.parent, expected[i].parent);
    }
    CHECK_EQ(kymo_timeline_get(timeline, 5, &call), -EINVAL);
    done();
}

static void a_part_is_cut_at_its_ends(void)
{
    record("part");
    list((kymo_ns)tape_zero + 35, (kymo_ns)tape_zero + 50, true);

    CHECK_EQ(kymo_timeline_count(timeline), 3);
    struct kymo_call call = {.size = sizeof(call)};
    CHECK_OK(kymo_timeline_get(timeline, 0, &call));
    CHECK_EQ(call.open, 3);
    CHECK_EQ(call.end - call.start, 15);
    done();
}

/* b begins in f and goes on behind it. */
static void a_resumed_span_is_one_span(void)
{
    tape_start("on");
    uint32_t f = tape_function("f"), m = tape_function("m"), b = tape_span("b");
    tape_enter(0, m);
    tape_enter(10, f);
    tape_enter(15, b);
    tape_leave(20, f);
    tape_leave(50, b);
    tape_leave(60, m);
    capture = tape_stop("on");
    list(INT64_MIN, INT64_MAX, true);
    add_up(0, true);

    CHECK_EQ(kymo_timeline_count(timeline), 3);
    struct kymo_call call = {.size = sizeof(call)};
    CHECK_OK(kymo_timeline_get(timeline, 2, &call));
    CHECK_STR(call.callee.name, "b");
    CHECK_EQ(call.end - call.start, 35);
    CHECK_EQ(call.self, 35);
    CHECK_EQ(call.parent, 0);
    CHECK_EQ(find("b", NULL).calls, 1);
    CHECK_EQ(find("b", NULL).total, 35);
    done();
}

/* a ends before the part begins, but inside a call that goes on. */
static void a_span_that_ended_before_the_part_is_not_in_it(void)
{
    tape_start("ended");
    uint32_t f = tape_function("f"), a = tape_span("a");
    tape_enter(0, a);
    tape_enter(10, f);
    tape_leave(20, a);
    tape_leave(50, f);
    capture = tape_stop("ended");
    list((kymo_ns)tape_zero + 30, INT64_MAX, true);

    CHECK_EQ(kymo_timeline_count(timeline), 1);
    struct kymo_call call = {.size = sizeof(call)};
    CHECK_OK(kymo_timeline_get(timeline, 0, &call));
    CHECK_STR(call.callee.name, "f");
    CHECK_EQ(call.end - call.start, 20);
    done();
}

/* What was read is the beginning: MOST calls of g inside f, which is cut at the end of the last. */
static void check_beginning(size_t most)
{
    const size_t count = kymo_timeline_count(timeline);
    struct kymo_call f = {.size = sizeof(f)}, last = {.size = sizeof(last)};
    CHECK_LE(count, most + 1);
    CHECK_OK(kymo_timeline_get(timeline, 0, &f));
    CHECK_OK(kymo_timeline_get(timeline, count - 1, &last));
    CHECK_STR(f.callee.name, "f");
    CHECK_EQ(f.open, 2);
    CHECK_EQ(f.end, last.end);
    CHECK_EQ(last.start - (kymo_ns)tape_zero, 10 * ((kymo_ns)count - 1));
}

static void reading_ends_in_time(void)
{
    enum { MOST = 300000 };
    tape_start("time");
    uint32_t f = tape_function("f"), g = tape_function("g");
    tape_enter(0, f);
    for (uint64_t i = 1; i <= MOST; i++) {
        tape_enter(10 * i, g);
        tape_leave(10 * i + 5, g);
    }
    tape_leave(10 * MOST + 10, f);
    capture = tape_stop("time");

    /* Twice the time in every round, until it is enough. */
    size_t nothing = 0, some = 0;
    bool cut = true;
    for (kymo_ns time = 1; cut; time *= 2) {
        kymo_capture_until(capture, kymo__clock_ns(CLOCK_MONOTONIC) + time);
        list(INT64_MIN, INT64_MAX, true);
        cut = kymo_timeline_is_cut(timeline);
        nothing += cut && !kymo_timeline_count(timeline);
        some += cut && kymo_timeline_count(timeline);
        if (cut && kymo_timeline_count(timeline))
            check_beginning(MOST);
        if (cut)
            kymo_timeline_free(timeline);
    }
    CHECK(nothing && some);
    CHECK_EQ(kymo_timeline_count(timeline), MOST + 1);

    some = 0;
    cut = true;
    for (kymo_ns time = 1; cut; time *= 2) {
        kymo_capture_until(capture, kymo__clock_ns(CLOCK_MONOTONIC) + time);
        add_up(0, true);
        cut = kymo_averages_is_cut(averages);
        if (cut && kymo_averages_count(averages)) {
            some++;
            CHECK_EQ(find("f", NULL).calls, 1);
            CHECK_LE(10 * find("g", NULL).calls, (uint64_t)find("f", NULL).total + 10);
            CHECK_EQ(find("g", NULL).total + find("f", NULL).self, find("f", NULL).total);
        }
        if (cut)
            kymo_averages_free(averages);
    }
    CHECK(some);
    CHECK_EQ(find("g", NULL).calls, MOST);
    CHECK_EQ(find("f", NULL).total, 10 * MOST + 10);
    done();
}

static void memory_may_run_out_anywhere(void)
{
    record("memory");
    int rc, n = 0;
    do {
        kymo__alloc_fail_after(n++);
        rc = kymo_averages_new(capture, INT64_MIN, INT64_MAX, 2, true, &averages);
        kymo__alloc_fail_after(-1);
        CHECK(rc == 0 || rc == -ENOMEM);
        CHECK_LE(n, 500);
    } while (rc < 0);
    n = 0;
    do {
        kymo__alloc_fail_after(n++);
        rc = kymo_timeline_new(capture, INT64_MIN, INT64_MAX, true, &timeline);
        kymo__alloc_fail_after(-1);
        CHECK(rc == 0 || rc == -ENOMEM);
        CHECK_LE(n, 500);
    } while (rc < 0);
    CHECK_EQ(kymo_averages_count(averages), 4);
    done();
}

static const struct check_case cases[] = {
    CHECK_CASE(calls_are_added_up_by_callee),
    CHECK_CASE(callers_take_them_apart),
    CHECK_CASE(all_callers_make_a_stack),
    CHECK_CASE(without_functions_their_time_is_the_spans),
    CHECK_CASE(calls_are_listed_as_they_began),
    CHECK_CASE(a_part_is_cut_at_its_ends),
    CHECK_CASE(a_resumed_span_is_one_span),
    CHECK_CASE(a_span_that_ended_before_the_part_is_not_in_it),
    CHECK_CASE(reading_ends_in_time),
    CHECK_CASE(memory_may_run_out_anywhere),
};

CHECK_MAIN(cases)
