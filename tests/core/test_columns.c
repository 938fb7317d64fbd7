/* A capture as tables: every call with its parent, every other event, and their numbers. */
#include <errno.h>
#include <kymo/kymo.h>

#include "alloc.h"
#include "tape.h"

static const struct kymo_column *column(const struct kymo_table *table, const char *name)
{
    for (unsigned i = 0; i < table->count; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return &table->columns[i];
    CHECK_FAIL("%s has no column %s", table->name, name);
    return NULL;
}

static long long cell(const struct kymo_columns *columns, unsigned index, const char *name,
                      size_t row)
{
    const struct kymo_table *table = kymo_columns_table(columns, index);
    const struct kymo_column *c = column(table, name);
    CHECK(row < table->rows);
    switch (c->type) {
    case 'q':
        return ((const int64_t *)c->values)[row];
    case 'Q':
        return (long long)((const uint64_t *)c->values)[row];
    case 'I':
        return ((const uint32_t *)c->values)[row];
    case 'B':
        return ((const uint8_t *)c->values)[row];
    default:
        CHECK_EQ(c->type, 'd');
        return (long long)((const double *)c->values)[row];
    }
}

enum { SLICES, MARKS, ARGS, TEXTS };

static const char *name_of(const struct kymo_columns *columns, unsigned table, size_t row)
{
    const char *name;
    uint32_t function = (uint32_t)cell(columns, table, "function", row);
    CHECK_EQ(kymo_columns_function(columns, function, &name, NULL, NULL, NULL), 0);
    return name;
}

static struct kymo_columns *open_columns(struct kymo_capture *capture)
{
    struct kymo_columns *columns;
    CHECK_OK(kymo_columns_new(capture, NULL, &columns));
    return columns;
}

static void calls_know_their_parents_and_their_own_time(void)
{
    tape_start("calls");
    uint32_t f = tape_function("f"), g = tape_function("g");
    tape_enter(100, f);
    tape_enter(110, g);
    tape_leave(130, g);
    tape_leave(150, f);
    struct kymo_capture *capture = tape_stop("calls");
    struct kymo_columns *columns = open_columns(capture);

    CHECK_EQ(kymo_columns_next(columns), 1);
    CHECK_EQ(kymo_columns_table(columns, SLICES)->rows, 2);
    CHECK_EQ(strcmp(name_of(columns, SLICES, 0), "g"), 0);
    CHECK_EQ(cell(columns, SLICES, "id", 0), 1);
    CHECK_EQ(cell(columns, SLICES, "parent", 0), 0);
    CHECK_EQ(cell(columns, SLICES, "depth", 0), 1);
    CHECK_EQ(cell(columns, SLICES, "parent", 1), -1);
    CHECK_EQ(cell(columns, SLICES, "duration", 1), 50);
    CHECK_EQ(cell(columns, SLICES, "self", 1), 30);
    CHECK_EQ(cell(columns, SLICES, "start", 0) - cell(columns, SLICES, "start", 1), 10);
    CHECK_EQ(kymo_columns_next(columns), 0);
    kymo_columns_free(columns);
    kymo_close(capture);
}

static void other_events_are_marks_with_their_numbers(void)
{
    tape_start("marks");
    uint32_t key = tape_span("thing"), size = tape_span("size");
    tape_put(1, KYMO_INSTANT, 0, key);
    tape_put_value(2, KYMO_ARG, 0, size, 42);
    tape_put_value(3, KYMO_COUNTER, 0, key, 0x4008000000000000); /* 3.0 */
    tape_put_value(4, KYMO_FLOW_OUT, 0, key, 7);
    struct kymo_capture *capture = tape_stop("marks");
    struct kymo_columns *columns = open_columns(capture);

    CHECK_EQ(kymo_columns_next(columns), 1);
    CHECK_EQ(kymo_columns_table(columns, MARKS)->rows, 3);
    CHECK_EQ(cell(columns, MARKS, "kind", 0), KYMO_INSTANT);
    CHECK_EQ(cell(columns, MARKS, "value", 1), 3);
    CHECK_EQ(cell(columns, MARKS, "number", 2), 7);
    CHECK_EQ(kymo_columns_table(columns, ARGS)->rows, 1);
    CHECK_EQ(cell(columns, ARGS, "of", 0), 1);
    CHECK_EQ(cell(columns, ARGS, "owner", 0), 0);
    CHECK_EQ(cell(columns, ARGS, "value", 0), 42);
    CHECK_EQ(kymo_columns_table(columns, TEXTS)->rows, 0);
    CHECK_EQ(strcmp(name_of(columns, ARGS, 0), "size"), 0);
    CHECK(kymo_columns_table(columns, TEXTS + 1) == NULL);
    CHECK_EQ(kymo_columns_function(columns, 1000, NULL, NULL, NULL, NULL), -ENOENT);
    kymo_columns_free(columns);
    kymo_close(capture);
}

static void batches_are_bounded_and_ids_continue(void)
{
    enum { CALLS = 900000 };
    tape_start("many");
    uint32_t f = tape_function("f");
    for (uint64_t i = 0; i < CALLS; i++) {
        tape_enter(i * 10, f);
        tape_leave(i * 10 + 5, f);
    }
    struct kymo_capture *capture = tape_stop("many");
    struct kymo_columns *columns = open_columns(capture);
    size_t rows = 0, batches = 0;
    while (kymo_columns_next(columns) > 0) {
        size_t more = kymo_columns_table(columns, SLICES)->rows;
        CHECK_LE(more, 400000);
        CHECK_EQ(cell(columns, SLICES, "id", 0), rows);
        rows += more;
        batches++;
    }
    CHECK_EQ(rows, CALLS);
    CHECK_LE(3, batches);
    kymo_columns_free(columns);
    kymo_close(capture);
}

static void no_events_are_one_batch_without_rows(void)
{
    tape_start("nothing");
    struct kymo_capture *capture = tape_stop("nothing");
    struct kymo_columns *columns = open_columns(capture);
    CHECK_EQ(kymo_columns_next(columns), 1);
    CHECK_EQ(kymo_columns_table(columns, SLICES)->rows, 0);
    CHECK_EQ(kymo_columns_table(columns, SLICES)->count, 12);
    CHECK_EQ(kymo_columns_next(columns), 0);
    kymo_columns_free(columns);
    kymo_close(capture);
}

static void a_thread_that_is_not_there_is_refused(void)
{
    tape_start("refused");
    struct kymo_capture *capture = tape_stop("refused");
    struct kymo_columns *columns;
    const struct kymo_window window = {sizeof(window), 0, INT64_MAX, 99};
    CHECK_EQ(kymo_columns_new(capture, &window, &columns), -EINVAL);
    kymo_close(capture);
}

static void memory_may_run_out_anywhere(void)
{
    tape_start("memory");
    uint32_t f = tape_function("f");
    for (uint64_t i = 0; i < 3000; i++)
        tape_enter(i, f);
    tape_put(4000, KYMO_INSTANT, 0, f);
    struct kymo_capture *capture = tape_stop("memory");
    long n = 0;
    int rc;
    do {
        struct kymo_columns *columns = NULL;
        kymo__alloc_fail_after(n++);
        rc = kymo_columns_new(capture, NULL, &columns);
        if (rc == 0)
            rc = kymo_columns_next(columns);
        kymo__alloc_fail_after(-1);
        CHECK(rc == 1 || rc == -ENOMEM);
        kymo_columns_free(columns);
        CHECK_LE(n, 300);
    } while (rc < 0);
    CHECK_LE(10, n);
    kymo_close(capture);
}

static const struct check_case cases[] = {
    CHECK_CASE(calls_know_their_parents_and_their_own_time),
    CHECK_CASE(other_events_are_marks_with_their_numbers),
    CHECK_CASE(batches_are_bounded_and_ids_continue),
    CHECK_CASE(no_events_are_one_batch_without_rows),
    CHECK_CASE(a_thread_that_is_not_there_is_refused),
    CHECK_CASE(memory_may_run_out_anywhere),
};

CHECK_MAIN(cases)
