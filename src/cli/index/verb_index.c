/* verb_index.c — kymograph index FILE: writes summaries for a capture that has none. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "capture_file.h"
#include "index.h"
#include "interrupt.h"
#include "memory.h"
#include "message.h"
#include "progress.h"
#include "units.h"
#include "verb.h"
#include "written.h"

static int show_progress(void *arg, uint64_t done, uint64_t all)
{
    kymo__cli_progress_show(arg, done, all);
    return kymo__cli_interrupted() ? -ECANCELED : 0;
}

static int write_index(struct kymo_capture *capture, const char *path)
{
    struct kymo_index_result result;
    struct cli_progress line = kymo__cli_progress_begin("indexing");
    kymo__cli_interrupt_watch();
    int error = kymo__index_write(capture, path, show_progress, &line, &result);
    kymo__cli_progress_end(&line);
    kymo__cli_interrupt_obey();
    char *index = kymo__cli_format("%s.index", path);
    int code = CLI_BAD;
    if (error == KYMO_EOCCUPIED)
        kymo__cli_complain("%s exists and is not an index; move or rename it", index);
    else
        code = kymo__cli_written(index, error);
    if (code == CLI_OK && !result.summaries)
        kymo__cli_complain("%s is too short to gain from an index", path);
    kymo__cli_free(index);
    return code;
}

static int run_index(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    struct kymo_capture *capture;
    struct kymo_info info;
    const char *path = arguments->words[0];
    int code = kymo__cli_capture_open_plain(path, &capture, &info);
    if (code != CLI_OK)
        return code;
    if (info.ending == KYMO_ENDED_RUNNING) {
        kymo__cli_complain("%s is still being recorded; index it after the recording has ended",
                           path);
        code = CLI_BAD;
    } else {
        code = write_index(capture, path);
    }
    kymo_close(capture);
    return code;
}

static const struct cli_example examples[] = {
    {"kymograph index old.kymo", "writes old.kymo.index"},
    {0},
};

static const struct cli_example next[] = {
    {"kymograph report --from 60s --to 61s old.kymo", "reads that second and little else"},
    {0},
};

const struct cli_verb kymo__cli_verb_index = {
    .name = "index",
    .purpose = "make time windows of an older capture fast",
    .operands = "FILE",
    .least = 1,
    .most = 1,
    .operand = CLI_FILES,
    .details =
        "Captures contain summaries, so that time windows open quickly and long threads are read "
        "on all processor cores. Captures from older versions of kymograph have none; those of a "
        "killed process lack the last ones. 'kymograph index' writes them to FILE.index, which "
        "every verb then uses. Results are the same with and without it.\n\n"
        "An index fits one version of its capture. If the capture is replaced or grows, the "
        "index is ignored, with a warning; run this again or remove the index.",
    .examples = examples,
    .next = next,
    .run = run_index,
};
