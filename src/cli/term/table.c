#include "table.h"

#include <assert.h>
#include <stdio.h>

#include "memory.h"
#include "terminal.h"
#include "text.h"

enum { GAP = 2, NARROWEST = 6, READABLE_NAME = 20, READABLE_PLACE = 16, COLUMNS_MAX = 12 };

struct cli_table {
    const struct cli_column *columns;
    int width; /* in columns */
    size_t rows, room;
    char **cells; /* rows * width of them */
};

struct cli_table *kymo__cli_table_new(const struct cli_column *columns)
{
    struct cli_table *table = kymo__cli_array(1, sizeof *table);
    table->columns = columns;
    while (columns[table->width].title && table->width < COLUMNS_MAX)
        table->width++;
    return table;
}

void kymo__cli_table_add(struct cli_table *table, const char *const *cells)
{
    size_t width = (size_t)table->width;
    if (table->rows == table->room) {
        table->room = table->room ? 2 * table->room : 16;
        table->cells = kymo__cli_grow(table->cells, table->room * width, sizeof *table->cells);
    }
    for (size_t i = 0; i < width; i++)
        table->cells[table->rows * width + i] = kymo__cli_clean(cells[i]);
    table->rows++;
}

static bool can_cut(const struct cli_column *column)
{
    return column->fit % CLI_DROP(1) != CLI_KEEP;
}

/* Drop columns, least important first, until names and places have a readable width. A dropped
   column is 0 wide. */
static void drop_columns(const struct cli_table *table, int indent, int limit, int *cells)
{
    for (;;) {
        int whole = indent, columns = 0, least = -1;
        for (int i = 0; i < table->width; i++) {
            const struct cli_column *column = &table->columns[i];
            int readable = column->fit & CLI_CUT_LEFT ? READABLE_PLACE : READABLE_NAME;
            whole += can_cut(column) && cells[i] > readable ? readable : cells[i];
            columns += cells[i] > 0;
            if (cells[i] && column->fit >= CLI_DROP(1) &&
                (least < 0 || column->fit > table->columns[least].fit))
                least = i;
        }
        if (whole + GAP * (columns - 1) <= limit || least < 0)
            return;
        cells[least] = 0;
    }
}

/* Narrow the widest columns that may be cut until the table fits. */
static void shrink_columns(const struct cli_table *table, int indent, int limit, int *cells)
{
    int whole = indent - GAP;
    for (int i = 0; i < table->width; i++)
        whole += cells[i] ? cells[i] + GAP : 0;
    for (; whole > limit; whole--) {
        int widest = -1;
        for (int i = 0; i < table->width; i++)
            if (can_cut(&table->columns[i]) && cells[i] && (widest < 0 || cells[i] > cells[widest]))
                widest = i;
        if (widest < 0 || cells[widest] <= NARROWEST)
            return;
        cells[widest]--;
    }
}

/* Set the width of each column: that of its widest cell, or less when the table does not fit. */
static void measure_cells(const struct cli_table *table, int indent, int *cells)
{
    for (int i = 0; i < table->width; i++) {
        cells[i] = kymo__cli_cells(table->columns[i].title);
        for (size_t row = 0; row < table->rows; row++) {
            int used = kymo__cli_cells(table->cells[row * (size_t)table->width + (size_t)i]);
            if (used > cells[i])
                cells[i] = used;
        }
    }
    int limit = kymo__cli_terminal_width();
    if (limit > 0) {
        drop_columns(table, indent, limit, cells);
        shrink_columns(table, indent, limit, cells);
    }
}

static void print_cell(const char *text, int cells, const struct cli_column *column, bool last)
{
    int used = kymo__cli_cells(text);
    if (used > cells && column->fit & CLI_CUT_LEFT) {
        const char *rest = kymo__cli_fit_end(text, cells - 1);
        printf("…%s", rest);
        used = 1 + kymo__cli_cells(rest);
        printf("%*s", last ? 0 : cells - used, "");
        return;
    }
    if (used > cells) {
        printf("%.*s…", kymo__cli_fit(text, cells - 1), text);
        return;
    }
    if (column->right)
        printf("%*s", cells - used, "");
    fputs(text, stdout);
    if (!column->right && !last)
        printf("%*s", cells - used, "");
}

/* Print the cells at ROW, or the titles when it is NULL. */
static void print_row(const struct cli_table *table, char *const *row, const int *cells, int indent)
{
    int last = table->width - 1;
    while (last > 0 && !cells[last])
        last--;
    printf("%*s", indent, "");
    for (int i = 0, printed = 0; i <= last; i++) {
        if (!cells[i])
            continue;
        printf("%*s", printed++ ? GAP : 0, "");
        print_cell(row ? row[i] : table->columns[i].title, cells[i], &table->columns[i], i == last);
    }
}

void kymo__cli_table_print(const struct cli_table *table, int indent)
{
    int cells[COLUMNS_MAX] = {0};
    assert(table->width > 0 && table->width <= COLUMNS_MAX);
    measure_cells(table, indent, cells);
    fputs(kymo__cli_colour(CLI_DIM), stdout);
    print_row(table, NULL, cells, indent);
    printf("%s\n", kymo__cli_colour(CLI_PLAIN));
    for (size_t row = 0; row < table->rows; row++) {
        print_row(table, &table->cells[row * (size_t)table->width], cells, indent);
        putchar('\n');
    }
}

void kymo__cli_table_free(struct cli_table *table)
{
    for (size_t i = 0; i < table->rows * (size_t)table->width; i++)
        kymo__cli_free(table->cells[i]);
    kymo__cli_free(table->cells);
    kymo__cli_free(table);
}
