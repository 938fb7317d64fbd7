/* query.h — presents a capture as SQLite tables.

   A table is a description and an iterator over its rows; query_table.c makes a virtual table of
   it. Nothing is copied into a database: rows are produced when SQLite asks for them, and
   conditions on time and thread limit what is read. */
#ifndef KYMO_CLI_QUERY_H
#define KYMO_CLI_QUERY_H

#include <sqlite3.h>

#include "samples.h"

/* What the tables read from. */
struct cli_query {
    struct kymo_capture *capture;
    struct kymo_info info;
    struct kymo_callables callables;
    struct kymo_survey *survey;   /* made when a table first needs it; NULL until then */
    struct kymo_samples *samples; /* likewise */
};

struct cli_query_table;

/* The requested part of a table; rows outside may be left out. */
struct cli_bounds {
    kymo_ns from, to; /* from <= time < to, on the capture's clock */
    int64_t thread;   /* -1 for all */
    int64_t row;      /* of a numbered table; -1 for all */
    const struct cli_query_table *table;
};

struct cli_query_table {
    const char *name;
    const char *purpose;
    const char *columns; /* as in CREATE TABLE */
    int time, thread;    /* the columns that bounds apply to, or -1 */
    bool stacks;         /* the thread in bounds is a stack number */
    bool numbered;       /* short, and column 0 is the number of the row: joins find it by that */
    uint32_t schema;     /* for payload tables: the schema's key */
    /* Begin iterating; on success, end *STATE afterwards. Returns 0 or a negative code. */
    int (*begin)(struct cli_query *query, const struct cli_bounds *bounds, void **state);
    /* Go to the next row. Returns 1, 0 at the end, 2 for not yet (see slices.h), or a negative
       code. */
    int (*next)(void *state);
    void (*column)(void *state, sqlite3_context *context, int column);
    void (*end)(void *state);
};

/* All tables; ends with NULL. */
extern const struct cli_query_table *const kymo__cli_query_tables[];

/* Register TABLE with DB, which calls FREE on it at the end, also on failure. Returns an SQLite
   code. */
int kymo__cli_query_add(sqlite3 *db, struct cli_query *query, const struct cli_query_table *table,
                        void (*free)(void *table));

/* Register all tables with DB, which borrows QUERY. Returns an SQLite code. */
int kymo__cli_query_attach(sqlite3 *db, struct cli_query *query);

/* Get the survey, made on first use. Returns 0 or a negative code. */
int kymo__cli_query_survey(struct cli_query *query);

/* Set a column to a text that lives as long as the capture. */
void kymo__cli_query_text(sqlite3_context *context, const char *text);

struct kymo_call_arg;

/* Set a column to the value of ARG: a number, a text or bytes. A list becomes JSON text. */
void kymo__cli_query_arg(sqlite3_context *context, const struct cli_query *query,
                         const struct kymo_call_arg *arg);

/* Call EACH with a table for every payload schema of CAPTURE, to be freed by EACH, until it does not
   return SQLITE_OK. */
int kymo__cli_query_each_payload(const struct kymo_capture *capture,
                                 int (*each)(void *arg, struct cli_query_table *table), void *arg);
void kymo__cli_query_free_table(void *table);

/* Add a table for each payload schema of QUERY's capture, named after the schema. */
int kymo__cli_query_payloads(sqlite3 *db, struct cli_query *query);

enum cli_query_form { CLI_QUERY_TABLE, CLI_QUERY_CSV, CLI_QUERY_JSON };

/* Run STATEMENT to its end and print its rows. Returns an SQLite code, SQLITE_DONE on success. */
int kymo__cli_query_print(sqlite3_stmt *statement, enum cli_query_form form);

/* The same for a table; returns SQLITE_ROW when the output failed. */
int kymo__cli_query_aligned(sqlite3_stmt *statement);

/* Column I of the row as text, on request cleaned for a terminal; free it. Bytes are shown in
   hexadecimal. */
char *kymo__cli_query_cell(sqlite3_stmt *statement, int i, bool clean);

#endif
