/* query_payloads.c — one table per payload schema: the event with the payload, and the fields as
   columns. */
#include <string.h>

#include "fields.h"
#include "memory.h"
#include "naming.h"
#include "query.h"

struct payloads {
    struct cli_query *query;
    uint32_t schema; /* key */
    struct kymo_cursor *cursor;
    struct kymo_event event;
    struct owner {
        kymo_ns time, length;
        const char *name;
        uint16_t kind;
    } * owners; /* by thread: the last event that is not an argument */
};

enum { TIME, THREAD, EVENT, KIND, DURATION, FIELDS };

static int begin_rows(struct cli_query *query, const struct cli_bounds *bounds, void **state)
{
    struct payloads *p = kymo__cli_array(1, sizeof *p);
    const struct kymo_window window = {
        .size = sizeof window, .from = bounds->from, .to = bounds->to, .thread = bounds->thread};
    p->query = query;
    p->schema = bounds->table->schema;
    p->event.size = sizeof p->event;
    p->owners = kymo__cli_array(query->info.threads + 1, sizeof *p->owners);
    int rc = kymo_cursor_new(query->capture, &window, &p->cursor);
    if (rc < 0) {
        kymo__cli_free(p->owners);
        kymo__cli_free(p);
    } else {
        *state = p;
    }
    return rc;
}

/* Are the schemas A and B the same? Each part of a merged capture may have its own copy. */
static bool is_same(const struct kymo_reader *r, uint32_t a, uint32_t b)
{
    if (a == b)
        return true;
    if (a >= r->key_count || !r->keys[a].schema || r->keys[a].name != r->keys[b].name)
        return false;
    const struct kymo_reader_schema *x = &r->schemas[r->keys[a].schema - 1];
    const struct kymo_reader_schema *y = &r->schemas[r->keys[b].schema - 1];
    bool same =
        x->plan.count == y->plan.count && memcmp(x->plan.type, y->plan.type, x->plan.count) == 0;
    for (unsigned i = 0; same && i < x->plan.count; i++)
        same = strcmp(kymo__key_name(r, x->field[i]), kymo__key_name(r, y->field[i])) == 0;
    return same;
}

static int next_row(void *state)
{
    enum { PATIENCE = 100000 };
    struct payloads *p = state;
    const struct kymo_event *event = &p->event;
    for (int i = 0; i < PATIENCE; i++) {
        int rc = kymo_cursor_next(p->cursor, &p->event);
        if (rc <= 0)
            return rc;
        if (event->kind == KYMO_PAYLOAD &&
            is_same(p->query->capture->reader, event->key, p->schema))
            return 1;
        if (event->thread >= p->query->info.threads || event->kind == KYMO_PAYLOAD ||
            event->kind == KYMO_ARG || event->kind == KYMO_ARG_TEXT)
            continue;
        p->owners[event->thread] = (struct owner){
            .time = event->time,
            .length = event->kind == KYMO_COMPLETE ? (kymo_ns)event->id : -1,
            .name = event->name,
            .kind = event->kind,
        };
    }
    return 2;
}

static void end_rows(void *state)
{
    struct payloads *p = state;
    kymo_cursor_free(p->cursor);
    kymo__cli_free(p->owners);
    kymo__cli_free(p);
}

void kymo__cli_query_arg(sqlite3_context *context, const struct cli_query *query,
                         const struct kymo_call_arg *arg)
{
    struct kymo_buffer text = {0};
    double real;
    switch (arg->type) {
    case KYMO_FIELD_FLOAT:
        memcpy(&real, &arg->value, sizeof real);
        sqlite3_result_double(context, real);
        return;
    case KYMO_FIELD_BYTES:
        sqlite3_result_blob(context, arg->bytes, (int)arg->length, SQLITE_TRANSIENT);
        return;
    case KYMO_FIELD_TEXT:
    case KYMO_FIELD_NAME:
        break;
    default:
        if (arg->type <= KYMO_FIELD_NAME) {
            sqlite3_result_int64(context, (sqlite3_int64)arg->value);
            return;
        }
    }
    if (kymo__arg_show(&text, query->capture->reader, arg) < 0)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_text(context, (const char *)text.bytes, (int)text.len, SQLITE_TRANSIENT);
    kymo__buffer_fini(&text);
}

static void field_column(const struct payloads *p, sqlite3_context *context, int index)
{
    struct kymo_fields fields;
    struct kymo_call_arg arg;
    kymo__fields_begin(&fields, p->query->capture->reader, &p->event);
    while (kymo__fields_next(&fields, &arg))
        if (!index--)
            kymo__cli_query_arg(context, p->query, &arg);
}

