/* table.h — aligned columns that know how wide the terminal is. */
#ifndef KYMO_CLI_TABLE_H
#define KYMO_CLI_TABLE_H

#include <stdbool.h>

struct cli_column {
    const char *title;
    bool right;    /* numbers */
    bool flexible; /* may be cut to fit a terminal */
};

struct cli_table;

/* COLUMNS ends with a NULL title and is lent until the table is freed. */
struct cli_table *kymo__cli_table_new(const struct cli_column *columns);

/* Add a row: one string per column; copied and cleaned. */
void kymo__cli_table_add(struct cli_table *table, const char *const *cells);

/* Print the table on stdout with INDENT spaces before each line. */
void kymo__cli_table_print(const struct cli_table *table, int indent);
void kymo__cli_table_free(struct cli_table *table);

#endif
