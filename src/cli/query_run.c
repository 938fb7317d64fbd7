/* query_run.c — one SELECT over the tables of a capture, and nothing else: no other
   statement, no file, no extension. */
#include "query_run.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "capture_file.h"
#include "interrupt.h"
#include "message.h"
#include "query.h"
#include "terminal.h"
#include "text.h"
#include "verb.h"

/* Only reading is allowed. */
static int judge(void *arg, int action, const char *one, const char *two, const char *database,
                 const char *trigger)
{
    (void)arg, (void)one, (void)database, (void)trigger;
    if (action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE)
        return SQLITE_OK;
    if (action == SQLITE_FUNCTION)
        return two && strcasecmp(two, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    return SQLITE_DENY;
}

static int stop(void *arg)
{
    (void)arg;
    return kymo__cli_interrupted();
}

static int explain(sqlite3 *db, int rc)
{
    if (rc == SQLITE_INTERRUPT)
        kymo__cli_interrupt_obey();
    if (rc == SQLITE_AUTH)
        kymo__cli_complain("only SELECT is possible: a capture is never changed (%s)",
                           sqlite3_errmsg(db));
    else if (rc == SQLITE_NOMEM)
        kymo__cli_complain("there is not enough memory for this query");
    else
        kymo__cli_complain("the query failed: %s%s", sqlite3_errmsg(db),
                           strstr(sqlite3_errmsg(db), "no such table") ||
                                   strstr(sqlite3_errmsg(db), "no such column")
                               ? "; 'kymograph query --tables' lists what there is"
                               : "");
    return CLI_BAD;
}

/* Is there anything but white space, comments and semicolons at SQL? */
static bool has_more(sqlite3 *db, const char *sql)
{
    while (*sql) {
        sqlite3_stmt *statement = NULL;
        const char *rest = NULL;
        int rc = sqlite3_prepare_v2(db, sql, -1, &statement, &rest);
        sqlite3_finalize(statement);
        if (rc != SQLITE_OK || statement)
            return true;
        if (!rest || rest == sql)
            return false;
        sql = rest;
    }
    return false;
}

static int select_rows(sqlite3 *db, const char *sql, enum cli_query_form form)
{
    sqlite3_stmt *statement = NULL;
    const char *rest = "";
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, &rest);
    if (rc != SQLITE_OK)
        return explain(db, rc);
    if (!statement) {
        kymo__cli_complain("the query is empty; write kymograph query FILE 'SELECT ...'");
        return CLI_BAD;
    }
    if (has_more(db, rest)) {
        sqlite3_finalize(statement);
        kymo__cli_complain("there is more than one statement; give one SELECT at a time");
        return CLI_BAD;
    }
    rc = kymo__cli_query_print(statement, form);
    int code = rc == SQLITE_DONE ? CLI_OK : explain(db, rc);
    sqlite3_finalize(statement);
    return code;
}

int kymo__cli_query_run(struct kymo_capture *capture, const struct kymo_info *info,
                        const char *path, const char *sql, const char *form)
{
    enum { STEPS = 10000 };
    struct cli_query query = {.capture = capture, .info = *info};
    int error = kymo__callables_init(&query.callables, capture);
    if (error < 0)
        return kymo__cli_capture_broken(path, error);
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, NULL);
    if (rc == SQLITE_OK)
        rc = kymo__cli_query_attach(db, &query);
    int code = CLI_BAD;
    if (rc == SQLITE_OK) {
        sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
        sqlite3_set_authorizer(db, judge, NULL);
        sqlite3_progress_handler(db, STEPS, stop, NULL);
        kymo__cli_interrupt_watch();
        code = select_rows(db, sql,
                           !form                      ? CLI_QUERY_TABLE
                           : strcmp(form, "csv") == 0 ? CLI_QUERY_CSV
                                                      : CLI_QUERY_JSON);
    } else {
        kymo__cli_complain("SQLite could not be started: %s",
                           db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
    }
    sqlite3_close(db);
    kymo__survey_free(query.survey);
    kymo__samples_free(query.samples);
    kymo__callables_fini(&query.callables);
    return code;
}

/* A name and its type at TEXT; returns the next one. */
static const char *put_column(const char *text)
{
    size_t name = strcspn(text, " ,"), all = strcspn(text, ",");
    printf("    %-12.*s%s%.*s%s\n", (int)name, text, kymo__cli_colour(CLI_DIM),
           all > name ? (int)(all - name - 1) : 0, text + name + (all > name),
           kymo__cli_colour(CLI_PLAIN));
    text += all;
    return text + strspn(text, ", ");
}

int kymo__cli_query_schema(void)
{
    for (int i = 0; kymo__cli_query_tables[i]; i++) {
        const struct cli_query_table *table = kymo__cli_query_tables[i];
        printf("%s%s%s%s: %s\n", i > 0 ? "\n" : "", kymo__cli_colour(CLI_BOLD), table->name,
               kymo__cli_colour(CLI_PLAIN), table->purpose);
        for (const char *column = table->columns; *column;)
            column = put_column(column);
    }
    return CLI_OK;
}