static void column(void *state, sqlite3_context *context, int number)
{
    const struct payloads *p = state;
    const struct owner *owner = &p->owners[p->event.thread];
    switch (number) {
    case TIME:
        sqlite3_result_int64(context, p->event.time - p->query->info.start);
        break;
    case THREAD:
        sqlite3_result_int64(context, p->event.thread);
        break;
    case EVENT:
        if (owner->name)
            kymo__cli_query_text(context, owner->name);
        break;
    case KIND:
        if (owner->name)
            kymo__cli_query_text(context, kymo__cli_name_kind(owner->kind));
        break;
    case DURATION:
        if (owner->name && owner->length >= 0)
            sqlite3_result_int64(context, owner->length);
        break;
    default:
        field_column(p, context, number - FIELDS);
    }
}

static const char *sql_type(unsigned type)
{
    static const char *const words[] = {
        [KYMO_FIELD_FLOAT] = "REAL",
        [KYMO_FIELD_TEXT] = "TEXT",
        [KYMO_FIELD_BYTES] = "BLOB",
        [KYMO_FIELD_NAME] = "TEXT",
    };
    if (type > KYMO_FIELD_NAME)
        return "TEXT";
    return words[type] ? words[type] : "INTEGER";
}

/* The columns of SCHEMA as in CREATE TABLE; free with sqlite3_free. */
static char *columns_of(const struct kymo_reader *r, const struct kymo_reader_schema *schema)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text,
                          "time_ns INTEGER, thread INTEGER, event TEXT, kind TEXT, dur_ns INTEGER");
    for (unsigned i = 0; i < schema->plan.count; i++) {
        static const char *const taken[] = {"time_ns", "thread", "event", "kind", "dur_ns"};
        const char *name = kymo__key_name(r, schema->field[i]);
        bool twice = false;
        for (unsigned j = 0; j < sizeof taken / sizeof *taken; j++)
            twice |= sqlite3_stricmp(name, taken[j]) == 0;
        for (unsigned j = 0; j < i; j++)
            twice |= sqlite3_stricmp(name, kymo__key_name(r, schema->field[j])) == 0;
        if (twice)
            sqlite3_str_appendf(text, ", \"%w %u\" %s", name, i, sql_type(schema->plan.type[i]));
        else
            sqlite3_str_appendf(text, ", \"%w\" %s", name, sql_type(schema->plan.type[i]));
    }
    return sqlite3_str_finish(text);
}

static bool is_taken(const char *name)
{
    for (int i = 0; kymo__cli_query_tables[i]; i++)
        if (sqlite3_stricmp(kymo__cli_query_tables[i]->name, name) == 0)
            return true;
    return sqlite3_strnicmp(name, "sqlite_", 7) == 0 || !*name;
}

void kymo__cli_query_free_table(void *arg)
{
    struct cli_query_table *table = arg;
    sqlite3_free((char *)(uintptr_t)table->name);
    sqlite3_free((char *)(uintptr_t)table->columns);
    kymo__cli_free(table);
}

int kymo__cli_query_each_payload(const struct kymo_capture *capture,
                                 int (*each)(void *arg, struct cli_query_table *table), void *arg)
{
    const struct kymo_reader *r = capture->reader;
    int rc = SQLITE_OK;
    for (uint32_t key = 1; rc == SQLITE_OK && key < r->key_count; key++) {
        bool known = !r->keys[key].schema;
        unsigned others = 0; /* schemas of the same name with other fields */
        for (uint32_t before = 1; !known && before < key; before++)
            if (r->keys[before].schema && r->keys[before].name == r->keys[key].name) {
                known = is_same(r, before, key);
                others++;
            }
        if (known)
            continue;
        const char *name = kymo__key_name(r, key);
        struct cli_query_table *table = kymo__cli_array(1, sizeof *table);
        *table = (struct cli_query_table){
            .name = others ? sqlite3_mprintf("payload_%s_%u", name, others + 1)
                           : sqlite3_mprintf(is_taken(name) ? "payload_%s" : "%s", name),
            .purpose = "payloads of one schema",
            .columns = columns_of(r, &r->schemas[r->keys[key].schema - 1]),
            .schema = key,
            .time = TIME,
            .thread = THREAD,
            .begin = begin_rows,
            .next = next_row,
            .column = column,
            .end = end_rows,
        };
        if (table->name && table->columns)
            rc = each(arg, table);
        else
            kymo__cli_query_free_table(table);
    }
    return rc;
}

struct adding {
    sqlite3 *db;
    struct cli_query *query;
};

static int add_table(void *arg, struct cli_query_table *table)
{
    const struct adding *adding = arg;
    return kymo__cli_query_add(adding->db, adding->query, table, kymo__cli_query_free_table);
}

int kymo__cli_query_payloads(sqlite3 *db, struct cli_query *query)
{
    struct adding adding = {db, query};
    return kymo__cli_query_each_payload(query->capture, add_table, &adding);
}
