/* query_print.c — prints the rows of a query as an aligned table, CSV or JSON lines.

   A table is aligned in batches, so that a result of any length prints in constant memory; columns
   only ever get wider. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "memory.h"
#include "output.h"
#include "query.h"
#include "terminal.h"
#include "text.h"

enum { BATCH = 1000, GAP = 2, NARROWEST = 8 };

/* Column I of the row as text; free it. Bytes are shown in hexadecimal. */
static char *text_of(sqlite3_stmt *statement, int i, bool clean)
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

/* ------------------------------------------------------------------ table --- */

struct batch {
    int columns;
    int *width;
    bool *text; /* by column: has a value that is not a number */
    char **titles;
    char **cells; /* BATCH rows of them; NULL for NULL */
    int rows;
    bool headed; /* the titles were printed */
};

static void widen_column(struct batch *batch, int column, const char *text)
{
    int cells = kymo__cli_cells(text);
    if (cells > batch->width[column])
        batch->width[column] = cells;
}

static void print_cell(const char *text, int width, bool right, bool last)
{
    int used = kymo__cli_cells(text);
    if (used > width) {
        printf("%.*s…", kymo__cli_fit(text, width - 1), text);
        return;
    }
    printf("%*s%s%*s", right ? width - used : 0, "", text, right || last ? 0 : width - used, "");
}

/* Make columns of text narrower until a row fits the terminal. */
static void fit(const struct batch *batch, int *width)
{
    int whole = GAP * (batch->columns - 1), limit = kymo__cli_terminal_width();
    for (int i = 0; i < batch->columns; i++)
        whole += width[i] = batch->width[i];
    for (; limit > 0 && whole > limit; whole--) {
        int widest = -1;
        for (int i = 0; i < batch->columns; i++)
            if (batch->text[i] && width[i] > NARROWEST && (widest < 0 || width[i] > width[widest]))
                widest = i;
        if (widest < 0)
            return;
        width[widest]--;
    }
}

static void print_batch(struct batch *batch)
{
    int *width = kymo__cli_array((size_t)batch->columns, sizeof *width);
    fit(batch, width);
    if (!batch->headed) {
        fputs(kymo__cli_colour(CLI_DIM), stdout);
        for (int i = 0; i < batch->columns; i++) {
            printf("%*s", i > 0 ? GAP : 0, "");
            print_cell(batch->titles[i], width[i], batch->rows > 0 && !batch->text[i],
                       i + 1 == batch->columns);
        }
        printf("%s\n", kymo__cli_colour(CLI_PLAIN));
        batch->headed = true;
    }
    for (int row = 0; row < batch->rows; row++) {
        for (int i = 0; i < batch->columns; i++) {
            char **cell = &batch->cells[row * batch->columns + i];
            printf("%*s", i > 0 ? GAP : 0, "");
            print_cell(*cell ? *cell : "-", width[i], !batch->text[i], i + 1 == batch->columns);
            kymo__cli_free(*cell);
            *cell = NULL;
        }
        putchar('\n');
    }
    batch->rows = 0;
    kymo__cli_free(width);
}

static void add_row(struct batch *batch, sqlite3_stmt *statement)
{
    for (int i = 0; i < batch->columns; i++) {
        int type = sqlite3_column_type(statement, i), at = batch->rows * batch->columns + i;
        batch->cells[at] = type == SQLITE_NULL ? NULL : text_of(statement, i, true);
        batch->text[i] |= type == SQLITE_TEXT || type == SQLITE_BLOB;
        widen_column(batch, i, batch->cells[at] ? batch->cells[at] : "-");
    }
    if (++batch->rows == BATCH)
        print_batch(batch);
}

static int print_table(sqlite3_stmt *statement)
{
    size_t columns = (size_t)sqlite3_column_count(statement);
    struct batch batch = {
        .columns = (int)columns,
        .width = kymo__cli_array(columns + 1, sizeof(int)),
        .text = kymo__cli_array(columns + 1, sizeof(bool)),
        .titles = kymo__cli_array(columns + 1, sizeof(char *)),
        .cells = kymo__cli_array(columns * BATCH + 1, sizeof(char *)),
    };
    for (int i = 0; i < batch.columns; i++) {
        batch.titles[i] = kymo__cli_clean(sqlite3_column_name(statement, i));
        widen_column(&batch, i, batch.titles[i]);
    }
    int rc;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW && kymo__cli_output_works())
        add_row(&batch, statement);
    if (batch.rows > 0 || (rc == SQLITE_DONE && !batch.headed))
        print_batch(&batch);
    for (int i = 0; i < batch.columns; i++)
        kymo__cli_free(batch.titles[i]);
    kymo__cli_free(batch.width);
    kymo__cli_free(batch.text);
    kymo__cli_free(batch.titles);
    kymo__cli_free(batch.cells);
    return rc;
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
            char *text = text_of(statement, i, false);
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
        struct cli_json json = {.out = stdout};
        kymo__cli_json_object(&json, NULL);
        for (int i = 0; i < columns; i++) {
            const char *name = sqlite3_column_name(statement, i);
            switch (sqlite3_column_type(statement, i)) {
            case SQLITE_INTEGER:
                kymo__cli_json_int(&json, name, sqlite3_column_int64(statement, i));
                break;
            case SQLITE_FLOAT:
                kymo__cli_json_double(&json, name, sqlite3_column_double(statement, i));
                break;
            case SQLITE_NULL:
                kymo__cli_json_null(&json, name);
                break;
            default: {
                char *text = text_of(statement, i, false);
                kymo__cli_json_string(&json, name, text);
                kymo__cli_free(text);
            }
            }
        }
        kymo__cli_json_end(&json);
        putchar('\n');
    }
    return rc;
}

int kymo__cli_query_print(sqlite3_stmt *statement, enum cli_query_form form)
{
    int rc = form == CLI_QUERY_CSV    ? print_csv(statement)
             : form == CLI_QUERY_JSON ? print_json(statement)
                                      : print_table(statement);
    /* The reader has gone or the disk is full; reported at the end. */
    return rc == SQLITE_ROW ? SQLITE_DONE : rc;
}
