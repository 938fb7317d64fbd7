/* table.h — prints aligned columns that fit the terminal. */
#ifndef KYMO_CLI_TABLE_H
#define KYMO_CLI_TABLE_H

#include <stdbool.h>

/* What to do with a column when a table is too wide for the terminal. Columns with the highest
   CLI_DROP(n), n from 1 to 9, are dropped first; then those with CLI_CUT or CLI_CUT_LEFT are
   narrowed and their cells lose their end or their start. */
enum { CLI_KEEP = 0, CLI_CUT = 1, CLI_CUT_LEFT = 2 };
#define CLI_DROP(n) (4u * (n))

struct cli_column {
    const char *title;
    bool right;   /* numbers */
    unsigned fit; /* CLI_KEEP, CLI_CUT or CLI_CUT_LEFT, or CLI_DROP(n), or both */
};

struct cli_table;

/* COLUMNS ends with a NULL title and must outlive the table. */
struct cli_table *kymo__cli_table_new(const struct cli_column *columns);

/* Add a row: one string per column; copied and cleaned. */
void kymo__cli_table_add(struct cli_table *table, const char *const *cells);

/* Print the table on stdout with INDENT spaces before each line. */
void kymo__cli_table_print(const struct cli_table *table, int indent);
void kymo__cli_table_free(struct cli_table *table);

#endif
