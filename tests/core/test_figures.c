/* The public figures are those of the survey, in order, within what was asked for. */
#include <errno.h>

#include "alloc.h"
#include "tape.h"

static struct kymo_capture *record(const char *name)
{
    tape_start(name);
    uint32_t f = tape_function("f"), g = tape_function("g");
    tape_enter(0, f);
    tape_enter(10, g);
    tape_leave(20, g);
    tape_enter(30, g);
    tape_leave(60, g);
    tape_leave(100, f);
    return tape_stop(name);
}

static void functions_come_by_self_time(void)
{
    struct kymo_capture *capture = record("order");
    struct kymo_figures *figures;
    struct kymo_function_figures row = {.size = sizeof(row)};
    CHECK_OK(kymo_figures_new(capture, NULL, &figures));
    CHECK_OK(kymo_figures_function(figures, 0, &row));
    CHECK_STR(row.name, "f");
    CHECK_STR(row.file, "program.py");
    CHECK_EQ(row.self, 60);
    CHECK_EQ(row.total, 100);
    CHECK_OK(kymo_figures_function(figures, 1, &row));
    CHECK_STR(row.name, "g");
    CHECK_EQ(row.calls, 2);
    CHECK_EQ(row.mean, 20);
    CHECK_EQ(row.least, 10);
    CHECK_EQ(row.most, 30);
    CHECK_EQ(kymo_figures_function(figures, 2, &row), -ENOENT);
    struct kymo_path_figures path = {.size = sizeof(path)};
    CHECK_EQ(kymo_figures_path(figures, 0, &path), -ENOENT); /* they were not asked for */
    kymo_figures_free(figures);
    kymo_close(capture);
}

static void paths_name_their_callers(void)
{
    struct kymo_capture *capture = record("paths");
    struct kymo_figures *figures;
    const struct kymo_figures_options options = {
        .size = sizeof(options), .to = INT64_MAX, .thread = 0, .paths = 10};
    struct kymo_path_figures path = {.size = sizeof(path)};
    CHECK_OK(kymo_figures_new(capture, &options, &figures));
    CHECK_OK(kymo_figures_path(figures, 0, &path));
    CHECK_EQ(path.parent, -1);
    CHECK_EQ(path.function, 0);
    CHECK_OK(kymo_figures_path(figures, 1, &path));
    CHECK_EQ(path.parent, 0);
    CHECK_EQ(path.function, 1);
    CHECK_EQ(path.calls, 2);
    CHECK_EQ(path.self, 40);
    CHECK_EQ(kymo_figures_path(figures, 2, &path), -ENOENT);
    CHECK_EQ(kymo_figures_path(figures, UINT64_MAX, &path), -ENOENT);
    kymo_figures_free(figures);
    kymo_close(capture);
}

static int refuse(void *arg, uint64_t done, uint64_t all)
{
    (void)arg, (void)done, (void)all;
    return -ECANCELED;
}

static void invalid_options_are_refused(void)
{
    struct kymo_capture *capture = record("refused");
    struct kymo_figures *figures;
    struct kymo_figures_options options = {
        .size = sizeof(options), .to = INT64_MAX, .thread = 1, .progress = refuse};
    CHECK_EQ(kymo_figures_new(capture, &options, &figures), -EINVAL);
    options.thread = -2;
    CHECK_EQ(kymo_figures_new(capture, &options, &figures), -EINVAL);
    int rc = -ENOMEM;
    for (long n = 0; rc == -ENOMEM; n++) {
        CHECK(n < 1000);
        kymo__alloc_fail_after(n);
        rc = kymo_figures_new(capture, NULL, &figures);
        kymo__alloc_fail_after(-1);
    }
    CHECK_OK(rc);
    kymo_figures_free(figures);
    kymo_figures_free(NULL);
    kymo_close(capture);
}

static void a_part_is_cut_at_its_ends(void)
{
    struct kymo_capture *capture = record("part");
    struct kymo_figures *figures;
    const struct kymo_figures_options options = {.size = sizeof(options),
                                                 .from = (kymo_ns)tape_zero + 15,
                                                 .to = (kymo_ns)tape_zero + 40,
                                                 .thread = -1};
    struct kymo_function_figures row = {.size = sizeof(row)};
    CHECK_OK(kymo_figures_new(capture, &options, &figures));
    CHECK_OK(kymo_figures_function(figures, 0, &row));
    CHECK_STR(row.name, "g");
    CHECK_EQ(row.self, 15);
    CHECK_OK(kymo_figures_function(figures, 1, &row));
    CHECK_EQ(row.total, 25);
    kymo_figures_free(figures);
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(functions_come_by_self_time),
    CHECK_CASE(paths_name_their_callers),
    CHECK_CASE(invalid_options_are_refused),
    CHECK_CASE(a_part_is_cut_at_its_ends),
};

CHECK_MAIN(cases)
