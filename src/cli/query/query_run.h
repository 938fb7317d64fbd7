/* query_run.h — the part of the verb `query` that uses SQLite; query_none.c replaces it without
   SQLite. */
#ifndef KYMO_CLI_QUERY_RUN_H
#define KYMO_CLI_QUERY_RUN_H

#include <kymo/kymo.h>

/* Run SQL over CAPTURE, opened from PATH, and print the rows; FORM is "csv", "json" or NULL for a
   table. Returns an exit code. */
int kymo__cli_query_run(struct kymo_capture *capture, const struct kymo_info *info,
                        const char *path, const char *sql, const char *form);

/* Print the list of tables; with CAPTURE, also those of its payloads. Returns an exit code. */
int kymo__cli_query_schema(const struct kymo_capture *capture);

#endif
