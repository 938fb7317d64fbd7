/* Two captures side by side: the same function is found again, and its costs are both there. */
#include "diff.h"

#include <errno.h>

#include "alloc.h"
#include "tape.h"

static struct kymo_capture *captures[2];
static struct kymo_survey *surveys[2];
static struct kymo_diff diff;

static const struct kymo_survey_options everything = {
    .from = INT64_MIN, .to = INT64_MAX, .nodes = 1000};

/* Names of captures: one for each side. */
static const char *const sides[] = {"before", "after"};

static void stop(int side)
{
    captures[side] = tape_stop(sides[side]);
    CHECK_OK(kymo__survey(captures[side], &everything, &surveys[side]));
}

static void compare(void)
{
    CHECK_OK(kymo__diff_init(&diff, surveys[0], surveys[1]));
}

static void done(void)
{
    kymo__diff_fini(&diff);
    for (int i = 0; i < 2; i++) {
        kymo__survey_free(surveys[i]);
        kymo_close(captures[i]);
    }
}

static const struct kymo_diff_function *function(const char *name, uint32_t line)
{
    const struct kymo_diff_function *found = NULL;
    for (size_t i = 1; i < diff.count; i++) {
        if (strcmp(diff.functions[i].as.name, name) != 0 ||
            (line && diff.functions[i].as.line != line))
            continue;
        if (found)
            CHECK_FAIL("%s:%u is there twice", name, line);
        found = &diff.functions[i];
    }
    if (!found)
        CHECK_FAIL("%s:%u is not there", name, line);
    return found;
}

/* One call of a function from 0 to LENGTH. */
static void call(const char *name, const char *file, uint32_t line, uint64_t at, uint64_t length)
{
    uint32_t key = tape_key(name, file, line, KYMO_CLASS_FUNCTION);
    tape_enter(at, key);
    tape_leave(at + length, key);
}

static void a_function_has_the_costs_of_both(void)
{
    for (int side = 0; side < 2; side++) {
        tape_start(sides[side]);
        uint32_t f = tape_function("f"), g = tape_function("g");
        tape_enter(0, f);
        for (uint64_t i = 0; i <= (uint64_t)side; i++) {
            tape_enter(10 + 20 * i, g);
            tape_leave(20 + 20 * i, g);
        }
        tape_leave(100, f);
        stop(side);
    }
    compare();

    const struct kymo_diff_function *f = function("f", 0), *g = function("g", 0);
    CHECK(f->in[0] && f->in[1] && g->in[0] && g->in[1]);
    CHECK_EQ(f->cost[0].self, 90);
    CHECK_EQ(f->cost[1].self, 80);
    CHECK_EQ(f->cost[1].total, 100);
    CHECK_EQ(kymo__diff_change(f->cost), -10);
    CHECK_EQ(g->cost[0].calls, 1);
    CHECK_EQ(g->cost[1].calls, 2);
    CHECK_EQ(g->cost[1].mean, 10);
    CHECK_EQ(diff.self[0], 100);
    CHECK_EQ(diff.self[1], 100);
    CHECK_EQ(diff.calls[1], 3);
    done();
}

static void new_and_removed_functions_have_one_side(void)
{
    tape_start(sides[0]);
    call("old", "program.py", 1, 0, 10);
    stop(0);
    tape_start(sides[1]);
    call("new", "program.py", 1, 0, 30);
    stop(1);
    compare();

    CHECK(function("old", 0)->in[0] && !function("old", 0)->in[1]);
    CHECK(!function("new", 0)->in[0] && function("new", 0)->in[1]);
    CHECK_EQ(kymo__diff_change(function("old", 0)->cost), -10);
    CHECK_EQ(kymo__diff_change(function("new", 0)->cost), 30);
    done();
}

static void a_moved_line_and_a_moved_directory_still_match(void)
{
    tape_start(sides[0]);
    call("f", "/home/a/src/pkg/util.py", 10, 0, 10);
    call("g", "/usr/lib/python3.11/json/decoder.py", 5, 20, 10);
    call("h", "/a/lib/site-packages/numpy/core/x.py", 5, 40, 10);
    stop(0);
    tape_start(sides[1]);
    call("f", "/srv/build/util.py", 99, 0, 20);
    call("g", "/usr/lib/python3.12/json/decoder.py", 7, 20, 20);
    call("h", "/b/site-packages/numpy/core/x.py", 5, 40, 20);
    stop(1);
    compare();

    CHECK_EQ(diff.count, 4);
    CHECK_EQ(kymo__diff_change(function("f", 99)->cost), 10);
    CHECK_EQ(kymo__diff_change(function("g", 7)->cost), 10);
    CHECK_EQ(kymo__diff_change(function("h", 5)->cost), 10);
    done();
}

