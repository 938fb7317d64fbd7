/* batch.c — see batch.h. */
#include "batch.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "fields.h"

/* Set in the id of a call that began before the job; the other bits are its depth. */
#define BEFORE (UINT64_C(1) << 63)

/* ---- tables ---- */

enum { ID, PARENT, START, DURATION, SELF, THREAD, FUNCTION, DEPTH, ENTER, LEAVE, FLAGS, GENERATOR };
static const struct kymo_column slice_columns[] = {
    [ID] = {"id", 'Q', NULL},
    [PARENT] = {"parent", 'q', NULL},
    [START] = {"start", 'q', NULL},
    [DURATION] = {"duration", 'q', NULL},
    [SELF] = {"self", 'q', NULL},
    [THREAD] = {"thread", 'I', NULL},
    [FUNCTION] = {"function", 'I', NULL},
    [DEPTH] = {"depth", 'I', NULL},
    [ENTER] = {"enter", 'B', NULL},
    [LEAVE] = {"leave", 'B', NULL},
    [FLAGS] = {"flags", 'B', NULL},
    [GENERATOR] = {"generator", 'Q', NULL},
};

enum {
    MARK_ID,
    MARK_TIME,
    MARK_THREAD,
    MARK_FUNCTION,
    MARK_KIND,
    MARK_DETAIL,
    MARK_NUMBER,
    MARK_VALUE
};
static const struct kymo_column mark_columns[] = {
    [MARK_ID] = {"id", 'Q', NULL},         [MARK_TIME] = {"time", 'q', NULL},
    [MARK_THREAD] = {"thread", 'I', NULL}, [MARK_FUNCTION] = {"function", 'I', NULL},
    [MARK_KIND] = {"kind", 'B', NULL},     [MARK_DETAIL] = {"detail", 'B', NULL},
    [MARK_NUMBER] = {"number", 'Q', NULL}, [MARK_VALUE] = {"value", 'd', NULL},
};

enum { ARG_OF, ARG_OWNER, ARG_FUNCTION, ARG_VALUE, ARG_TEXT, ARG_TYPE, ARG_SCHEMA, ARG_END };
static const struct kymo_column arg_columns[] = {
    [ARG_OF] = {"of", 'B', NULL},
    [ARG_OWNER] = {"owner", 'Q', NULL},
    [ARG_FUNCTION] = {"function", 'I', NULL},
    [ARG_VALUE] = {"value", 'Q', NULL},
    [ARG_TEXT] = {"text", 'q', NULL},
    [ARG_TYPE] = {"type", 'B', NULL},
    [ARG_SCHEMA] = {"schema", 'I', NULL},
    [ARG_END] = {"end", 'Q', NULL},
};

static const struct kymo_column text_columns[] = {{"byte", 'B', NULL}};

static size_t width(char type)
{
    return type == 'B' ? 1 : type == 'I' ? 4 : 8;
}

static void table_init(struct kymo_batch_table *t, const char *name,
                       const struct kymo_column *columns, size_t count)
{
    memcpy(t->columns, columns, count * sizeof(*columns));
    t->shown = (struct kymo_table){.name = name, .count = (unsigned)count, .columns = t->columns};
}

static void table_fini(struct kymo_batch_table *t)
{
    for (unsigned i = 0; i < KYMO__BATCH_COLUMNS; i++)
        kymo__free(t->values[i]);
}

/* Make room for one more row. */
static int table_grow(struct kymo_batch_table *t)
{
    size_t wanted = t->capacity ? t->capacity * 2 : 1024;
    for (unsigned i = 0; i < t->shown.count; i++) {
        void *grown = kymo__realloc(t->values[i], wanted * width(t->columns[i].type));
        if (!grown)
            return -ENOMEM;
        t->values[i] = grown;
        t->columns[i].values = grown;
    }
    t->capacity = wanted;
    return 0;
}

static inline int table_add(struct kymo_batch_table *t, size_t *row)
{
    if (t->shown.rows == t->capacity) {
        int rc = table_grow(t);
        if (rc < 0)
            return rc;
    }
    *row = t->shown.rows++;
    return 0;
}

