/* verb_merge.c — kymograph merge A B... -o OUT: merges captures of several processes into one. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "capture_file.h"
#include "clock_words.h"
#include "memory.h"
#include "message.h"
#include "rewriting.h"
#include "units.h"
#include "verb.h"

enum { OPTION_OUTPUT, OPTION_ALIGN, OPTION_FORCE };

static bool read_align(const char *text, enum kymo_align *how)
{
    *how = KYMO__ALIGN_BEST;
    if (!text)
        return true;
    if (strcmp(text, "wall") == 0)
        *how = KYMO__ALIGN_WALL;
    else if (strcmp(text, "start") == 0)
        *how = KYMO__ALIGN_START;
    else {
        kymo__cli_complain("unknown --align %s; choose wall or start", text);
        return false;
    }
    return true;
}

/* What is known about the order of events on different hosts. */
static void complain_error(const struct kymo_order *order)
{
    if (order->hosts) { /* not if --align wall was used on one host */
        char *words = kymo__cli_order_words(order);
        kymo__cli_complain("%s", words);
        kymo__cli_free(words);
    }
}

/* Align the clocks; *SAID describes how. Prints a message and returns false when that is
   impossible. */
static bool align(struct kymo_part *parts, const char *const *paths, int count, enum kymo_align how,
                  const char **said)
{
    struct kymo_alignment found;
    int error = kymo__align(parts, (size_t)count, how, &found);
    if (error < 0 && error != -EDOM) {
        kymo__cli_capture_broken(paths[0], error);
        return false;
    }
    if (error < 0) {
        const char *strange = paths[found.strange];
        if (found.apart == 0)
            kymo__cli_complain("%s and %s are from different machines and do not both know the "
                               "time of day; --align start makes them start together",
                               paths[0], strange);
        else
            kymo__cli_complain("%s and %s are from different machines and %s apart by the time "
                               "of day; --align wall accepts that, --align start makes them "
                               "start together",
                               paths[0], strange, kymo__cli_duration(found.apart).text);
        return false;
    }
    *said = found.start         ? "aligned at their starts"
            : found.wall        ? "aligned by each machine's time of day"
            : found.collectives ? "aligned by collectives"
            : found.pings       ? "aligned by notes in a shared folder"
                                : "one monotonic clock";
    if (found.start)
        kymo__cli_complain("the captures were aligned at their starts; do not compare times "
                           "between them");
    else if (found.wall)
        kymo__cli_complain("captures from different machines or boots were aligned by the time "
                           "of day: times between them are only as accurate as those clocks");
    if (found.wall || found.pings || found.collectives)
        complain_error(&found.order);
    if (found.wall && found.alone)
        kymo__cli_complain("%s is of a child process; what its run may have noted of other "
                           "machines' clocks was not found, because the capture of the run's "
                           "first process is not where it was recorded",
                           paths[found.alone - 1]);
    return true;
}

/* The notes of the result: BASIC, and the relation of each part's clock to the first one's. Free
   them with free_notes. */
static struct kymo_rewrite_note *make_notes(const struct kymo_part *parts, int count,
                                            const struct kymo_rewrite_note *basic)
{
    struct kymo_rewrite_note *notes = kymo__cli_array((size_t)count + 3, sizeof *notes);
    size_t made = 0;
    for (; basic->key; basic++)
        notes[made++] = (struct kymo_rewrite_note){kymo__cli_format("%s", basic->key),
                                                   kymo__cli_format("%s", basic->value)};
    for (int i = 1; i < count; i++)
        if (parts[i].relation.how != KYMO__RELATED_MONOTONIC)
            notes[made++] =
                (struct kymo_rewrite_note){kymo__cli_format("%d.merged_clock", i),
                                           kymo__cli_describe_relation(&parts[i].relation)};
    notes[made] = (struct kymo_rewrite_note){0};
    return notes;
}

static void free_notes(struct kymo_rewrite_note *notes)
{
    for (struct kymo_rewrite_note *note = notes; note->key; note++) {
        kymo__cli_free((char *)note->key);
        kymo__cli_free((char *)note->value);
    }
    kymo__cli_free(notes);
}

