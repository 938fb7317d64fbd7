/* query_print.c — prints the rows of a query as CSV or JSON lines; query_text.c prints tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonout.h"
#include "memory.h"
#include "output.h"
#include "query.h"
#include "text.h"

char *kymo__cli_query_cell(sqlite3_stmt *statement, int i, bool clean)
{
    if (sqlite3_column_type(statement, i) == SQLITE_BLOB) {
        const unsigned char *bytes = sqlite3_column_blob(statement, i);
        int size = sqlite3_column_bytes(statement, i);
        char *text = kymo__cli_array((size_t)size * 2 + 1, 1);
        for (int j = 0; j < size; j++)
            snprintf(text + 2 * j, 3, "%02x", bytes[j]);
        return text;
    }
    const char *text = (const char *)sqlite3_column_text(statement, i);
    text = text ? text : "";
    return clean ? kymo__cli_clean(text) : kymo__cli_format("%s", text);
}

/* -------------------------------------------------------------------- CSV --- */

/* CSV keeps line breaks and tabs; other control characters are escaped as in a table, because rows
   often go to a terminal, which would interpret them. */
static void put_csv(const char *text, bool last)
{
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    fputs(quoted ? "\"" : "", stdout);
    while (*text) {
        size_t length = strcspn(text, "\"\r\n\t");
        char *part = kymo__cli_format("%.*s", (int)length, text);
        kymo__cli_put_clean(stdout, part);
        kymo__cli_free(part);
        text += length;
        if (*text == '"')
            putchar('"');
        if (*text)
            putchar(*text++);
    }
    fputs(quoted ? "\"" : "", stdout);
    fputs(last ? "\r\n" : ",", stdout);
}

static int print_csv(sqlite3_stmt *statement)
{
    int columns = sqlite3_column_count(statement), rc;
    bool headed = false;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW || (rc == SQLITE_DONE && !headed)) {
        for (int i = 0; !headed && i < columns; i++)
            put_csv(sqlite3_column_name(statement, i), i + 1 == columns);
        headed = true;
        for (int i = 0; rc == SQLITE_ROW && i < columns; i++) {
            char *text = kymo__cli_query_cell(statement, i, false);
            put_csv(text, i + 1 == columns);
            kymo__cli_free(text);
        }
        if (rc == SQLITE_DONE || !kymo__cli_output_works())
            break;
    }
    return rc;
}

/* ------------------------------------------------------------------- JSON --- */

static int print_json(sqlite3_stmt *statement)
{
    int columns = sqlite3_column_count(statement), rc;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW && kymo__cli_output_works()) {
        struct kymo_jsonout json = {.out = stdout};
        kymo__jsonout_object(&json, NULL);
        for (int i = 0; i < columns; i++) {
            const char *name = sqlite3_column_name(statement, i);
            switch (sqlite3_column_type(statement, i)) {
            case SQLITE_INTEGER:
                kymo__jsonout_int(&json, name, sqlite3_column_int64(statement, i));
                break;
            case SQLITE_FLOAT:
                kymo__jsonout_double(&json, name, sqlite3_column_double(statement, i));
                break;
            case SQLITE_NULL:
                kymo__jsonout_null(&json, name);
                break;
            default: {
                char *text = kymo__cli_query_cell(statement, i, false);
                kymo__jsonout_string(&json, name, text);
                kymo__cli_free(text);
            }
            }
        }
        kymo__jsonout_end(&json);
        putchar('\n');
    }
    return rc;
}

int kymo__cli_query_print(sqlite3_stmt *statement, enum cli_query_form form)
{
    int rc = form == CLI_QUERY_CSV    ? print_csv(statement)
             : form == CLI_QUERY_JSON ? print_json(statement)
                                      : kymo__cli_query_aligned(statement);
    /* The reader has gone or the disk is full; reported at the end. */
    return rc == SQLITE_ROW ? SQLITE_DONE : rc;
}