#define SET(table, column, type, row, v) (((type *)(table)->values[column])[row] = (type)(v))

/* ---- rows ---- */

/* Append the text of ARG, if it has a long value, to those of earlier arguments. */
static int add_text(struct kymo_batch *b, const struct kymo_call_arg *arg)
{
    struct kymo_batch_table *t = &b->tables[KYMO__BATCH_TEXTS];
    size_t row;
    if (!kymo__arg_is_long(arg))
        return 0;
    b->text.len = 0;
    int rc = kymo__arg_show(&b->text, b->reader, arg);
    for (size_t i = 0; rc == 0 && i < b->text.len; i++) {
        rc = table_add(t, &row);
        if (rc == 0)
            SET(t, 0, uint8_t, row, b->text.bytes[i]);
    }
    return rc;
}

static int add_args(struct kymo_batch *b, unsigned of, uint64_t owner,
                    const struct kymo_call_arg *args, unsigned count)
{
    struct kymo_batch_table *t = &b->tables[KYMO__BATCH_ARGS];
    for (unsigned i = 0; i < count; i++) {
        bool name = args[i].type == KYMO_FIELD_NAME, is_long = kymo__arg_is_long(&args[i]);
        size_t row;
        int rc = table_add(t, &row);
        if (rc == 0)
            rc = add_text(b, &args[i]);
        if (rc < 0)
            return rc;
        SET(t, ARG_OF, uint8_t, row, of);
        SET(t, ARG_OWNER, uint64_t, row, owner);
        SET(t, ARG_FUNCTION, uint32_t, row, kymo__callable_of(b->callables, args[i].key));
        SET(t, ARG_VALUE, uint64_t, row, name || is_long ? 0 : args[i].value);
        SET(t, ARG_TEXT, int64_t, row,
            name ? (int64_t)kymo__callable_text(b->callables, args[i].value) : -1);
        SET(t, ARG_TYPE, uint8_t, row, args[i].type);
        SET(t, ARG_SCHEMA, uint32_t, row, kymo__callable_of(b->callables, args[i].schema));
        SET(t, ARG_END, uint64_t, row, kymo__batch_rows(b, KYMO__BATCH_TEXTS));
    }
    return 0;
}

/* A frame's mark is its id. */
int kymo__batch_again(void *batch, struct kymo_open_call *frame, uint32_t depth)
{
    (void)batch;
    frame->mark = BEFORE | depth;
    return 0;
}

int kymo__batch_enter(void *batch, struct kymo_open_call *frame, uint32_t depth)
{
    struct kymo_batch *b = batch;
    (void)depth;
    frame->mark = b->calls++;
    return 0;
}

int kymo__batch_leave(void *batch, const struct kymo_slice *slice)
{
    struct kymo_batch *b = batch;
    const struct kymo_open_call *frame = slice->frame;
    struct kymo_batch_table *t = &b->tables[KYMO__BATCH_SLICES];
    size_t row;
    int rc = table_add(t, &row);
    if (rc < 0)
        return rc;
    SET(t, ID, uint64_t, row, frame->mark);
    SET(t, PARENT, int64_t, row, slice->depth ? (int64_t)frame[-1].mark : -1);
    SET(t, START, int64_t, row, frame->start);
    SET(t, DURATION, int64_t, row, slice->end - frame->start);
    SET(t, SELF, int64_t, row, slice->self);
    SET(t, THREAD, uint32_t, row, b->thread);
    SET(t, FUNCTION, uint32_t, row, kymo__callable_of(b->callables, frame->key));
    SET(t, DEPTH, uint32_t, row, slice->depth);
    SET(t, ENTER, uint8_t, row, frame->enter);
    SET(t, LEAVE, uint8_t, row, slice->leave);
    SET(t, FLAGS, uint8_t, row, slice->flags);
    SET(t, GENERATOR, uint64_t, row, frame->id);
    return slice->arg_count ? add_args(b, 0, frame->mark, slice->args, slice->arg_count) : 0;
}

