/* verb_query.c — kymograph query FILE 'SELECT ...': SQL over a capture. */
#include "capture_file.h"
#include "message.h"
#include "query_run.h"
#include "verb.h"

enum { OPTION_TABLES, OPTION_CSV, OPTION_JSON };

static int run(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    if (arguments->value[OPTION_TABLES])
        return kymo__cli_query_schema();
    if (arguments->value[OPTION_CSV] && arguments->value[OPTION_JSON]) {
        kymo__cli_complain("--csv and --json are two forms; choose one");
        return CLI_BAD;
    }
    if (arguments->count < 2) {
        kymo__cli_complain(
            "%s; write kymograph query FILE 'SELECT ...', or --tables to see the tables",
            arguments->count ? "there is no query" : "there is no file");
        return CLI_BAD;
    }
    struct kymo_capture *capture;
    struct kymo_info info;
    int code = kymo__cli_capture_open(arguments->words[0], &capture, &info);
    if (code != CLI_OK)
        return code;
    code = kymo__cli_query_run(capture, &info, arguments->words[0], arguments->words[1],
                               arguments->value[OPTION_CSV]    ? "csv"
                               : arguments->value[OPTION_JSON] ? "json"
                                                               : NULL);
    kymo_close(capture);
    return code;
}

static const struct cli_option options[] = {
    [OPTION_TABLES] = {"tables", 0, NULL, "list the tables and their columns"},
    [OPTION_CSV] = {"csv", 0, NULL, "rows as CSV, with a line of column names"},
    [OPTION_JSON] = {"json", 'j', NULL, "one JSON object per row, each on its own line"},
    {0},
};

static const struct cli_example examples[] = {
    {"kymograph query --tables", "what can be asked for"},
    {"kymograph query trace.kymo 'SELECT name, dur_ns FROM slices ORDER BY dur_ns DESC LIMIT 10'",
     "the longest calls"},
    {"kymograph query trace.kymo 'SELECT count(*) FROM slices WHERE start_ns BETWEEN 2e9 AND 3e9'",
     "what began in one second"},
    {"kymograph query --csv trace.kymo 'SELECT * FROM counters' > counters.csv",
     "for a spreadsheet"},
    {0},
};

static const struct cli_example next[] = {
    {"kymograph report trace.kymo", "the usual questions, answered"},
    {0},
};

const struct cli_verb kymo__cli_verb_query = {
    .name = "query",
    .purpose = "ask a capture anything, in SQL",
    .operands = "FILE 'SELECT ...'",
    .least = 0,
    .most = 2,
    .operand = CLI_FILES,
    .details =
        "The query is one SELECT of SQLite over the tables that --tables lists. Rows are made from "
        "the capture while it is read; conditions on thread and on start_ns or time_ns keep the "
        "rest from being read. Times are nanoseconds since the start of the capture. The capture "
        "is never changed, and nothing else can be reached.",
    .options = options,
    .examples = examples,
    .next = next,
    .run = run,
};
