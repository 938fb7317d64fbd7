/* query_samples.c — the tables of samples and of the frames of every stack. */
#include <stdlib.h>

#include "memory.h"
#include "naming.h"
#include "query.h"
#include "stacks.h"

/* Names and which frames are shown, computed when a table first needs them. */
static int prepare_names(struct cli_query *query)
{
    const struct kymo_samples_options options = {.tally = {.from = INT64_MIN, .to = INT64_MAX},
                                                 .nodes = 1};
    return query->samples ? 0 : kymo__samples(query->capture, &options, &query->samples);
}

static uint32_t node_of(const struct cli_query *query, uint32_t stack)
{
    return kymo__stackdefs_find(&query->capture->reader->stacks, stack);
}

/* ---------------------------------------------------------------- samples --- */

struct sampled {
    struct cli_query *query;
    struct kymo_cursor *cursor;
    struct kymo_event event;
    struct kymo_shown shown[KYMO__SHOWN_MOST + 1];
};

static int begin_samples(struct cli_query *query, const struct cli_bounds *bounds, void **state)
{
    struct sampled *s = kymo__cli_array(1, sizeof *s);
    const struct kymo_window window = {
        .size = sizeof window, .from = bounds->from, .to = bounds->to, .thread = bounds->thread};
    s->query = query;
    s->event.size = sizeof s->event;
    int rc = prepare_names(query);
    if (rc == 0)
        rc = kymo_cursor_new(query->capture, &window, &s->cursor);
    if (rc < 0)
        kymo__cli_free(s);
    else
        *state = s;
    return rc;
}

static int next_sample(void *state)
{
    enum { PATIENCE = 100000 };
    struct sampled *s = state;
    for (int i = 0; i < PATIENCE; i++) {
        int rc = kymo_cursor_next(s->cursor, &s->event);
        if (rc <= 0 || s->event.kind == KYMO_SAMPLE)
            return rc;
    }
    return 2;
}

static void end_samples(void *state)
{
    struct sampled *s = state;
    kymo_cursor_free(s->cursor);
    kymo__cli_free(s);
}

enum {
    SAMPLE_TIME,
    SAMPLE_THREAD,
    SAMPLE_STACK,
    SAMPLE_PERIODS,
    SAMPLE_WEIGHT,
    SAMPLE_CLOCK,
    SAMPLE_NAME
};

static void sample_column(void *state, sqlite3_context *context, int column)
{
    struct sampled *s = state;
    const struct kymo_samples *samples = s->query->samples;
    uint32_t stack = kymo__sample_stack(s->event.id), periods = kymo__sample_periods(s->event.id);
    switch (column) {
    case SAMPLE_TIME:
        sqlite3_result_int64(context, s->event.time - s->query->info.start);
        break;
    case SAMPLE_THREAD:
        sqlite3_result_int64(context, s->event.thread);
        break;
    case SAMPLE_STACK:
        sqlite3_result_int64(context, stack);
        break;
    case SAMPLE_PERIODS:
        sqlite3_result_int64(context, periods);
        break;
    case SAMPLE_WEIGHT:
        if (samples->tallies.period_known)
            sqlite3_result_int64(context, kymo__tally_time(&samples->tallies, periods));
        break;
    case SAMPLE_CLOCK:
        kymo__cli_query_text(context, kymo__cli_name_detail(KYMO_SAMPLE, s->event.detail));
        break;
    case SAMPLE_NAME:
        kymo__samples_shown(samples, node_of(s->query, stack), s->shown);
        kymo__cli_query_text(context, kymo__samples_callable(samples, s->shown[0].named)->name);
        break;
    }
}

const struct cli_query_table kymo__cli_query_samples = {
    .name = "samples",
    .purpose = "every sample: where a thread was, and how much time the sample represents",
    .columns = "time_ns INTEGER, thread INTEGER, stack INTEGER, periods INTEGER, "
               "weight_ns INTEGER, clock TEXT, name TEXT",
    .time = SAMPLE_TIME,
    .thread = SAMPLE_THREAD,
    .begin = begin_samples,
    .next = next_sample,
    .column = sample_column,
    .end = end_samples,
};

/* ----------------------------------------------------------------- frames --- */

struct frames {
    struct cli_query *query;
    int64_t only; /* the requested stack, or -1 */
    size_t next;  /* next stack to read */
    uint32_t stack;
    uint32_t node;         /* node of the frame */
    size_t named;          /* its function, an index into names.named */
    int64_t depth;         /* 0 for the innermost */
    size_t count, matched; /* frames shown, and how many of them were matched */
    struct kymo_shown shown[KYMO__SHOWN_MOST + 1];
};

static int begin_frames(struct cli_query *query, const struct cli_bounds *bounds, void **state)
{
    int rc = prepare_names(query);
    if (rc < 0)
        return rc;
    struct frames *f = kymo__cli_array(1, sizeof *f);
    f->query = query;
    f->only = bounds->thread; /* this table's bounds are on the stack */
    *state = f;
    return 0;
}

