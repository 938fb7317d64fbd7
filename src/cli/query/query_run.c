/* query_run.c — runs one SELECT over the tables of a capture. Other statements, files and
   extensions are refused. */
#include "query_run.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "capture_file.h"
#include "interrupt.h"
#include "memory.h"
#include "message.h"
#include "query.h"
#include "terminal.h"
#include "text.h"
#include "verb.h"

/* SQL functions that can load code or call addresses. */
static bool is_refused(const char *name)
{
    static const char *const refused[] = {"load_extension", "fts3_tokenizer", "edit", "readfile",
                                          "writefile"};
    for (size_t i = 0; name && i < sizeof refused / sizeof *refused; i++)
        if (strcasecmp(name, refused[i]) == 0)
            return true;
    return false;
}

/* Allow only reading. */
static int judge_action(void *arg, int action, const char *one, const char *two,
                        const char *database, const char *trigger)
{
    (void)arg, (void)one, (void)database, (void)trigger;
    if (action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE)
        return SQLITE_OK;
    if (action == SQLITE_FUNCTION)
        return is_refused(two) ? SQLITE_DENY : SQLITE_OK;
    return SQLITE_DENY;
}

static int stop_if_asked(void *arg)
{
    (void)arg;
    return kymo__cli_interrupted();
}

static int explain_error(sqlite3 *db, int rc)
{
    if (rc == SQLITE_INTERRUPT)
        kymo__cli_interrupt_obey();
    if (rc == SQLITE_AUTH)
        kymo__cli_complain("only SELECT is allowed: captures are read-only (%s)",
                           sqlite3_errmsg(db));
    else if (rc == SQLITE_NOMEM)
        kymo__cli_complain("not enough memory for this query");
    else
        kymo__cli_complain("the query failed: %s%s", sqlite3_errmsg(db),
                           strstr(sqlite3_errmsg(db), "no such table") ||
                                   strstr(sqlite3_errmsg(db), "no such column")
                               ? "; 'kymograph query --tables' lists tables and columns"
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
        return explain_error(db, rc);
    if (!statement) {
        kymo__cli_complain("the query is empty; write kymograph query FILE 'SELECT ...'");
        return CLI_BAD;
    }
    if (has_more(db, rest)) {
        sqlite3_finalize(statement);
        kymo__cli_complain("more than one statement; run one SELECT at a time");
        return CLI_BAD;
    }
    rc = kymo__cli_query_print(statement, form);
    int code = rc == SQLITE_DONE ? CLI_OK : explain_error(db, rc);
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
        sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
        sqlite3_set_authorizer(db, judge_action, NULL);
        sqlite3_progress_handler(db, STEPS, stop_if_asked, NULL);
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

/* The length of the column name at TEXT, which may be quoted, as for fields of payloads. */
static size_t name_length(const char *text)
{
    size_t length = *text == '"';
    if (!length)
        return strcspn(text, " ,");
    for (; text[length] && (text[length] != '"' || text[length + 1] == '"'); length++)
        length += text[length] == '"'; /* a doubled quote */
    return length + (text[length] == '"');
}

/* Print the column name and type at TEXT; returns the next one. */
static const char *put_column(const char *text)
{
    size_t length = name_length(text), all = length + strcspn(text + length, ",");
    char *name = kymo__cli_format("%.*s", (int)length, text);
    fputs("    ", stdout);
    kymo__cli_put_clean(stdout, name);
    int cells = kymo__cli_cells(name);
    printf("%*s%s%.*s%s\n", cells < 12 ? 12 - cells : 1, "", kymo__cli_colour(CLI_DIM),
           all > length ? (int)(all - length - 1) : 0, text + length + (all > length),
           kymo__cli_colour(CLI_PLAIN));
    kymo__cli_free(name);
    text += all;
    return text + strspn(text, ", ");
}

static void put_table(const struct cli_query_table *table, bool first)
{
    printf("%s%s", first ? "" : "\n", kymo__cli_colour(CLI_BOLD));
    kymo__cli_put_clean(stdout, table->name);
    printf("%s: %s\n", kymo__cli_colour(CLI_PLAIN), table->purpose);
    for (const char *column = table->columns; *column;)
        column = put_column(column);
}

static int put_payload_table(void *arg, struct cli_query_table *table)
{
    put_table(table, false);
    (void)arg;
    kymo__cli_query_free_table(table);
    return SQLITE_OK;
}

int kymo__cli_query_schema(const struct kymo_capture *capture)
{
    for (int i = 0; kymo__cli_query_tables[i]; i++)
        put_table(kymo__cli_query_tables[i], i == 0);
    if (capture)
        kymo__cli_query_each_payload(capture, put_payload_table, NULL);
    return CLI_OK;
}
