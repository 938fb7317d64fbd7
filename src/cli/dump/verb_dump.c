/* verb_dump.c — kymograph dump FILE: prints the records as text or as JSON lines. */
#include <stdint.h>
#include <stdio.h>

#include "capture_file.h"
#include "dump.h"
#include "memory.h"
#include "message.h"
#include "output.h"
#include "time_part.h"
#include "units.h"
#include "verb.h"

enum {
    OPTION_JSON,
    OPTION_THREAD,
    OPTION_PROCESS,
    OPTION_FROM,
    OPTION_TO,
    OPTION_LIMIT,
    OPTION_ABSOLUTE
};

static bool read_limit(const char *limit, uint64_t *number)
{
    *number = UINT64_MAX;
    if (!limit || kymo__cli_read_number(limit, number))
        return true;
    kymo__cli_complain("--limit %s is not a number of records; write --limit 100", limit);
    return false;
}

static struct kymo_window window_of(const struct cli_dump *dump, const struct cli_part *part)
{
    return (struct kymo_window){
        .size = sizeof(struct kymo_window),
        .from = part->from > 0 ? kymo__cli_moment(dump->info->start, part->from) : 0,
        .to = kymo__cli_moment(dump->info->start, part->to),
        .thread = dump->threads->only,
    };
}

/* Print the events of CURSOR. Returns a negative code, or how the loop ended. */
enum { DONE, NOTHING, LIMITED };
static int print_events(struct cli_dump *dump, struct kymo_cursor *cursor, uint64_t limit,
                        bool as_json)
{
    struct kymo_event event = {.size = sizeof event};
    uint64_t printed = 0;
    int more;
    while ((more = kymo_cursor_next(cursor, &event)) > 0 && kymo__cli_output_works()) {
        if (!dump->threads->chosen[kymo__cli_threads_slot(dump->threads, event.thread)])
            continue;
        if (printed++ == limit)
            return LIMITED;
        if (as_json)
            kymo__cli_dump_json(dump, &event);
        else
            kymo__cli_dump_text(dump, &event);
    }
    return more < 0 ? more : printed > 0 ? DONE : NOTHING;
}

static int dump_part(struct cli_dump *dump, struct kymo_capture *capture, const char *path,
                     const struct cli_part *part, uint64_t limit, bool as_json)
{
    struct kymo_window window = window_of(dump, part);
    struct kymo_cursor *cursor;
    int result = kymo_cursor_new(capture, &window, &cursor);
    if (result < 0)
        return kymo__cli_capture_broken(path, result);

    dump->depth = kymo__cli_array(dump->threads->count + 1, sizeof *dump->depth);
    if (!as_json)
        kymo__cli_dump_heading(dump);
    result = print_events(dump, cursor, limit, as_json);
    kymo__cli_free(dump->depth);
    kymo_cursor_free(cursor);
    if (result < 0)
        return kymo__cli_capture_broken(path, result);
    if (result == LIMITED)
        kymo__cli_complain("%s: stopped after %llu records (--limit); there are more", path,
                           (unsigned long long)limit);
    if (result == NOTHING)
        kymo__cli_complain("%s: no records match; the capture has %s and lasts %s", path,
                           kymo__cli_count(dump->info->records, "record", "records").text,
                           kymo__cli_duration(dump->info->end - dump->info->start).text);
    return CLI_OK;
}

static int run_dump(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    struct cli_part part;
    uint64_t limit;
    if (!kymo__cli_part_read(arguments->value[OPTION_FROM], arguments->value[OPTION_TO], "to",
                             &part) ||
        !read_limit(arguments->value[OPTION_LIMIT], &limit))
        return CLI_BAD;

    const char *path = arguments->words[0];
    struct kymo_capture *capture;
    struct kymo_info info;
    kymo__cli_capture_process(arguments->value[OPTION_PROCESS]);
    int code = kymo__cli_capture_open(path, &capture, &info);
    if (code != CLI_OK)
        return code;
    struct cli_threads threads;
    code = kymo__cli_threads_choose(capture, path, arguments->value[OPTION_THREAD], &threads);
    if (code == CLI_OK) {
        struct cli_dump dump = {.capture = capture,
                                .info = &info,
                                .threads = &threads,
                                .absolute = arguments->value[OPTION_ABSOLUTE] != NULL};
        code = dump_part(&dump, capture, path, &part, limit, arguments->value[OPTION_JSON] != NULL);
        kymo__cli_threads_free(&threads);
    }
    kymo_close(capture);
    return code;
}

static const struct cli_option options[] = {
    [OPTION_JSON] = {"json", 'j', NULL, "print each record as a JSON object on its own line"},
    [OPTION_THREAD] = CLI_THREAD_OPTION,
    [OPTION_PROCESS] = CLI_PROCESS_OPTION,
    [OPTION_FROM] = CLI_FROM_OPTION,
    [OPTION_TO] = {"to", 0, "TIME", "stop before this time"},
    [OPTION_LIMIT] = {"limit", 'n', "N", "print at most N records"},
    [OPTION_ABSOLUTE] = {"absolute", 'a', NULL,
                         "show the time of day instead of the time since the start"},
    {0},
};

static const struct cli_example examples[] = {
    {"kymograph dump trace.kymo | less", "everything, in time order"},
    {"kymograph dump -n 20 trace.kymo", "the first twenty records"},
    {"kymograph dump --from 1.5s --to 1600ms trace.kymo", "a tenth of a second in the middle"},
    {"kymograph dump -t worker trace.kymo", "the threads called worker"},
    {"kymograph dump -j trace.kymo | jq -c 'select(.kind == \"gap\")'",
     "where records are missing"},
    {0},
};

static const struct cli_example next[] = {
    {"kymograph info trace.kymo", "the totals, and the threads with their indices"},
    {0},
};

const struct cli_verb kymo__cli_verb_dump = {
    .name = "dump",
    .purpose = "print the records of a capture",
    .operands = "FILE",
    .least = 1,
    .most = 1,
    .operand = CLI_FILES,
    .details = "Prints one line per record: time since the start of the capture, thread, kind, "
               "and the name indented by the spans open on its thread. Only the requested part "
               "is read, so a window of a large capture is fast.",
    .options = options,
    .examples = examples,
    .next = next,
    .run = run_dump,
};
