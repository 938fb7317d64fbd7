/* query_none.c — the verb `query` when kymograph was built without SQLite. */
#include "message.h"
#include "query_run.h"
#include "verb.h"

static int refuse_query(void)
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
    return refuse_query();
}

int kymo__cli_query_schema(const struct kymo_capture *capture)
{
    (void)capture;
    return refuse_query();
}
