#include "table.h"

#include <stdio.h>

#include "memory.h"
#include "terminal.h"
#include "text.h"

enum { GAP = 2, NARROWEST = 6, COLUMNS_MAX = 12 };

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

/* How wide each column is: as its widest cell, and the flexible ones less when the
   whole does not fit. */
static void measure(const struct cli_table *table, int indent, int *cells)
{
    int whole = indent, flexible = 0;
    for (int i = 0; i < table->width; i++) {
        cells[i] = kymo__cli_cells(table->columns[i].title);
        for (size_t row = 0; row < table->rows; row++) {
            int used = kymo__cli_cells(table->cells[row * (size_t)table->width + (size_t)i]);
            if (used > cells[i])
                cells[i] = used;
        }
        whole += cells[i] + (i > 0 ? GAP : 0);
        flexible += table->columns[i].flexible;
    }
    int limit = kymo__cli_terminal_width();
    for (; limit > 0 && whole > limit && flexible > 0; whole--) {
        int widest = -1;
        for (int i = 0; i < table->width; i++)
            if (table->columns[i].flexible && (widest < 0 || cells[i] > cells[widest]))
                widest = i;
        if (cells[widest] <= NARROWEST)
            return;
        cells[widest]--;
    }
}

static void print_cell(const char *text, int cells, bool right, bool last)
{
    int used = kymo__cli_cells(text);
    if (used > cells) {
        int length = kymo__cli_fit(text, cells - 1);
        printf("%.*s…", length, text);
        return;
    }
    if (right)
        printf("%*s", cells - used, "");
    fputs(text, stdout);
    if (!right && !last)
        printf("%*s", cells - used, "");
}

void kymo__cli_table_print(const struct cli_table *table, int indent)
{
    int cells[COLUMNS_MAX];
    measure(table, indent, cells);

    printf("%*s%s", indent, "", kymo__cli_colour(CLI_DIM));
    for (int i = 0; i < table->width; i++) {
        printf("%*s", i > 0 ? GAP : 0, "");
        print_cell(table->columns[i].title, cells[i], table->columns[i].right,
                   i + 1 == table->width);
    }
    printf("%s\n", kymo__cli_colour(CLI_PLAIN));

    for (size_t row = 0; row < table->rows; row++) {
        printf("%*s", indent, "");
        for (int i = 0; i < table->width; i++) {
            printf("%*s", i > 0 ? GAP : 0, "");
            print_cell(table->cells[row * (size_t)table->width + (size_t)i], cells[i],
                       table->columns[i].right, i + 1 == table->width);
        }
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