int kymo__batch_other(void *batch, const struct kymo_event *event, const struct kymo_call_arg *args,
                      unsigned arg_count)
{
    struct kymo_batch *b = batch;
    struct kymo_batch_table *t = &b->tables[KYMO__BATCH_MARKS];
    size_t row;
    if (event->kind == KYMO_RESYNC || event->kind > UINT8_MAX)
        return 0;
    int rc = table_add(t, &row);
    if (rc < 0)
        return rc;
    uint64_t id = b->marks++;
    SET(t, MARK_ID, uint64_t, row, id);
    SET(t, MARK_TIME, int64_t, row, event->time);
    SET(t, MARK_THREAD, uint32_t, row, b->thread);
    SET(t, MARK_FUNCTION, uint32_t, row, kymo__callable_of(b->callables, event->key));
    SET(t, MARK_KIND, uint8_t, row, event->kind);
    SET(t, MARK_DETAIL, uint8_t, row, event->detail);
    SET(t, MARK_NUMBER, uint64_t, row, event->id);
    SET(t, MARK_VALUE, double, row, event->value);
    return arg_count ? add_args(b, 1, id, args, arg_count) : 0;
}

/* ---- the whole ---- */

void kymo__batch_init(struct kymo_batch *b, const struct kymo_callables *callables)
{
    b->callables = callables;
    table_init(&b->tables[KYMO__BATCH_SLICES], "slices", slice_columns,
               sizeof(slice_columns) / sizeof(*slice_columns));
    table_init(&b->tables[KYMO__BATCH_MARKS], "marks", mark_columns,
               sizeof(mark_columns) / sizeof(*mark_columns));
    table_init(&b->tables[KYMO__BATCH_ARGS], "args", arg_columns,
               sizeof(arg_columns) / sizeof(*arg_columns));
    table_init(&b->tables[KYMO__BATCH_TEXTS], "texts", text_columns, 1);
}

void kymo__batch_fini(struct kymo_batch *b)
{
    for (unsigned i = 0; i <= KYMO__BATCH_TEXTS; i++)
        table_fini(&b->tables[i]);
    kymo__buffer_fini(&b->text);
}

void kymo__batch_empty(struct kymo_batch *b)
{
    for (unsigned i = 0; i <= KYMO__BATCH_TEXTS; i++)
        b->tables[i].shown.rows = 0;
}

static uint64_t settled(uint64_t id, const struct kymo_batch_before *before)
{
    return id & BEFORE ? before->open[id & ~BEFORE].id : before->calls + id;
}

void kymo__batch_settle(struct kymo_batch *b, const struct kymo_batch_before *before)
{
    const struct kymo_batch_table *t = &b->tables[KYMO__BATCH_SLICES];
    uint64_t *ids = t->values[ID];
    int64_t *parents = t->values[PARENT], *self = t->values[SELF];
    for (size_t i = 0; i < t->shown.rows; i++) {
        if (ids[i] & BEFORE)
            self[i] -= before->open[ids[i] & ~BEFORE].inside;
        ids[i] = settled(ids[i], before);
        parents[i] = parents[i] == -1 ? -1 : (int64_t)settled((uint64_t)parents[i], before);
    }
    t = &b->tables[KYMO__BATCH_MARKS];
    ids = t->values[MARK_ID];
    for (size_t i = 0; i < t->shown.rows; i++)
        ids[i] += before->marks;
    t = &b->tables[KYMO__BATCH_ARGS];
    const uint8_t *of = t->values[ARG_OF];
    uint64_t *owners = t->values[ARG_OWNER];
    for (size_t i = 0; i < t->shown.rows; i++)
        owners[i] = of[i] ? before->marks + owners[i] : settled(owners[i], before);
}

struct kymo_batch_open kymo__batch_open_call(const struct kymo_open_call *frame,
                                             const struct kymo_batch_before *before)
{
    kymo_ns inside = frame->mark & BEFORE ? before->open[frame->mark & ~BEFORE].inside : 0;
    return (struct kymo_batch_open){settled(frame->mark, before), frame->inside + inside};
}
