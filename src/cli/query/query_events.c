/* query_events.c — the tables read from the records row by row: slices, events and counters. */
#include <errno.h>

#include "fields.h"
#include "memory.h"
#include "naming.h"
#include "query.h"
#include "slices.h"

/* ----------------------------------------------------------------- slices --- */

struct slices {
    struct cli_query *query;
    struct kymo_slices *slices;
    struct kymo_slice_row row;
};

static int begin_slices(struct cli_query *query, const struct cli_bounds *bounds, void **state)
{
    struct slices *s = kymo__cli_array(1, sizeof *s);
    s->query = query;
    int rc = kymo__slices_new(query->capture, bounds->thread, bounds->from, bounds->to, &s->slices);
    if (rc < 0)
        kymo__cli_free(s);
    else
        *state = s;
    return rc;
}

static int next_slice(void *state)
{
    struct slices *s = state;
    return kymo__slices_next(s->slices, &s->row);
}

static void end_slices(void *state)
{
    struct slices *s = state;
    kymo__slices_free(s->slices);
    kymo__cli_free(s);
}

static const char *ending_of(const struct kymo_slice_row *row)
{
    if (row->flags & KYMO__OPEN_AT_END)
        return "open";
    if (row->flags & KYMO__END_LOST)
        return "lost";
    const char *word = kymo__cli_name_detail(KYMO_LEAVE, row->leave);
    return word ? word : "return";
}

enum {
    SLICE_ID,
    SLICE_PARENT,
    SLICE_THREAD,
    SLICE_NAME,
    SLICE_START,
    SLICE_END,
    SLICE_DUR,
    SLICE_SELF,
    SLICE_DEPTH,
    SLICE_KIND,
    SLICE_FUNCTION,
    SLICE_FILE,
    SLICE_LINE,
    SLICE_ENTERED,
    SLICE_ENDED,
    SLICE_TASK,
};

static void slice_column(void *state, sqlite3_context *context, int column)
{
    const struct slices *s = state;
    const struct kymo_slice_row *row = &s->row;
    uint32_t number = kymo__callable_of(&s->query->callables, row->key);
    const struct kymo_callable *callable = &s->query->callables.all[number];
    kymo_ns start = s->query->info.start;
    switch (column) {
    case SLICE_ID:
        sqlite3_result_int64(context, (sqlite3_int64)row->id);
        break;
    case SLICE_PARENT:
        if (row->parent)
            sqlite3_result_int64(context, (sqlite3_int64)row->parent);
        break;
    case SLICE_THREAD:
        sqlite3_result_int64(context, row->thread);
        break;
    case SLICE_NAME:
        kymo__cli_query_text(context, callable->name);
        break;
    case SLICE_START:
        sqlite3_result_int64(context, row->start - start);
        break;
    case SLICE_END:
        sqlite3_result_int64(context, row->end - start);
        break;
    case SLICE_DUR:
        sqlite3_result_int64(context, row->end - row->start);
        break;
    case SLICE_SELF:
        sqlite3_result_int64(context, row->self);
        break;
    case SLICE_DEPTH:
        sqlite3_result_int64(context, row->depth);
        break;
    case SLICE_KIND:
        kymo__cli_query_text(context, kymo__cli_name_class(callable->class));
        break;
    case SLICE_FUNCTION:
        sqlite3_result_int64(context, number);
        break;
    case SLICE_FILE:
        if (*callable->file)
            kymo__cli_query_text(context, callable->file);
        break;
    case SLICE_LINE:
        if (callable->line)
            sqlite3_result_int64(context, callable->line);
        break;
    case SLICE_ENTERED: {
        const char *word = kymo__cli_name_detail(KYMO_ENTER, row->enter);
        kymo__cli_query_text(context, word ? word : "call");
        break;
    }
    case SLICE_ENDED:
        kymo__cli_query_text(context, ending_of(row));
        break;
    case SLICE_TASK:
        if (row->task)
            sqlite3_result_int64(context, (sqlite3_int64)row->task);
        break;
    }
}

const struct cli_query_table kymo__cli_query_slices = {
    .name = "slices",
    .purpose = "every call and span, from its enter to its leave",
    .columns = "id INTEGER, parent INTEGER, thread INTEGER, name TEXT, start_ns INTEGER, "
               "end_ns INTEGER, dur_ns INTEGER, self_ns INTEGER, depth INTEGER, kind TEXT, "
               "function INTEGER, file TEXT, line INTEGER, entered TEXT, ended TEXT, task INTEGER",
    .time = SLICE_START,
    .thread = SLICE_THREAD,
    .begin = begin_slices,
    .next = next_slice,
    .column = slice_column,
    .end = end_slices,
};

/* ------------------------------------------------------ events and counters --- */

struct events {
    struct cli_query *query;
    struct kymo_cursor *cursor;
    struct kymo_event event;
    int kind; /* only this one; 0 for all */
};