static const struct kymo_reader_stacks *stacks_of(const struct frames *f)
{
    return &f->query->capture->reader->stacks;
}

static int begin_stack(struct frames *f)
{
    const struct kymo_reader_stacks *stacks = stacks_of(f);
    if (f->next >= (f->only < 0 ? stacks->stack_count : 1))
        return 0;
    f->stack = f->only < 0 ? stacks->stacks[f->next].id : (uint32_t)f->only;
    f->node = kymo__stackdefs_find(stacks, f->stack);
    f->next++;
    f->named = f->query->samples->names.first[stacks->nodes[f->node].frame];
    f->count = kymo__samples_shown(f->query->samples, f->node, f->shown);
    f->depth = 0;
    f->matched = 0;
    return 1;
}

static bool is_shown(const struct frames *f)
{
    return f->matched < f->count && f->shown[f->matched].named == f->named &&
           f->shown[f->matched].frame == stacks_of(f)->nodes[f->node].frame;
}

static int next_frame(void *state)
{
    struct frames *f = state;
    const struct kymo_reader_stacks *stacks = stacks_of(f);
    if (!f->node)
        return begin_stack(f);
    f->matched += is_shown(f);
    f->depth++;
    if (++f->named < f->query->samples->names.first[stacks->nodes[f->node].frame + 1])
        return 1;
    f->node = stacks->nodes[f->node].parent;
    if (!f->node)
        return begin_stack(f);
    f->named = f->query->samples->names.first[stacks->nodes[f->node].frame];
    return 1;
}

enum {
    FRAME_STACK,
    FRAME_DEPTH,
    FRAME_NAME,
    FRAME_FILE,
    FRAME_LINE,
    FRAME_FIRST_LINE,
    FRAME_KIND,
    FRAME_INLINED,
    FRAME_MODULE,
    FRAME_ADDRESS,
    FRAME_BUILD_ID,
    FRAME_SHOWN,
};

static void put_number(sqlite3_context *context, uint64_t value)
{
    if (value)
        sqlite3_result_int64(context, (sqlite3_int64)value);
}

static void put_text(sqlite3_context *context, const char *text)
{
    if (*text)
        kymo__cli_query_text(context, text);
}

static void frame_column(void *state, sqlite3_context *context, int column)
{
    static const char *const kinds[] = {[KYMO_FRAME_UNKNOWN] = "unknown",
                                        [KYMO_FRAME_NATIVE] = "native",
                                        [KYMO_FRAME_MANAGED] = "python"};
    const struct frames *f = state;
    const struct kymo_reader *r = f->query->capture->reader;
    const struct kymo_named_frame *named = &f->query->samples->names.named[f->named];
    const struct kymo_reader_frame *frame = &r->stacks.frames[r->stacks.nodes[f->node].frame];
    switch (column) {
    case FRAME_STACK:
        sqlite3_result_int64(context, f->stack);
        break;
    case FRAME_DEPTH:
        sqlite3_result_int64(context, f->depth);
        break;
    case FRAME_NAME:
        kymo__cli_query_text(context, named->name);
        break;
    case FRAME_FILE:
        put_text(context, named->file);
        break;
    case FRAME_LINE:
        put_number(context, named->line);
        break;
    case FRAME_FIRST_LINE:
        put_number(context, named->first_line);
        break;
    case FRAME_KIND:
        kymo__cli_query_text(context, kinds[named->kind]);
        break;
    case FRAME_INLINED:
        sqlite3_result_int64(context, named->inlined);
        break;
    case FRAME_MODULE:
        put_text(context, named->module);
        break;
    case FRAME_ADDRESS:
        if (frame->kind == KYMO_FRAME_NATIVE)
            sqlite3_result_int64(context, (sqlite3_int64)frame->address);
        break;
    case FRAME_BUILD_ID:
        if (frame->kind == KYMO_FRAME_NATIVE && frame->module)
            put_text(context,
                     kymo__reader_string(r, r->stacks.modules[frame->module - 1].build_id));
        break;
    case FRAME_SHOWN:
        sqlite3_result_int64(context, is_shown(f));
        break;
    }
}

const struct cli_query_table kymo__cli_query_frames = {
    .name = "frames",
    .purpose =
        "the functions of every stack, innermost first; shown: whether 'kymograph report' shows "
        "it",
    .columns = "stack INTEGER, depth INTEGER, name TEXT, file TEXT, line INTEGER, "
               "first_line INTEGER, kind TEXT, inlined INTEGER, module TEXT, address INTEGER, "
               "build_id TEXT, shown INTEGER",
    .time = -1,
    .thread = FRAME_STACK, /* a query for one stack reads only that stack */
    .stacks = true,
    .begin = begin_frames,
    .next = next_frame,
    .column = frame_column,
    .end = kymo__cli_free,
};
