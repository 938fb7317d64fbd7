/* query_table.c — makes our tables eponymous, read-only virtual tables of SQLite. Conditions on
   the time and thread columns, and on the number of a row, become bounds; SQLite checks every
   condition again, so bounds may be inexact. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "interrupt.h"
#include "query.h"

struct module {
    const struct cli_query_table *table;
    struct cli_query *query;
    void (*free)(void *table); /* NULL: nothing to free */
};

struct vtab {
    sqlite3_vtab base;
    const struct module *module;
};

struct cursor {
    sqlite3_vtab_cursor base;
    void *state;
    bool begun, end;
    sqlite3_int64 row;
};

/* A plan is a string of these letters, one for each value that xFilter gets. */
enum {
    AT_LEAST = 'g',
    MORE = 'G',
    AT_MOST = 'l',
    LESS = 'L',
    EQUAL = 'e',
    THREAD = 't',
    ROW = 'r',
};

static int connect(sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **out,
                   char **error)
{
    (void)argc, (void)argv, (void)error;
    const struct module *module = arg;
    char *schema = sqlite3_mprintf("CREATE TABLE x(%s)", module->table->columns);
    int rc = schema ? sqlite3_declare_vtab(db, schema) : SQLITE_NOMEM;
    sqlite3_free(schema);
    if (rc != SQLITE_OK)
        return rc;
    struct vtab *vtab = sqlite3_malloc(sizeof *vtab);
    if (!vtab)
        return SQLITE_NOMEM;
    *vtab = (struct vtab){.module = module};
    *out = &vtab->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *vtab)
{
    sqlite3_free(vtab);
    return SQLITE_OK;
}

static char letter_of(const struct cli_query_table *table,
                      const struct sqlite3_index_constraint *constraint)
{
    if (table->numbered && constraint->iColumn == 0)
        return constraint->op == SQLITE_INDEX_CONSTRAINT_EQ ? ROW : 0;
    if (constraint->iColumn >= 0 && constraint->iColumn == table->thread)
        return constraint->op == SQLITE_INDEX_CONSTRAINT_EQ ? THREAD : 0;
    if (constraint->iColumn < 0 || constraint->iColumn != table->time)
        return 0;
    switch (constraint->op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return EQUAL;
    case SQLITE_INDEX_CONSTRAINT_GE:
        return AT_LEAST;
    case SQLITE_INDEX_CONSTRAINT_GT:
        return MORE;
    case SQLITE_INDEX_CONSTRAINT_LE:
        return AT_MOST;
    case SQLITE_INDEX_CONSTRAINT_LT:
        return LESS;
    default:
        return 0;
    }
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *index)
{
    enum { MOST = 15 };
    const struct vtab *vtab = (const struct vtab *)base;
    char plan[MOST + 1];
    int used = 0;
    const struct cli_query *query = vtab->module->query;
    double rows = vtab->module->table->numbered ? (double)query->callables.count + 10
                                                : (double)query->info.records + 10;
    for (int i = 0; i < index->nConstraint && used < MOST; i++) {
        const struct sqlite3_index_constraint *constraint = &index->aConstraint[i];
        char letter = constraint->usable ? letter_of(vtab->module->table, constraint) : 0;
        if (!letter)
            continue;
        plan[used++] = letter;
        index->aConstraintUsage[i].argvIndex = used;
        rows = letter == ROW ? 1 : rows / (letter == EQUAL ? 100 : 4);
    }
    plan[used] = '\0';
    index->idxStr = sqlite3_mprintf("%s", plan);
    index->needToFreeIdxStr = 1;
    index->estimatedCost = rows;
    index->estimatedRows = rows > 1 ? (sqlite3_int64)rows : 1;
    return index->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    (void)vtab;
    struct cursor *cursor = sqlite3_malloc(sizeof *cursor);
    if (!cursor)
        return SQLITE_NOMEM;
    *cursor = (struct cursor){.end = true};
    *out = &cursor->base;
    return SQLITE_OK;
}

static const struct module *module_of(const struct cursor *cursor)
{
    return ((const struct vtab *)cursor->base.pVtab)->module;
}

static void end_rows(struct cursor *cursor)
{
    if (cursor->begun)
        module_of(cursor)->table->end(cursor->state);
    cursor->begun = false;
    cursor->end = true;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    end_rows((struct cursor *)base);
    sqlite3_free(base);
    return SQLITE_OK;
}

static int failed(struct cursor *cursor, int code)
{
    end_rows(cursor);
    if (code == -ENOMEM)
        return SQLITE_NOMEM;
    if (code == -ECANCELED)
        return SQLITE_INTERRUPT;
    sqlite3_free(cursor->base.pVtab->zErrMsg);
    cursor->base.pVtab->zErrMsg = sqlite3_mprintf("%s", kymo_strerror(code));
    return SQLITE_ERROR;
}

static int cursor_next(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;
    int rc;
    do {
        if (kymo__cli_interrupted())
            return failed(cursor, -ECANCELED);
        rc = module_of(cursor)->table->next(cursor->state);
    } while (rc == 2);
    if (rc < 0)
        return failed(cursor, rc);
    cursor->row++;
    cursor->end = rc == 0;
    return SQLITE_OK;
}

/* VALUE as a bound: the largest integer not above it, and whether it is exact. False when it is
   not a number; SQLite checks the condition then. */