static int begin_rows(struct cli_query *query, const struct cli_bounds *bounds, void **state,
                      int kind)
{
    struct events *e = kymo__cli_array(1, sizeof *e);
    const struct kymo_window window = {
        .size = sizeof window, .from = bounds->from, .to = bounds->to, .thread = bounds->thread};
    e->query = query;
    e->kind = kind;
    e->event.size = sizeof e->event;
    int rc = kymo_cursor_new(query->capture, &window, &e->cursor);
    if (rc < 0)
        kymo__cli_free(e);
    else
        *state = e;
    return rc;
}

static int begin_events(struct cli_query *query, const struct cli_bounds *bounds, void **state)
{
    return begin_rows(query, bounds, state, 0);
}

static int begin_counters(struct cli_query *query, const struct cli_bounds *bounds, void **state)
{
    return begin_rows(query, bounds, state, KYMO_COUNTER);
}

static int next_event(void *state)
{
    enum { PATIENCE = 100000 };
    struct events *e = state;
    for (int i = 0; i < PATIENCE; i++) {
        int rc = kymo_cursor_next(e->cursor, &e->event);
        if (rc <= 0 || !e->kind || e->event.kind == e->kind)
            return rc;
    }
    return 2;
}

static void end_events(void *state)
{
    struct events *e = state;
    kymo_cursor_free(e->cursor);
    kymo__cli_free(e);
}

enum {
    EVENT_TIME,
    EVENT_THREAD,
    EVENT_KIND,
    EVENT_DETAIL,
    EVENT_NAME,
    EVENT_VALUE,
    EVENT_EVENT_ID,
    EVENT_TEXT
};

/* Set a column to a payload, as a JSON object. */
static void payload_text(const struct events *e, sqlite3_context *context)
{
    struct kymo_buffer text = {0};
    if (kymo__payload_json(&text, e->query->capture->reader, &e->event) < 0)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_text(context, (const char *)text.bytes, (int)text.len, SQLITE_TRANSIENT);
    kymo__buffer_fini(&text);
}

static void event_column(void *state, sqlite3_context *context, int column)
{
    const struct events *e = state;
    const struct kymo_event *event = &e->event;
    switch (column) {
    case EVENT_TIME:
        sqlite3_result_int64(context, event->time - e->query->info.start);
        break;
    case EVENT_THREAD:
        sqlite3_result_int64(context, event->thread);
        break;
    case EVENT_KIND:
        kymo__cli_query_text(context, kymo__cli_name_kind(event->kind));
        break;
    case EVENT_DETAIL: {
        const char *word = kymo__cli_name_detail(event->kind, event->detail);
        if (word)
            kymo__cli_query_text(context, word);
        break;
    }
    case EVENT_NAME:
        if (*event->name)
            kymo__cli_query_text(context, event->name);
        break;
    case EVENT_VALUE:
        if (event->kind == KYMO_COUNTER)
            sqlite3_result_double(context, event->value);
        break;
    case EVENT_EVENT_ID:
        if (event->id && event->kind != KYMO_ARG_TEXT)
            sqlite3_result_int64(context, (sqlite3_int64)event->id);
        break;
    case EVENT_TEXT:
        if (event->kind == KYMO_ARG_TEXT)
            kymo__cli_query_text(context, event->text);
        if (event->kind == KYMO_PAYLOAD)
            payload_text(e, context);
        break;
    }
}

const struct cli_query_table kymo__cli_query_events = {
    .name = "events",
    .purpose = "every record: instants, counters, arrows, async spans, enters and leaves",
    .columns = "time_ns INTEGER, thread INTEGER, kind TEXT, detail TEXT, name TEXT, value REAL, "
               "id INTEGER, text TEXT",
    .time = EVENT_TIME,
    .thread = EVENT_THREAD,
    .begin = begin_events,
    .next = next_event,
    .column = event_column,
    .end = end_events,
};

enum { COUNTER_TIME, COUNTER_THREAD, COUNTER_NAME, COUNTER_VALUE };

static void counter_column(void *state, sqlite3_context *context, int column)
{
    static const int as_event[] = {[COUNTER_TIME] = EVENT_TIME,
                                   [COUNTER_THREAD] = EVENT_THREAD,
                                   [COUNTER_NAME] = EVENT_NAME,
                                   [COUNTER_VALUE] = EVENT_VALUE};
    event_column(state, context, as_event[column]);
}

const struct cli_query_table kymo__cli_query_counters = {
    .name = "counters",
    .purpose = "every value that a counter took",
    .columns = "time_ns INTEGER, thread INTEGER, name TEXT, value REAL",
    .time = COUNTER_TIME,
    .thread = COUNTER_THREAD,
    .begin = begin_counters,
    .next = next_event,
    .column = counter_column,
    .end = end_events,
};
