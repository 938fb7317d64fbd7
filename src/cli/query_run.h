/* query_run.h — what the verb `query` needs of SQLite; without SQLite query_none.c has it. */
#ifndef KYMO_CLI_QUERY_RUN_H
#define KYMO_CLI_QUERY_RUN_H

#include <kymo/kymo.h>

/* Run SQL over CAPTURE, which is at PATH, and print what it selects; FORM is "csv", "json" or
   NULL for a table. An exit code. */
int kymo__cli_query_run(struct kymo_capture *capture, const struct kymo_info *info,
                        const char *path, const char *sql, const char *form);

/* Print which tables there are. An exit code. */
int kymo__cli_query_schema(void);

#endif
