/* columns.c — a capture as tables; the public header tells which. */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "callables.h"
#include "calls.h"

enum { ROWS = 1 << 17, STEP = 4096, COLUMNS_MOST = 12 };

struct table {
    struct kymo_table shown;
    struct kymo_column columns[COLUMNS_MOST];
    void *values[COLUMNS_MOST]; /* the same, to be written */
    size_t capacity;            /* rows there is room for */
    uint64_t before;            /* rows of earlier batches */
};

struct kymo_columns {
    struct kymo_capture *capture;
    struct kymo_callables callables;
    struct kymo_window window;
    struct table slices, marks, args;
    uint64_t ids;        /* of slices, given so far */
    uint32_t next, last; /* threads not begun */
    bool begun;          /* a batch was read */
    bool open;           /* `calls` reads one */
    struct kymo_calls calls;
    struct kymo_visitor visitor;
};

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

enum { ARG_OF, ARG_OWNER, ARG_FUNCTION, ARG_VALUE, ARG_TEXT };
static const struct kymo_column arg_columns[] = {
    [ARG_OF] = {"of", 'B', NULL},
    [ARG_OWNER] = {"owner", 'Q', NULL},
    [ARG_FUNCTION] = {"function", 'I', NULL},
    [ARG_VALUE] = {"value", 'Q', NULL},
    [ARG_TEXT] = {"text", 'q', NULL},
};

static size_t width(char type)
{
    return type == 'B' ? 1 : type == 'I' ? 4 : 8;
}

static void table_init(struct table *t, const char *name, const struct kymo_column *columns,
                       size_t count)
{
    memcpy(t->columns, columns, count * sizeof(*columns));
    t->shown = (struct kymo_table){.name = name, .count = (unsigned)count, .columns = t->columns};
}

static void table_fini(struct table *t)
{
    for (unsigned i = 0; i < COLUMNS_MOST; i++)
        kymo__free(t->values[i]);
}

static void table_empty(struct table *t)
{
    t->before += t->shown.rows;
    t->shown.rows = 0;
}

/* Make room for one more row. */
static int table_grow(struct table *t)
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

static inline int table_add(struct table *t, size_t *row)
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

static int add_args(struct kymo_columns *c, unsigned of, uint64_t owner,
                    const struct kymo_call_arg *args, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        size_t row;
        int rc = table_add(&c->args, &row);
        if (rc < 0)
            return rc;
        SET(&c->args, ARG_OF, uint8_t, row, of);
        SET(&c->args, ARG_OWNER, uint64_t, row, owner);
        SET(&c->args, ARG_FUNCTION, uint32_t, row, kymo__callable_of(&c->callables, args[i].key));
        SET(&c->args, ARG_VALUE, uint64_t, row, args[i].text ? 0 : args[i].value);
        SET(&c->args, ARG_TEXT, int64_t, row,
            args[i].text ? (int64_t)kymo__callable_text(&c->callables, args[i].value) : -1);
    }
    return 0;
}

/* A frame's mark is its id. */
static int enter(void *arg, struct kymo_frame *frame, uint32_t depth)
{
    struct kymo_columns *c = arg;
    (void)depth;
    frame->mark = c->ids++;
    return 0;
}

static int leave(void *arg, const struct kymo_slice *slice)
{
    struct kymo_columns *c = arg;
    const struct kymo_frame *frame = slice->frame;
    struct table *t = &c->slices;
    size_t row;
    int rc = table_add(t, &row);
    if (rc < 0)
        return rc;
    SET(t, ID, uint64_t, row, frame->mark);
    SET(t, PARENT, int64_t, row, slice->depth ? (int64_t)frame[-1].mark : -1);
    SET(t, START, int64_t, row, frame->start);
    SET(t, DURATION, int64_t, row, slice->end - frame->start);
    SET(t, SELF, int64_t, row, slice->self);
    SET(t, THREAD, uint32_t, row, c->next - 1);
    SET(t, FUNCTION, uint32_t, row, kymo__callable_of(&c->callables, frame->key));
    SET(t, DEPTH, uint32_t, row, slice->depth);
    SET(t, ENTER, uint8_t, row, frame->enter);
    SET(t, LEAVE, uint8_t, row, slice->leave);
    SET(t, FLAGS, uint8_t, row, slice->flags);
    SET(t, GENERATOR, uint64_t, row, frame->id);
    return slice->arg_count ? add_args(c, 0, frame->mark, slice->args, slice->arg_count) : 0;
}

