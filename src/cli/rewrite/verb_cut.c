/* verb_cut.c — kymograph cut FILE -o OUT: writes a part of a capture to a new capture. */
#include <stdint.h>

#include "capture_file.h"
#include "memory.h"
#include "message.h"
#include "naming.h"
#include "rewriting.h"
#include "thread_choice.h"
#include "time_part.h"
#include "units.h"
#include "verb.h"

enum {
    OPTION_OUTPUT,
    OPTION_FROM,
    OPTION_UNTIL,
    OPTION_TO,
    OPTION_THREAD,
    OPTION_PROCESS,
    OPTION_FORCE
};

/* Describe where the new capture comes from. */
static char *describe_part(const char *path, const struct kymo_info *info,
                           const struct cli_part *part)
{
    int64_t length = info->end - info->start;
    return kymo__cli_format("%s to %s of %s, which ended: %s", kymo__cli_duration(part->from).text,
                            kymo__cli_duration(part->to < length ? part->to : length).text, path,
                            kymo__cli_name_ending(info->ending).phrase);
}

static int cut_capture(struct kymo_capture *capture, const struct kymo_info *info,
                       const struct cli_part *part, const struct cli_arguments *arguments)
{
    const char *path = arguments->words[0];
    struct cli_threads threads;
    if (part->from > info->end - info->start) {
        kymo__cli_complain("%s: --from %s is after its end; it lasts %s", path,
                           arguments->value[OPTION_FROM],
                           kymo__cli_duration(info->end - info->start).text);
        return CLI_BAD;
    }
    int code = kymo__cli_threads_choose(capture, path, arguments->value[OPTION_THREAD], &threads);
    if (code != CLI_OK)
        return code;
    code = kymo__cli_threads_of_process(capture, path, arguments->value[OPTION_PROCESS], &threads);
    if (code != CLI_OK) {
        kymo__cli_threads_free(&threads);
        return code;
    }
    char *note = describe_part(path, info, part);
    const struct kymo_rewrite_note notes[] = {{"cut", note}, {0}};
    const struct kymo_part chosen = {
        .capture = capture,
        .from = part->from > 0 ? kymo__cli_moment(info->start, part->from) : INT64_MIN,
        .to = kymo__cli_moment(info->start, part->to),
        .chosen = threads.chosen,
    };
    code = kymo__cli_rewrite(&chosen, 1, arguments->value[OPTION_OUTPUT], notes, "cutting",
                             arguments->value[OPTION_FORCE] != NULL);
    kymo__cli_free(note);
    kymo__cli_threads_free(&threads);
    return code;
}

static int run_cut(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    struct cli_part part;
    struct kymo_capture *capture;
    struct kymo_info info;
    if (!kymo__cli_part_read_either(arguments->value[OPTION_FROM], arguments->value[OPTION_TO],
                                    arguments->value[OPTION_UNTIL], &part) ||
        !kymo__cli_rewrite_allowed(arguments->value[OPTION_OUTPUT], arguments->words,
                                   arguments->count))
        return CLI_BAD;
    int code = kymo__cli_capture_open(arguments->words[0], &capture, &info);
    if (code != CLI_OK)
        return code;
    code = cut_capture(capture, &info, &part, arguments);
    kymo_close(capture);
    return code;
}

static const struct cli_option options[] = {
    [OPTION_OUTPUT] = {"output", 'o', "OUT", "the capture to write; replaces an older one"},
    [OPTION_FROM] = CLI_FROM_OPTION,
    [OPTION_UNTIL] = {"until", 0, "TIME", "stop before this time"},
    [OPTION_TO] = {"to", 0, "TIME", "the same as --until"},
    [OPTION_THREAD] = CLI_THREAD_OPTION,
    [OPTION_PROCESS] = {"process", 'p', "PROCESS",
                        "only this process of a merged capture: its index, pid:N, or its name"},
    [OPTION_FORCE] = {"force", 0, NULL, "replace OUT even if it is not a capture"},
    {0},
};

static const struct cli_example examples[] = {
    {"kymograph cut --from 10s --until 12s -o part.kymo trace.kymo", "two seconds of a capture"},
    {"kymograph cut -t worker -o worker.kymo trace.kymo", "only the threads called worker"},
    {"kymograph cut -p 3 -o rank3.kymo ranks.kymo", "one process of a merged capture"},
    {0},
};

static const struct cli_example next[] = {
    {"kymograph report part.kymo", "the same as 'kymograph report --from 10s --to 12s trace.kymo'"},
    {0},
};

const struct cli_verb kymo__cli_verb_cut = {
    .name = "cut",
    .purpose = "write a part of a capture to a new capture",
    .operands = "FILE",
    .least = 1,
    .most = 1,
    .operand = CLI_FILES,
    .details =
        "The new capture contains the chosen time and threads, and the names they need. Calls "
        "open at its start are kept as open calls, so that a report on it equals a report on "
        "that part of FILE. Its times are those of FILE, in nanoseconds. The file appears only "
        "when it is complete; on an error or Ctrl-C nothing is left behind.",
    .options = options,
    .examples = examples,
    .next = next,
    .run = run_cut,
};
