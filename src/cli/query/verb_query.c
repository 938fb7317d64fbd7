/* verb_query.c — kymograph query FILE 'SELECT ...': SQL over a capture. */
#include "capture_file.h"
#include "message.h"
#include "query_run.h"
#include "verb.h"

enum { OPTION_TABLES, OPTION_CSV, OPTION_JSON, OPTION_PROCESS };

/* A capture may have tables of its own: its payloads. */
static int list_tables(const struct cli_arguments *arguments)
{
    struct kymo_capture *capture = NULL;
    struct kymo_info info;
    int code = CLI_OK;
    if (arguments->count)
        code = kymo__cli_capture_open(arguments->words[0], &capture, &info);
    if (code == CLI_OK)
        code = kymo__cli_query_schema(capture);
    kymo_close(capture);
    return code;
}

static int run_query(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    kymo__cli_capture_process(arguments->value[OPTION_PROCESS]);
    if (arguments->value[OPTION_TABLES])
        return list_tables(arguments);
    if (arguments->value[OPTION_CSV] && arguments->value[OPTION_JSON]) {
        kymo__cli_complain("--csv and --json exclude each other; use one of them");
        return CLI_BAD;
    }
    if (arguments->count < 2) {
        kymo__cli_complain(
            "%s; usage: kymograph query FILE 'SELECT ...', or --tables to list the tables",
            arguments->count ? "no query given" : "no file given");
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
    [OPTION_TABLES] = {"tables", 0, NULL,
                       "list the tables and their columns; with FILE, also those of its payloads"},
    [OPTION_CSV] = {"csv", 0, NULL, "print rows as CSV, with a header line"},
    [OPTION_JSON] = {"json", 'j', NULL, "print each row as a JSON object on its own line"},
    [OPTION_PROCESS] = CLI_PROCESS_OPTION,
    {0},
};

static const struct cli_example examples[] = {
    {"kymograph query --tables", "the tables and their columns"},
    {"kymograph query --tables trace.kymo", "the same, with the tables of the payloads in it"},
    {"kymograph query trace.kymo 'SELECT name, dur_ns FROM slices ORDER BY dur_ns DESC LIMIT 10'",
     "the longest calls"},
    {"kymograph query trace.kymo 'SELECT count(*) FROM slices WHERE start_ns BETWEEN 2e9 AND 3e9'",
     "the number of calls that began within one second"},
    {"kymograph query --csv trace.kymo 'SELECT * FROM counters' > counters.csv",
     "for a spreadsheet"},
    {0},
};

static const struct cli_example next[] = {
    {"kymograph report trace.kymo", "the usual tables, without SQL"},
    {0},
};

const struct cli_verb kymo__cli_verb_query = {
    .name = "query",
    .purpose = "query a capture with SQL",
    .operands = "FILE 'SELECT ...'",
    .least = 0,
    .most = 2,
    .operand = CLI_FILES,
    .details =
        "The query is one SQLite SELECT over the tables that --tables lists. Rows are produced "
        "while the capture is read; conditions on thread and on start_ns or time_ns limit how "
        "much is read. Times are nanoseconds since the start of the capture. Queries cannot "
        "change the capture or access other files.",
    .options = options,
    .examples = examples,
    .next = next,
    .run = run_query,
};
