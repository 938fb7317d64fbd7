/* query_args.c — the table of the arguments recorded with slices. */
#include "memory.h"
#include "query.h"
#include "slices.h"

struct args {
    struct cli_query *query;
    struct kymo_slices *slices;
    struct kymo_slice_row row;
    unsigned next; /* index after the current argument of the slice */
};

static int begin_args(struct cli_query *query, const struct cli_bounds *bounds, void **state)
{
    struct args *a = kymo__cli_array(1, sizeof *a);
    a->query = query;
    int rc = kymo__slices_new(query->capture, bounds->thread, bounds->from, bounds->to, &a->slices);
    if (rc < 0)
        kymo__cli_free(a);
    else
        *state = a;
    return rc;
}

/* Skip slices without arguments, but not too many at once: see slices.h. */
static int next_arg(void *state)
{
    enum { PATIENCE = 100000 };
    struct args *a = state;
    for (int i = 0; i < PATIENCE; i++) {
        if (a->next < a->row.arg_count) {
            a->next++;
            return 1;
        }
        a->next = a->row.arg_count = 0;
        int rc = kymo__slices_next(a->slices, &a->row);
        if (rc != 1)
            return rc;
    }
    return 2;
}

static void end_args(void *state)
{
    struct args *a = state;
    kymo__slices_free(a->slices);
    kymo__cli_free(a);
}

enum { ARG_SLICE, ARG_THREAD, ARG_START, ARG_NAME, ARG_VALUE, ARG_TEXT };

static void arg_column(void *state, sqlite3_context *context, int column)
{
    const struct args *a = state;
    const struct kymo_callables *callables = &a->query->callables;
    const struct kymo_call_arg *arg = &a->row.args[a->next - 1];
    switch (column) {
    case ARG_SLICE:
        sqlite3_result_int64(context, (sqlite3_int64)a->row.id);
        break;
    case ARG_THREAD:
        sqlite3_result_int64(context, a->row.thread);
        break;
    case ARG_START:
        sqlite3_result_int64(context, a->row.start - a->query->info.start);
        break;
    case ARG_NAME:
        kymo__cli_query_text(context, callables->all[kymo__callable_of(callables, arg->key)].name);
        break;
    case ARG_VALUE:
        if (!kymo__arg_is_long(arg) && arg->type != KYMO_FIELD_NAME)
            kymo__cli_query_arg(context, a->query, arg);
        break;
    case ARG_TEXT:
        if (kymo__arg_is_long(arg) || arg->type == KYMO_FIELD_NAME)
            kymo__cli_query_arg(context, a->query, arg);
        break;
    }
}

const struct cli_query_table kymo__cli_query_args = {
    .name = "args",
    .purpose = "every number, text and field that belongs to a slice",
    .columns = "slice INTEGER, thread INTEGER, start_ns INTEGER, name TEXT, value INTEGER, "
               "text TEXT",
    .time = ARG_START,
    .thread = ARG_THREAD,
    .begin = begin_args,
    .next = next_arg,
    .column = arg_column,
    .end = end_args,
};
