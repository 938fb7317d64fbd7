/* verb_diff.c — kymograph diff A B: what got slower, faster, new or gone between two captures. */
#include <stdint.h>
#include <string.h>

#include "capture_file.h"
#include "choice.h"
#include "comparison.h"
#include "message.h"
#include "progress.h"
#include "thread_choice.h"
#include "units.h"
#include "verb.h"
#include "written.h"

enum {
    OPTION_JSON,
    OPTION_SORT,
    OPTION_LIMIT,
    OPTION_MIN,
    OPTION_THREAD,
    OPTION_HTML,
    OPTION_OF,
    OPTION_NATIVE
};

enum { LIMIT = 15, NODES = 1 << 20 };

static const char *const sorts[] = {
    [CLI_CHANGE_SELF] = "self", [CLI_CHANGE_TOTAL] = "total", [CLI_CHANGE_CALLS] = "calls",
    [CLI_CHANGE_MEAN] = "mean", [CLI_CHANGE_RATIO] = "ratio", [CLI_CHANGE_NAME] = "name",
};

static bool read_least(const char *text, kymo_ns *least)
{
    *least = 0;
    if (!text || kymo__cli_read_duration(text, least))
        return true;
    kymo__cli_complain("--min %s is not a time; write --min 1ms", text);
    return false;
}

static int progress(void *arg, uint64_t done, uint64_t all)
{
    kymo__cli_progress_show(arg, done, all);
    return 0;
}

/* What is compared, and which frames of it. */
struct wish {
    const char *thread;
    unsigned of, native;
};

static int survey(struct cli_comparison *c, int side, const struct wish *wish)
{
    struct cli_threads threads;
    int code = kymo__cli_threads_choose(c->capture[side], c->path[side], wish->thread, &threads);
    if (code != CLI_OK)
        return code;
    struct cli_progress line = kymo__cli_progress_begin(side ? "reading the second" : "reading");
    const struct kymo_survey_options options = {
        .from = INT64_MIN,
        .to = INT64_MAX,
        .chosen = threads.chosen,
        .nodes = NODES,
        .progress = progress,
        .progress_arg = &line,
    };
    const struct kymo_samples_options sampled = {
        .tally = {.from = INT64_MIN,
                  .to = INT64_MAX,
                  .chosen = threads.chosen,
                  .progress = progress,
                  .progress_arg = &line},
        .nodes = NODES,
        .native = (int)wish->native,
    };
    int error = c->of_samples ? kymo__samples(c->capture[side], &sampled, &c->samples[side])
                              : kymo__survey(c->capture[side], &options, &c->survey[side]);
    if (error == 0 && c->of_samples)
        c->survey[side] = c->samples[side]->survey;
    kymo__cli_progress_end(&line);
    kymo__cli_threads_free(&threads);
    return error < 0 ? kymo__cli_capture_broken(c->path[side], error) : CLI_OK;
}

static void forget(struct cli_comparison *c)
{
    for (int i = 0; i < 2; i++) {
        if (c->samples[i])
            kymo__samples_free(c->samples[i]);
        else
            kymo__survey_free(c->survey[i]);
        c->samples[i] = NULL;
        c->survey[i] = NULL;
    }
}

/* Calls, or samples when they are asked for or all that both have. */
static int survey_both(struct cli_comparison *c, const struct wish *wish)
{
    int code = CLI_OK;
    for (int i = 0; i < 2 && wish->of == KYMO_OF_SAMPLES; i++) {
        if (c->info[i].samples)
            continue;
        kymo__cli_complain("%s has no samples; leave --of samples out", c->path[i]);
        return CLI_BAD;
    }
    c->of_samples = wish->of == KYMO_OF_SAMPLES;
    for (int i = 0; i < 2 && code == CLI_OK; i++)
        code = survey(c, i, wish);
    if (code != CLI_OK || wish->of != KYMO_OF_EITHER || c->survey[0]->counts.slices ||
        c->survey[1]->counts.slices || !c->info[0].samples || !c->info[1].samples)
        return code;
    forget(c);
    c->of_samples = true;
    for (int i = 0; i < 2 && code == CLI_OK; i++)
        code = survey(c, i, wish);
    return code;
}

static int show(struct cli_comparison *c, bool as_json, const char *page)
{
    int code = CLI_OK;
    if (kymo__diff_init(&c->diff, c->survey[0], c->survey[1]) < 0) {
        kymo__cli_complain("there is not enough memory to compare them");
        return CLI_BAD;
    }
    kymo__cli_compare_arrange(c);
    if (page)
        code = kymo__cli_compare_page(c, page);
    else if (as_json)
        kymo__cli_compare_json(c);
    else
        kymo__cli_compare_text(c);
    for (int i = 0; i < 2 && code == CLI_OK; i++)
        if (c->survey[i]->counts.slices == 0)
            kymo__cli_complain(c->of_samples ? "%s: no samples there"
                               : c->info[i].samples
                                   ? "%s: no calls or spans there, only samples; --of samples "
                                     "compares those"
                                   : "%s: no calls or spans there",
                               c->path[i]);
    kymo__cli_compare_free(c);
    return code;
}

