/* query_text.c — prints the rows of a query as an aligned table.

   Rows are aligned in batches, so that a result of any length prints in constant memory; columns
   only ever get wider. On a terminal a row is one line: columns without values are left out first,
   texts are cut, then the last columns are left out. What was left out is named at the end. */
#include <stdint.h>
#include <stdio.h>

#include "memory.h"
#include "message.h"
#include "output.h"
#include "query.h"
#include "terminal.h"
#include "text.h"

enum { BATCH = 1000, GAP = 2, NARROWEST = 8, READABLE = 16 };

struct column {
    char *title;
    int cells;   /* of the widest value so far */
    int width;   /* as printed */
    bool text;   /* has a value that is not a number */
    bool valued; /* has a value that is not NULL */
    bool hidden; /* does not fit; stays so */
};

struct batch {
    int count; /* of columns */
    struct column *columns;
    char **cells; /* BATCH rows of them; NULL for NULL */
    int rows;
    bool headed; /* the titles were printed */
};

static void widen_column(struct column *column, const char *text)
{
    int cells = kymo__cli_cells(text);
    if (cells > column->cells)
        column->cells = cells;
}

/* A path loses its start, other text its end. */
static void print_cell(const char *text, int width, bool right, bool last)
{
    int used = kymo__cli_cells(text);
    if (used > width && *text == '/') {
        const char *rest = kymo__cli_fit_end(text, width - 1);
        printf("…%s%*s", rest, last ? 0 : width - 1 - kymo__cli_cells(rest), "");
    } else if (used > width) {
        int fits = kymo__cli_fit(text, width - 1);
        char *start = kymo__cli_format("%.*s", fits, text);
        printf("%s…%*s", start, last ? 0 : width - 1 - kymo__cli_cells(start), "");
        kymo__cli_free(start);
    } else {
        printf("%*s%s%*s", right ? width - used : 0, "", text, right || last ? 0 : width - used,
               "");
    }
}

/* ---------------------------------------------------------------- fitting --- */

/* The cells of a row when no text takes more than MOST. */
static int cells_of_row(const struct batch *batch, int most)
{
    int whole = -GAP;
    for (int i = 0; i < batch->count; i++) {
        const struct column *column = &batch->columns[i];
        int cells = column->text && column->cells > most ? most : column->cells;
        whole += column->hidden ? 0 : cells + GAP;
    }
    return whole;
}

/* Hide columns, the last first, until a row with texts of at most MOST cells fits. The first
   column stays. */
static void hide_columns(struct batch *batch, int limit, int most, bool valued)
{
    for (int i = batch->count - 1; i > 0 && cells_of_row(batch, most) > limit; i--) {
        struct column *column = &batch->columns[i];
        if (column->hidden || (column->valued && !valued))
            continue;
        column->hidden = true;
        batch->headed = false; /* the titles change */
    }
}

/* Narrow the widest columns of text until a row fits. */
static void shrink_columns(struct batch *batch, int limit)
{
    for (int whole = cells_of_row(batch, INT32_MAX); whole > limit; whole--) {
        struct column *widest = NULL;
        for (int i = 0; i < batch->count; i++) {
            struct column *column = &batch->columns[i];
            if (!column->hidden && column->text && column->width > NARROWEST &&
                (!widest || column->width > widest->width))
                widest = column;
        }
        if (!widest)
            return;
        widest->width--;
    }
}

static void fit_columns(struct batch *batch)
{
    int limit = kymo__cli_terminal_width();
    if (limit > 0) {
        hide_columns(batch, limit, READABLE, false);
        hide_columns(batch, limit, NARROWEST, true);
    }
    for (int i = 0; i < batch->count; i++)
        batch->columns[i].width = batch->columns[i].cells;
    if (limit > 0)
        shrink_columns(batch, limit);
}

static int last_shown(const struct batch *batch)
{
    int last = batch->count - 1;
    while (last > 0 && batch->columns[last].hidden)
        last--;
    return last;
}

/* Name the columns that do not fit, on stderr. */
static void name_hidden(const struct batch *batch)
{
    char *names = NULL;
    for (int i = 0; i < batch->count; i++) {
        if (!batch->columns[i].hidden)
            continue;
        char *longer = kymo__cli_format("%s%s%s", names ? names : "", names ? ", " : "",
                                        batch->columns[i].title);
        kymo__cli_free(names);
        names = longer;
    }
    if (names)
        kymo__cli_complain("too wide for this terminal, not shown: %s; select fewer columns, or "
                           "use --csv",
                           names);
    kymo__cli_free(names);
}

/* --------------------------------------------------------------- printing --- */

static void print_titles(const struct batch *batch)
{
    int last = last_shown(batch);
    fputs(kymo__cli_colour(CLI_DIM), stdout);
    for (int i = 0; i <= last; i++) {
        const struct column *column = &batch->columns[i];
        if (column->hidden)
            continue;
        printf("%*s", i > 0 ? GAP : 0, "");
        print_cell(column->title, column->width, batch->rows > 0 && !column->text, i == last);
    }
    printf("%s\n", kymo__cli_colour(CLI_PLAIN));
}

static void print_row(const struct batch *batch, char **cells)
{
    int last = last_shown(batch);
    for (int i = 0; i < batch->count; i++) {
        const struct column *column = &batch->columns[i];
        if (!column->hidden) {
            printf("%*s", i > 0 ? GAP : 0, "");
            print_cell(cells[i] ? cells[i] : "-", column->width, !column->text, i == last);
        }
        kymo__cli_free(cells[i]);
        cells[i] = NULL;
    }
    putchar('\n');
}

static void print_batch(struct batch *batch)
{
    fit_columns(batch);
    if (!batch->headed)
        print_titles(batch);
    batch->headed = true;
    for (int row = 0; row < batch->rows; row++)
        print_row(batch, &batch->cells[row * batch->count]);
    batch->rows = 0;
}

static void add_row(struct batch *batch, sqlite3_stmt *statement)
{
    for (int i = 0; i < batch->count; i++) {
        struct column *column = &batch->columns[i];
        int type = sqlite3_column_type(statement, i);
        char *cell = type == SQLITE_NULL ? NULL : kymo__cli_query_cell(statement, i, true);
        batch->cells[batch->rows * batch->count + i] = cell;
        column->text |= type == SQLITE_TEXT || type == SQLITE_BLOB;
        column->valued |= cell && *cell;
        widen_column(column, cell ? cell : "-");
    }
    if (++batch->rows == BATCH)
        print_batch(batch);
}

int kymo__cli_query_aligned(sqlite3_stmt *statement)
{
    size_t count = (size_t)sqlite3_column_count(statement);
    struct batch batch = {
        .count = (int)count,
        .columns = kymo__cli_array(count + 1, sizeof(struct column)),
        .cells = kymo__cli_array(count * BATCH + 1, sizeof(char *)),
    };
    for (int i = 0; i < batch.count; i++) {
        batch.columns[i].title = kymo__cli_clean(sqlite3_column_name(statement, i));
        widen_column(&batch.columns[i], batch.columns[i].title);
    }
    int rc;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW && kymo__cli_output_works())
        add_row(&batch, statement);
    if (batch.rows > 0 || (rc == SQLITE_DONE && !batch.headed))
        print_batch(&batch);
    if (rc == SQLITE_DONE)
        name_hidden(&batch);
    for (int i = 0; i < batch.count; i++)
        kymo__cli_free(batch.columns[i].title);
    kymo__cli_free(batch.columns);
    kymo__cli_free(batch.cells);
    return rc;
}