static bool number_of(sqlite3_value *value, sqlite3_int64 *number, bool *whole)
{
    *whole = true;
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        *number = sqlite3_value_int64(value);
        return true;
    case SQLITE_FLOAT: {
        double real = sqlite3_value_double(value);
        if (!(real > -9e18 && real < 9e18))
            return false;
        *number = (sqlite3_int64)floor(real);
        *whole = floor(real) == real;
        return true;
    }
    default:
        return false;
    }
}

static kymo_ns later(kymo_ns time)
{
    return time < INT64_MAX ? time + 1 : time;
}

static void narrow(struct cli_bounds *bounds, char letter, kymo_ns start, sqlite3_int64 number,
                   bool whole)
{
    kymo_ns time = kymo__ns_add(start, number), above = whole ? time : later(time);
    kymo_ns from = INT64_MIN, to = INT64_MAX;
    if (letter == EQUAL || letter == AT_LEAST)
        from = above;
    if (letter == MORE)
        from = later(time);
    if (letter == EQUAL || letter == AT_MOST)
        to = later(time);
    if (letter == LESS)
        to = above;
    bounds->from = from > bounds->from ? from : bounds->from;
    bounds->to = to < bounds->to ? to : bounds->to;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
                  sqlite3_value **argv)
{
    (void)number;
    struct cursor *cursor = (struct cursor *)base;
    const struct module *module = module_of(cursor);
    struct cli_bounds bounds = {INT64_MIN, INT64_MAX, -1, -1, module->table};
    bool nothing = false;
    end_rows(cursor);
    for (int i = 0; i < argc; i++) {
        sqlite3_int64 value;
        bool whole;
        nothing |= sqlite3_value_type(argv[i]) == SQLITE_NULL; /* nothing equals NULL */
        if (!number_of(argv[i], &value, &whole))
            continue;
        if (plan[i] == THREAD) {
            sqlite3_int64 most = module->table->stacks ? (sqlite3_int64)UINT32_MAX + 1
                                                       : (sqlite3_int64)module->query->info.threads;
            nothing |= !whole || value < 0 || value >= most ||
                       (bounds.thread >= 0 && bounds.thread != value);
            bounds.thread = value;
        } else if (plan[i] == ROW) {
            nothing |= !whole || value < 0 || (bounds.row >= 0 && bounds.row != value);
            bounds.row = value;
        } else {
            narrow(&bounds, plan[i], module->query->info.start, value, whole);
        }
    }
    if (nothing || bounds.from >= bounds.to)
        return SQLITE_OK;
    int rc = module->table->begin(module->query, &bounds, &cursor->state);
    if (rc < 0)
        return failed(cursor, rc);
    cursor->begun = true;
    cursor->row = 0;
    return cursor_next(base);
}

static int at_end(sqlite3_vtab_cursor *base)
{
    return ((struct cursor *)base)->end;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int i)
{
    struct cursor *cursor = (struct cursor *)base;
    module_of(cursor)->table->column(cursor->state, context, i);
    return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
    *id = ((struct cursor *)base)->row;
    return SQLITE_OK;
}

void kymo__cli_query_text(sqlite3_context *context, const char *text)
{
    sqlite3_result_text(context, text, -1, SQLITE_STATIC);
}

int kymo__cli_query_survey(struct cli_query *query)
{
    const struct kymo_survey_options options = {.from = INT64_MIN, .to = INT64_MAX};
    return query->survey ? 0 : kymo__survey(query->capture, &options, &query->survey);
}

static void free_module(void *arg)
{
    struct module *module = arg;
    if (module->free)
        module->free((void *)(uintptr_t)module->table);
    sqlite3_free(module);
}

int kymo__cli_query_add(sqlite3 *db, struct cli_query *query, const struct cli_query_table *table,
                        void (*free)(void *table))
{
    static const sqlite3_module methods = {
        .xConnect = connect,
        .xBestIndex = best_index,
        .xDisconnect = disconnect,
        .xDestroy = disconnect,
        .xOpen = open_cursor,
        .xClose = close_cursor,
        .xFilter = filter,
        .xNext = cursor_next,
        .xEof = at_end,
        .xColumn = column,
        .xRowid = rowid,
    };
    struct module *module = sqlite3_malloc(sizeof *module);
    if (!module) {
        if (free)
            free((void *)(uintptr_t)table);
        return SQLITE_NOMEM;
    }
    *module = (struct module){table, query, free};
    int rc = sqlite3_create_module_v2(db, table->name, &methods, module, free_module);
    /* A table declares its columns when it is first used. Do that now: later the authorizer allows
       only reading. */
    sqlite3_stmt *statement = NULL;
    char *sql = rc == SQLITE_OK ? sqlite3_mprintf("SELECT 1 FROM \"%w\"", table->name) : NULL;
    if (rc == SQLITE_OK)
        rc = sql ? sqlite3_prepare_v2(db, sql, -1, &statement, NULL) : SQLITE_NOMEM;
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return rc;
}

int kymo__cli_query_attach(sqlite3 *db, struct cli_query *query)
{
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && kymo__cli_query_tables[i]; i++)
        rc = kymo__cli_query_add(db, query, kymo__cli_query_tables[i], NULL);
    return rc == SQLITE_OK ? kymo__cli_query_payloads(db, query) : rc;
}