/* May the page be written to OUTPUT? False after a complaint. */
static bool page_allowed(const char *output, bool as_json, const char *const *paths)
{
    if (output && as_json) {
        kymo__cli_complain("--html and --json cannot both be given; leave one out");
        return false;
    }
    for (int i = 0; output && i < 2; i++) {
        if (kymo__cli_same_file(output, paths[i])) {
            kymo__cli_complain("%s is a capture itself; name another file with --html", output);
            return false;
        }
    }
    return true;
}

static int run(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    const char *page = arguments->value[OPTION_HTML];
    bool as_json = arguments->value[OPTION_JSON] != NULL;
    struct cli_comparison c = {
        .path = {arguments->words[0], arguments->words[1]},
        .limit = as_json || page ? UINT64_MAX : LIMIT,
    };
    unsigned sort = CLI_CHANGE_SELF;
    struct wish wish = {.thread = arguments->value[OPTION_THREAD]};
    if (!kymo__cli_choose_of(arguments->value[OPTION_OF], &wish.of) ||
        !kymo__cli_choose_native(arguments->value[OPTION_NATIVE], &wish.native) ||
        !kymo__cli_choose("--sort", arguments->value[OPTION_SORT], sorts,
                          sizeof sorts / sizeof *sorts, &sort) ||
        !kymo__cli_choose_limit(arguments->value[OPTION_LIMIT], &c.limit) ||
        !read_least(arguments->value[OPTION_MIN], &c.least) || !page_allowed(page, as_json, c.path))
        return CLI_BAD;
    c.sort = (enum cli_change_sort)sort;
    int code = CLI_OK;
    for (int i = 0; i < 2 && code == CLI_OK; i++)
        code = kymo__cli_capture_open(c.path[i], &c.capture[i], &c.info[i]);
    if (code == CLI_OK)
        code = survey_both(&c, &wish);
    if (code == CLI_OK)
        code = show(&c, as_json, page);
    forget(&c);
    for (int i = 0; i < 2; i++)
        kymo_close(c.capture[i]);
    return code;
}

static const struct cli_option options[] = {
    [OPTION_JSON] = {"json", 'j', NULL, "one JSON object with everything, all functions in it"},
    [OPTION_SORT] = {"sort", 's', "KEY",
                     "order of the functions: self, total, calls, mean, ratio, name"},
    [OPTION_LIMIT] = {"limit", 'n', "N",
                      "at most N functions; 15 without it, all with --json and --html"},
    [OPTION_MIN] = {"min", 0, "TIME", "only what changed by at least this much self time: 1ms"},
    [OPTION_THREAD] = {"thread", 't', "THREAD",
                       "only this thread of both: its index, tid:N, or its name"},
    [OPTION_HTML] = {"html", 0, "OUT",
                     "write a page for a browser instead: the table and flame graphs coloured by "
                     "change; - for stdout"},
    [OPTION_OF] = {"of", 0, "WHAT",
                   "compare calls or samples; without it calls, unless both have only samples"},
    [OPTION_NATIVE] = {"native", 0, "WHICH",
                       "native frames of samples: brief, without the interpreter's own; all; none"},
    {0},
};

static const struct cli_example examples[] = {
    {"kymograph diff before.kymo after.kymo", "what changed, the greatest change first"},
    {"kymograph diff --min 10ms before.kymo after.kymo", "without what is noise"},
    {"kymograph diff --sort calls before.kymo after.kymo", "what is called more or less often"},
    {"kymograph diff -j before.kymo after.kymo | jq .change_ns", "one figure for a script"},
    {"kymograph diff --of samples before.kymo after.kymo",
     "where they were found, not what they called"},
    {"kymograph diff --html diff.html before.kymo after.kymo", "a page to look at or to send on"},
    {0},
};

static const struct cli_example next[] = {
    {"kymograph report --callers NAME after.kymo", "who calls what got slower"},
    {0},
};

const struct cli_verb kymo__cli_verb_diff = {
    .name = "diff",
    .purpose = "what got slower, faster, new or gone between two captures",
    .operands = "A B",
    .least = 2,
    .most = 2,
    .operand = CLI_FILES,
    .details =
        "Functions are ordered by how much their self time changed, in either direction. They are "
        "the same function when name and file are; the line does not count, and of the file first "
        "all of the path has to be equal, then its place in its package, then its last part. Call "
        "paths are the same when all functions on them are.\n\n"
        "RATIO is self time in B to self time in A. Times are as in 'kymograph report'.",
    .options = options,
    .examples = examples,
    .next = next,
    .run = run,
};
