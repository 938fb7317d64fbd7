/* verb_merge.c — kymograph merge A B... -o OUT: captures of several processes as one. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "capture_file.h"
#include "memory.h"
#include "message.h"
#include "rewriting.h"
#include "units.h"
#include "verb.h"

enum { OPTION_OUTPUT, OPTION_ALIGN };

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
        kymo__cli_complain("--align %s is not known; it is one of wall, start", text);
        return false;
    }
    return true;
}

/* Bring the clocks together and say how it was done. False after a complaint. */
static bool align(struct kymo_part *parts, const char *const *paths, int count, enum kymo_align how,
                  const char **said)
{
    struct kymo_alignment found;
    if (kymo__align(parts, (size_t)count, how, &found) < 0) {
        const char *strange = paths[found.strange];
        if (found.apart == 0)
            kymo__cli_complain("%s and %s are of different machines and have no time of day in "
                               "common; --align start lets them begin at once",
                               paths[0], strange);
        else
            kymo__cli_complain("%s and %s are of different machines and by the time of day %s "
                               "apart; --align wall accepts that, --align start lets them begin "
                               "at once",
                               paths[0], strange, kymo__cli_duration(found.apart).text);
        return false;
    }
    *said = found.start  ? "made to begin at once"
            : found.wall ? "by the time of day of each machine"
                         : "one monotonic clock";
    if (found.start)
        kymo__cli_complain("the captures were made to begin at once; times across them mean "
                           "nothing more");
    else if (found.wall)
        kymo__cli_complain("captures of different machines or boots were put together by the time "
                           "of day: across them times are as right as those clocks were");
    return true;
}

static char *list(const char *const *paths, int count)
{
    char *text = kymo__cli_format("%d captures:", count);
    for (int i = 0; i < count; i++) {
        char *longer = kymo__cli_format("%s %s", text, paths[i]);
        kymo__cli_free(text);
        text = longer;
    }
    return text;
}

static int merge(struct kymo_part *parts, const struct cli_arguments *arguments)
{
    enum kymo_align how;
    const char *said;
    if (!read_align(arguments->value[OPTION_ALIGN], &how) ||
        !align(parts, arguments->words, arguments->count, how, &said))
        return CLI_BAD;
    char *from = list(arguments->words, arguments->count);
    const struct kymo_rewrite_note notes[] = {{"merged", from}, {"merged_clocks", said}, {0}};
    int code = kymo__cli_rewrite(parts, (size_t)arguments->count, arguments->value[OPTION_OUTPUT],
                                 notes, "merging");
    kymo__cli_free(from);
    return code;
}

static int run(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    if (!kymo__cli_rewrite_allowed(arguments->value[OPTION_OUTPUT], arguments->words,
                                   arguments->count))
        return CLI_BAD;
    struct kymo_part *parts = kymo__cli_array((size_t)arguments->count, sizeof *parts);
    int code = CLI_OK, opened = 0;
    for (; opened < arguments->count && code == CLI_OK; opened++) {
        struct kymo_info info;
        parts[opened] = (struct kymo_part){.from = INT64_MIN, .to = INT64_MAX};
        code = kymo__cli_capture_open(arguments->words[opened], &parts[opened].capture, &info);
    }
    if (code == CLI_OK)
        code = merge(parts, arguments);
    else
        opened--;
    while (opened-- > 0)
        kymo_close(parts[opened].capture);
    kymo__cli_free(parts);
    return code;
}

static const struct cli_option options[] = {
    [OPTION_OUTPUT] = {"output", 'o', "OUT", "the capture to write; an older one is replaced"},
    [OPTION_ALIGN] = {"align", 0, "HOW",
                      "wall: by the time of day; start: all begin at once. Without it one clock "
                      "where there is one, and the time of day between machines"},
    {0},
};

static const struct cli_example examples[] = {
    {"kymograph merge rank0.kymo rank1.kymo -o ranks.kymo", "two processes on one timeline"},
    {"kymograph merge --align start a.kymo b.kymo -o both.kymo", "two runs beside each other"},
    {0},
};

static const struct cli_example next[] = {
    {"kymograph info ranks.kymo", "its processes and threads"},
    {"kymograph export --to chrome ranks.kymo", "all of them on a timeline"},
    {0},
};

const struct cli_verb kymo__cli_verb_merge = {
    .name = "merge",
    .purpose = "captures of several processes as one",
    .operands = "FILE...",
    .least = 2,
    .most = CLI_ANY,
    .operand = CLI_FILES,
    .details =
        "Captures of one boot of one machine share its monotonic clock and fit together exactly. "
        "Those of other machines are put in by the time of day, which is said; if by that they do "
        "not overlap at all the clocks cannot be trusted, and --align has to say what is wanted.\n\n"
        "Every capture becomes a process of the new one, with threads, names and ids of its own. "
        "Metadata that differs gets the number of its capture, from 0, before its key.",
    .options = options,
    .examples = examples,
    .next = next,
    .run = run,
};
