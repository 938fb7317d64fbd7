/* query.h — a capture as tables for SQLite.

   A table is a description and a way to go over its rows one after another; query_table.c
   makes a virtual table of it. Nothing is copied into a database: rows are made when SQLite
   asks for them, and what a query says about time and thread is used to read less. */
#ifndef KYMO_CLI_QUERY_H
#define KYMO_CLI_QUERY_H

#include <sqlite3.h>

#include "samples.h"

/* What the tables are made from. */
struct cli_query {
    struct kymo_capture *capture;
    struct kymo_info info;
    struct kymo_callables callables;
    struct kymo_survey *survey;   /* made when a table first needs it, or NULL */
    struct kymo_samples *samples; /* the same */
};

/* What is wanted of a table: rows outside may be left out. */
struct cli_bounds {
    kymo_ns from, to; /* from <= time < to, on the capture's clock */
    int64_t thread;   /* or -1 for all */
};

struct cli_query_table {
    const char *name;
    const char *purpose;
    const char *columns; /* as in CREATE TABLE */
    int time, thread;    /* columns by which bounds are told, or -1 */
    bool stacks;         /* what bounds call the thread is a stack */
    /* Begin to go over the rows; *STATE is then to be ended. 0 or a negative code. */
    int (*begin)(struct cli_query *query, const struct cli_bounds *bounds, void **state);
    /* The next row: 1, 0 at the end, 2 not yet (see slices.h), or a negative code. */
    int (*next)(void *state);
    void (*column)(void *state, sqlite3_context *context, int column);
    void (*end)(void *state);
};

/* All tables; ends with NULL. */
extern const struct cli_query_table *const kymo__cli_query_tables[];

/* Make the tables known to DB; QUERY is lent. An SQLite code. */
int kymo__cli_query_attach(sqlite3 *db, struct cli_query *query);

/* The survey, made now if there is none: 0 or a negative code. */
int kymo__cli_query_survey(struct cli_query *query);

/* A text that lives as long as the capture, as the value of a column. */
void kymo__cli_query_text(sqlite3_context *context, const char *text);

enum cli_query_form { CLI_QUERY_TABLE, CLI_QUERY_CSV, CLI_QUERY_JSON };

/* Run STATEMENT to its end and print its rows. An SQLite code; SQLITE_DONE is good. */
int kymo__cli_query_print(sqlite3_stmt *statement, enum cli_query_form form);

#endif
