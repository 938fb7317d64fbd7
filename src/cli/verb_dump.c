/* verb_dump.c — kymo dump FILE: the records as text or as JSON lines. */
#include <stdint.h>
#include <stdio.h>

#include "capture_file.h"
#include "dump.h"
#include "memory.h"
#include "message.h"
#include "output.h"
#include "units.h"
#include "verb.h"

enum { OPTION_JSON, OPTION_THREAD, OPTION_FROM, OPTION_TO, OPTION_LIMIT, OPTION_ABSOLUTE };

/* What part of the capture is wanted. */
struct part {
    int64_t from, to; /* nanoseconds since the start */
    uint64_t limit;
};

static bool read_time(const char *option, const char *text, int64_t *time)
{
    if (!text || kymo__cli_read_duration(text, time))
        return true;
    kymo__cli_complain("--%s %s is not a time; write 1.5s, 200ms, 30us, 10ns or plain seconds, "
                       "counted from the start of the capture",
                       option, text);
    return false;
}

static bool read_part(const struct cli_arguments *arguments, struct part *part)
{
    *part = (struct part){0, INT64_MAX, UINT64_MAX};
    const char *limit = arguments->value[OPTION_LIMIT];
    if (!read_time("from", arguments->value[OPTION_FROM], &part->from) ||
        !read_time("to", arguments->value[OPTION_TO], &part->to))
        return false;
    if (part->from > part->to) {
        kymo__cli_complain("--from %s is later than --to %s", arguments->value[OPTION_FROM],
                           arguments->value[OPTION_TO]);
        return false;
    }
    if (limit && !kymo__cli_read_number(limit, &part->limit)) {
        kymo__cli_complain("--limit %s is not a number of records; write --limit 100", limit);
        return false;
    }
    return true;
}

static struct kymo_window window_of(const struct cli_dump *dump, const struct part *part)
{
    struct kymo_window window = {
        .size = sizeof window,
        .from = 0,
        .to = INT64_MAX,
        .thread = dump->threads->only,
    };
    if (part->from > 0 && __builtin_add_overflow(dump->info->start, part->from, &window.from))
        window.from = INT64_MAX;
    if (part->to < INT64_MAX && __builtin_add_overflow(dump->info->start, part->to, &window.to))
        window.to = INT64_MAX;
    return window;
}

/* Print what CURSOR gives. Returns a negative code or how it went. */
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
                     const struct part *part, bool as_json)
{
    struct kymo_window window = window_of(dump, part);
    struct kymo_cursor *cursor;
    int result = kymo_cursor_new(capture, &window, &cursor);
    if (result < 0)
        return kymo__cli_capture_broken(path, result);

    dump->depth = kymo__cli_array(dump->threads->count + 1, sizeof *dump->depth);
    if (!as_json)
        kymo__cli_dump_heading(dump);
    result = print_events(dump, cursor, part->limit, as_json);
    kymo__cli_free(dump->depth);
    kymo_cursor_free(cursor);
    if (result < 0)
        return kymo__cli_capture_broken(path, result);
    if (result == LIMITED)
        kymo__cli_complain("%s: there is more; --limit %llu was reached", path,
                           (unsigned long long)part->limit);
    if (result == NOTHING)
        kymo__cli_complain("%s: no records there; the capture has %s and lasts %s", path,
                           kymo__cli_count(dump->info->records, "record", "records").text,
                           kymo__cli_duration(dump->info->end - dump->info->start).text);
    return CLI_OK;
}

static int run(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    struct part part;
    if (!read_part(arguments, &part))
        return CLI_BAD;

    const char *path = arguments->words[0];
    struct kymo_capture *capture;
    struct kymo_info info;
    int code = kymo__cli_capture_open(path, &capture, &info);
    if (code != CLI_OK)
        return code;
    struct cli_threads threads;
    code = kymo__cli_threads_choose(capture, path, arguments->value[OPTION_THREAD], &threads);
    if (code == CLI_OK) {
        struct cli_dump dump = {.info = &info,
                                .threads = &threads,
                                .absolute = arguments->value[OPTION_ABSOLUTE] != NULL};
        code = dump_part(&dump, capture, path, &part, arguments->value[OPTION_JSON] != NULL);
        kymo__cli_threads_free(&threads);
    }
    kymo_close(capture);
    return code;
}

static const struct cli_option options[] = {
    [OPTION_JSON] = {"json", 'j', NULL, "one JSON object per record, each on its own line"},
    [OPTION_THREAD] = {"thread", 't', "THREAD",
                       "only this thread: its index as in 'kymo info', tid:N, or its name"},
    [OPTION_FROM] = {"from", 0, "TIME", "from this time after the start: 1.5s, 200ms, 30us, 10ns"},
    [OPTION_TO] = {"to", 0, "TIME", "up to, and without, this time"},
    [OPTION_LIMIT] = {"limit", 'n', "N", "at most N records"},
    [OPTION_ABSOLUTE] = {"absolute", 'a', NULL,
                         "the time of day instead of the time since the start"},
    {0},
};

static const struct cli_example examples[] = {
    {"kymo dump trace.kymo | less", "everything, in the order of time"},
    {"kymo dump -n 20 trace.kymo", "the first twenty records"},
    {"kymo dump --from 1.5s --to 1600ms trace.kymo", "a tenth of a second in the middle"},
    {"kymo dump -t worker trace.kymo", "the threads called worker"},
    {"kymo dump -j trace.kymo | jq -c 'select(.kind == \"gap\")'", "where records are missing"},
    {0},
};

static const struct cli_example next[] = {
    {"kymo info trace.kymo", "the totals, and the threads with their indices"},
    {0},
};

const struct cli_verb kymo__cli_verb_dump = {
    .name = "dump",
    .purpose = "print the records of a capture",
    .operands = "FILE",
    .least = 1,
    .most = 1,
    .operand = CLI_FILES,
    .details = "One line per record: time since the start of the capture, thread, kind, and the "
               "name indented by the spans open on its thread. Only the part asked for is read, "
               "so a window of a large capture is quick.",
    .options = options,
    .examples = examples,
    .next = next,
    .run = run,
};