static char *list_paths(const char *const *paths, int count)
{
    char *text = kymo__cli_format("%d captures:", count);
    for (int i = 0; i < count; i++) {
        char *longer = kymo__cli_format("%s %s", text, paths[i]);
        kymo__cli_free(text);
        text = longer;
    }
    return text;
}

static int merge_parts(struct kymo_part *parts, const struct cli_arguments *arguments)
{
    enum kymo_align how;
    const char *said;
    if (!read_align(arguments->value[OPTION_ALIGN], &how) ||
        !align(parts, arguments->words, arguments->count, how, &said))
        return CLI_BAD;
    char *from = list_paths(arguments->words, arguments->count);
    const struct kymo_rewrite_note basic[] = {{"merged", from}, {"merged_clocks", said}, {0}};
    struct kymo_rewrite_note *notes = make_notes(parts, arguments->count, basic);
    int code = kymo__cli_rewrite(parts, (size_t)arguments->count, arguments->value[OPTION_OUTPUT],
                                 notes, "merging", arguments->value[OPTION_FORCE] != NULL);
    free_notes(notes);
    kymo__cli_free(from);
    return code;
}

static int refuse_one(const char *path)
{
    kymo__cli_complain("%s has no child processes to merge with; name two or more captures", path);
    return CLI_BAD;
}

static int run_merge(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    if (!kymo__cli_rewrite_allowed(arguments->value[OPTION_OUTPUT], arguments->words,
                                   arguments->count))
        return CLI_BAD;
    struct kymo_part *parts = kymo__cli_array((size_t)arguments->count, sizeof *parts);
    int code = CLI_OK, opened = 0;
    for (; opened < arguments->count && code == CLI_OK; opened++) {
        struct kymo_info info;
        parts[opened] = (struct kymo_part){
            .path = arguments->words[opened], .from = INT64_MIN, .to = INT64_MAX};
        code = kymo__cli_capture_open(arguments->words[opened], &parts[opened].capture, &info);
    }
    if (code != CLI_OK)
        opened--;
    else if (arguments->count == 1 && parts[0].capture->reader->process_count < 2)
        code = refuse_one(arguments->words[0]);
    else
        code = merge_parts(parts, arguments);
    while (opened-- > 0)
        kymo_close(parts[opened].capture);
    kymo__cli_free(parts);
    return code;
}

static const struct cli_option options[] = {
    [OPTION_OUTPUT] = {"output", 'o', "OUT", "the capture to write; replaces an older one"},
    [OPTION_ALIGN] = {"align", 0, "wall|start",
                      "wall: align by the time of day; start: make all start together (default: "
                      "the shared clock on one machine, the time of day between machines)"},
    [OPTION_FORCE] = {"force", 0, NULL, "replace OUT even if it is not a capture"},
    {0},
};

static const struct cli_example examples[] = {
    {"kymograph merge rank0.kymo rank1.kymo -o ranks.kymo", "two processes on one timeline"},
    {"kymograph merge server.kymo -o all.kymo", "a program and its child processes in one file"},
    {"kymograph merge --align start a.kymo b.kymo -o both.kymo", "two runs side by side"},
    {0},
};

static const struct cli_example next[] = {
    {"kymograph info ranks.kymo", "its processes and threads"},
    {"kymograph export --to chrome ranks.kymo", "all processes on a timeline"},
    {0},
};

const struct cli_verb kymo__cli_verb_merge = {
    .name = "merge",
    .purpose = "merge captures of several processes into one",
    .operands = "FILE...",
    .least = 1,
    .most = CLI_ANY,
    .operand = CLI_FILES,
    .details =
        "Captures from one boot of one machine share its monotonic clock and align exactly. "
        "Those from other machines are aligned by what they noted of each other's clocks or by "
        "collectives; otherwise by the time of day, with a warning; if they then do not overlap at "
        "all, the clocks cannot be trusted and --align must choose.\n\n"
        "Each capture becomes a process in the new one, with its own threads, names and ids; one "
        "whose child processes were recorded, all of them. "
        "Where metadata differs, keys are prefixed with the number of their capture, from 0.",
    .options = options,
    .examples = examples,
    .next = next,
    .run = run_merge,
};