static int other(void *arg, const struct kymo_event *event, const struct kymo_call_arg *args,
                 unsigned arg_count)
{
    struct kymo_columns *c = arg;
    struct table *t = &c->marks;
    size_t row;
    if (event->kind == KYMO_RESYNC || event->kind > UINT8_MAX)
        return 0;
    int rc = table_add(t, &row);
    if (rc < 0)
        return rc;
    uint64_t id = t->before + row;
    SET(t, MARK_ID, uint64_t, row, id);
    SET(t, MARK_TIME, int64_t, row, event->time);
    SET(t, MARK_THREAD, uint32_t, row, c->next - 1);
    SET(t, MARK_FUNCTION, uint32_t, row, kymo__callable_of(&c->callables, event->key));
    SET(t, MARK_KIND, uint8_t, row, event->kind);
    SET(t, MARK_DETAIL, uint8_t, row, event->detail);
    SET(t, MARK_NUMBER, uint64_t, row, event->id);
    SET(t, MARK_VALUE, double, row, event->value);
    return arg_count ? add_args(c, 1, id, args, arg_count) : 0;
}

/* ---- the pass ---- */

int kymo_columns_new(struct kymo_capture *capture, const struct kymo_window *window,
                     struct kymo_columns **columns)
{
    size_t threads = capture->reader->thread_count;
    struct kymo_columns *c = kymo__alloc_zeroed(sizeof(*c));
    if (!c)
        return -ENOMEM;
    c->window = (struct kymo_window){sizeof(*window), 0, INT64_MAX, -1};
    if (window)
        memcpy(&c->window, window,
               window->size < sizeof(c->window) ? window->size : sizeof(c->window));
    int rc = -EINVAL;
    if (c->window.thread < -1 || c->window.thread >= (int64_t)threads)
        goto fail;
    c->capture = capture;
    c->next = c->window.thread < 0 ? 0 : (uint32_t)c->window.thread;
    c->last = c->window.thread < 0 ? (uint32_t)threads : c->next + 1;
    c->visitor = (struct kymo_visitor){.arg = c, .enter = enter, .leave = leave, .other = other};
    table_init(&c->slices, "slices", slice_columns, sizeof(slice_columns) / sizeof(*slice_columns));
    table_init(&c->marks, "marks", mark_columns, sizeof(mark_columns) / sizeof(*mark_columns));
    table_init(&c->args, "args", arg_columns, sizeof(arg_columns) / sizeof(*arg_columns));
    rc = kymo__callables_init(&c->callables, capture);
    if (rc < 0)
        goto fail;
    *columns = c;
    return 0;
fail:
    kymo_columns_free(c);
    return rc;
}

static bool full(const struct kymo_columns *c)
{
    return c->slices.shown.rows >= ROWS || c->marks.shown.rows >= ROWS ||
           c->args.shown.rows >= ROWS;
}

/* Begin the next thread, whose index is next - 1 from then on. */
static int open_thread(struct kymo_columns *c)
{
    uint32_t thread = c->next++;
    kymo_ns from = c->window.from > 0 ? c->window.from : INT64_MIN;
    c->open = true;
    return kymo__calls_init(&c->calls, c->capture, thread, from, c->window.to, &c->visitor);
}

int kymo_columns_next(struct kymo_columns *c)
{
    int rc = 0;
    table_empty(&c->slices);
    table_empty(&c->marks);
    table_empty(&c->args);
    while (rc >= 0 && !full(c) && (c->open || c->next < c->last)) {
        rc = c->open ? 0 : open_thread(c);
        if (rc == 0)
            rc = kymo__calls_read(&c->calls, STEP);
        if (rc <= 0) {
            kymo__calls_fini(&c->calls);
            c->open = false;
        }
    }
    if (rc < 0)
        return rc;
    bool first = !c->begun;
    c->begun = true;
    return first || c->slices.shown.rows || c->marks.shown.rows || c->args.shown.rows;
}

const struct kymo_table *kymo_columns_table(const struct kymo_columns *c, unsigned index)
{
    const struct table *const tables[] = {&c->slices, &c->marks, &c->args};
    return index < sizeof(tables) / sizeof(*tables) ? &tables[index]->shown : NULL;
}

int kymo_columns_function(const struct kymo_columns *c, uint32_t index, const char **name,
                          const char **file, uint32_t *line, uint32_t *class_)
{
    if (index >= c->callables.count)
        return -ENOENT;
    const struct kymo_callable *callable = &c->callables.all[index];
    if (name)
        *name = callable->name;
    if (file)
        *file = callable->file;
    if (line)
        *line = callable->line;
    if (class_)
        *class_ = callable->class;
    return 0;
}

void kymo_columns_free(struct kymo_columns *c)
{
    if (!c)
        return;
    if (c->open)
        kymo__calls_fini(&c->calls);
    table_fini(&c->slices);
    table_fini(&c->marks);
    table_fini(&c->args);
    kymo__callables_fini(&c->callables);
    kymo__free(c);
}
