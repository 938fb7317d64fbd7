/* query_none.c — the verb `query` of a kymograph that was built where there was no SQLite. */
#include "message.h"
#include "query_run.h"
#include "verb.h"

static int refuse(void)
{
    kymo__cli_complain(
        "this kymograph was built without SQLite; build it where SQLite's headers are "
        "(libsqlite3-dev)");
    return CLI_BAD;
}

int kymo__cli_query_run(struct kymo_capture *capture, const struct kymo_info *info,
                        const char *path, const char *sql, const char *form)
{
    (void)capture, (void)info, (void)path, (void)sql, (void)form;
    return refuse();
}

int kymo__cli_query_schema(void)
{
    return refuse();
}
