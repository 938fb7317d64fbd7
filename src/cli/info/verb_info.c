/* verb_info.c — kymograph info FILE...: what is in a capture and what is missing. */
#include <stdio.h>

#include "capture_file.h"
#include "info.h"
#include "output.h"
#include "verb.h"

enum { OPTION_JSON, OPTION_VERIFY, OPTION_PROCESS };

/* Only the gaps say why records are missing. Reading them is a pass over the whole capture, so do
   it only when there are any. */
static int count_losses(struct cli_facts *facts)
{
    if (facts->info.gaps == 0 && facts->info.damaged_blocks == 0)
        return 0;
    struct kymo_cursor *cursor;
    int error = kymo_cursor_new(facts->capture, NULL, &cursor);
    if (error < 0)
        return error;
    struct kymo_event event = {.size = sizeof event};
    while ((error = kymo_cursor_next(cursor, &event)) > 0) {
        if (event.kind != KYMO_GAP || event.detail == KYMO_GAP_FLIGHT)
            continue; /* expired records are not lost */
        int reason = event.detail < CLI_GAP_REASONS ? event.detail : 0;
        facts->losses[reason].gaps++;
        facts->losses[reason].records += event.id;
    }
    kymo_cursor_free(cursor);
    return error;
}

/* Read every block, then read the capture's facts again. */
static int verify_capture(struct cli_facts *facts)
{
    int64_t damaged = kymo_capture_verify(facts->capture);
    if (damaged < 0)
        return (int)damaged;
    facts->verified = true;
    return kymo_capture_info(facts->capture, &facts->info);
}

static int show_capture(const char *path, const struct cli_arguments *arguments, bool first)
{
    bool as_json = arguments->value[OPTION_JSON] != NULL;
    struct kymo_family family = {0};
    struct cli_facts facts = {.path = path, .family = &family};
    const char *process = arguments->value[OPTION_PROCESS];
    kymo__cli_capture_process(process);
    /* Of a family, show the first process and list the others. */
    int code = process ? kymo__cli_capture_open(path, &facts.capture, &facts.info)
                       : kymo__cli_capture_open_first(path, &family, &facts.capture, &facts.info);
    if (code != CLI_OK)
        return code;
    int error = arguments->value[OPTION_VERIFY] ? verify_capture(&facts) : 0;
    if (error == 0)
        error = count_losses(&facts);
    if (error < 0) {
        code = kymo__cli_capture_broken(path, error);
    } else if (as_json) {
        kymo__cli_info_json(&facts);
    } else {
        if (!first)
            putchar('\n');
        kymo__cli_info_text(&facts);
    }
    if (code == CLI_OK && facts.verified &&
        facts.info.damaged_blocks + facts.info.damaged_bytes + facts.info.unknown_parts > 0)
        code = CLI_NO;
    if (process)
        kymo_close(facts.capture);
    kymo__family_close(&family);
    return code;
}

static int run_info(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    int worst = CLI_OK;
    for (int i = 0; i < arguments->count && kymo__cli_output_works(); i++) {
        /* Go on after a bad file: show the others. */
        int code = show_capture(arguments->words[i], arguments, i == 0);
        worst = code > worst ? code : worst;
    }
    return worst;
}

static const struct cli_option options[] = {
    [OPTION_JSON] = {"json", 'j', NULL, "print one JSON object per file, each on its own line"},
    [OPTION_VERIFY] = {"verify", 0, NULL,
                       "read every block to find all damage; exit with code 1 if there is any, or "
                       "if parts are of a newer version"},
    [OPTION_PROCESS] = {"process", 'p', "PROCESS",
                        "only this process: its pid, its index in the list, or its name"},
    {0},
};

static const struct cli_example examples[] = {
    {"kymograph info trace.kymo", "how it ended, how long it is, its threads, what was lost"},
    {"kymograph info rank*.kymo", "many captures, one after another"},
    {"kymograph info --verify trace.kymo", "check the whole file for damage"},
    {"kymograph info -j trace.kymo | jq .records", "one figure for a script"},
    {0},
};

static const struct cli_example next[] = {
    {"kymograph dump trace.kymo", "the records themselves"},
    {0},
};

const struct cli_verb kymo__cli_verb_info = {
    .name = "info",
    .purpose = "show what a capture contains, how its recording ended, and what is missing",
    .operands = "FILE...",
    .least = 1,
    .most = CLI_ANY,
    .operand = CLI_FILES,
    .details = "A capture can be opened while it is being recorded and after its process was "
               "killed. Records that could not be kept are counted; the lines 'lost' and "
               "'damage' show how many are missing and why. Damage inside a block is found only "
               "when the block is read; --verify reads all blocks. Times in the table of threads "
               "are relative to the first record of the capture.",
    .options = options,
    .examples = examples,
    .next = next,
    .run = run_info,
};