static void the_nearer_file_is_preferred(void)
{
    tape_start(sides[0]);
    call("f", "/x/one/util.py", 1, 0, 10);
    call("f", "/x/two/util.py", 1, 20, 20);
    stop(0);
    tape_start(sides[1]);
    call("f", "/y/two/util.py", 3, 0, 21);
    call("f", "/y/one/util.py", 4, 30, 11);
    stop(1);
    compare();

    CHECK_EQ(diff.count, 3);
    CHECK_EQ(function("f", 3)->cost[0].self, 20);
    CHECK_EQ(function("f", 4)->cost[0].self, 10);
    done();
}

static void functions_of_one_name_are_paired_in_order(void)
{
    tape_start(sides[0]);
    call("<lambda>", "a.py", 10, 0, 10);
    call("<lambda>", "a.py", 20, 20, 20);
    call("pair", "b.py", 10, 100, 10);
    call("pair", "b.py", 20, 120, 20);
    stop(0);
    tape_start(sides[1]); /* ten lines were put before all of it */
    call("<lambda>", "a.py", 20, 0, 11);
    call("<lambda>", "a.py", 30, 20, 21);
    call("pair", "b.py", 20, 100, 22); /* and here the first one is gone */
    stop(1);
    compare();

    CHECK_EQ(function("<lambda>", 20)->cost[0].self, 10);
    CHECK_EQ(function("<lambda>", 30)->cost[0].self, 20);
    CHECK_EQ(function("pair", 20)->cost[0].self, 20);
    CHECK(!function("pair", 10)->in[1]);
    done();
}

static void other_kinds_are_other_functions(void)
{
    tape_start(sides[0]);
    uint32_t key = tape_key("f", "m", 0, KYMO_CLASS_NATIVE);
    tape_enter(0, key);
    tape_leave(10, key);
    stop(0);
    tape_start(sides[1]);
    key = tape_key("f", "m", 0, KYMO_CLASS_FUNCTION);
    tape_enter(0, key);
    tape_leave(10, key);
    stop(1);
    compare();

    CHECK_EQ(diff.count, 3);
    done();
}

static void paths_are_compared_as_a_whole(void)
{
    for (int side = 0; side < 2; side++) {
        tape_start(sides[side]);
        uint32_t f = tape_function("f"), g = tape_function("g"), h = tape_function("h");
        tape_enter(0, f);
        tape_enter(10, h);
        tape_leave(20, h);
        tape_enter(30, g);
        if (side) {
            tape_enter(40, h);
            tape_leave(45, h);
        }
        tape_leave(50, g);
        tape_leave(100, f);
        stop(side);
    }
    compare();

    size_t paths = 0;
    for (size_t i = 1; i < diff.tree.count; i++) {
        const struct kymo_node *node = &diff.tree.nodes[i];
        const char *name = diff.callables[node->callable].name;
        const char *above = diff.callables[diff.tree.nodes[node->parent].callable].name;
        if (strcmp(name, "h") != 0)
            continue;
        paths++;
        CHECK_EQ(diff.paths[i][0].calls, strcmp(above, "f") == 0);
        CHECK_EQ(diff.paths[i][1].self, strcmp(above, "f") == 0 ? 10 : 5);
    }
    CHECK_EQ(paths, 2);
    CHECK_EQ(kymo__diff_change(function("h", 0)->cost), 5);
    done();
}

static void an_empty_capture_compares_with_anything(void)
{
    tape_start(sides[0]);
    stop(0);
    tape_start(sides[1]);
    call("f", "a.py", 1, 0, 10);
    stop(1);
    compare();

    CHECK_EQ(diff.count, 2);
    CHECK_EQ(diff.self[0], 0);
    CHECK_EQ(diff.self[1], 10);
    done();
}

static void every_failed_allocation_is_survived(void)
{
    for (int side = 0; side < 2; side++) {
        tape_start(sides[side]);
        call("f", "a.py", 1, 0, 10);
        call(side ? "g" : "h", "a.py", 1, 20, 10);
        stop(side);
    }
    int rc = -ENOMEM;
    for (long n = 0; rc == -ENOMEM; n++) {
        CHECK(n < 100);
        kymo__alloc_fail_after(n);
        rc = kymo__diff_init(&diff, surveys[0], surveys[1]);
        kymo__alloc_fail_after(-1);
    }
    CHECK_OK(rc);
    CHECK_EQ(diff.count, 4);
    done();
}

static const struct check_case cases[] = {
    CHECK_CASE(a_function_has_the_costs_of_both),
    CHECK_CASE(new_and_removed_functions_have_one_side),
    CHECK_CASE(a_moved_line_and_a_moved_directory_still_match),
    CHECK_CASE(the_nearer_file_is_preferred),
    CHECK_CASE(functions_of_one_name_are_paired_in_order),
    CHECK_CASE(other_kinds_are_other_functions),
    CHECK_CASE(paths_are_compared_as_a_whole),
    CHECK_CASE(an_empty_capture_compares_with_anything),
    CHECK_CASE(every_failed_allocation_is_survived),
};

CHECK_MAIN(cases)
