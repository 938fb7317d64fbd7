/* verb_diff.c — kymograph diff A B: what got slower, faster, new or gone between two captures. */
#include <stdint.h>
#include <string.h>

#include "capture_file.h"
#include "choice.h"
#include "comparison.h"
#include "heap_comparison.h"
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
    OPTION_PROCESS,
    OPTION_HTML,
    OPTION_OF,
    OPTION_NATIVE,
    OPTION_FORCE,
    OPTION_MEMORY,
    OPTION_UNFOLD,
};

enum { LIMIT = 15, NODES = 1 << 20 };

static const char *const sorts[] = {
    [CLI_CHANGE_SELF] = "self",
    [CLI_CHANGE_TOTAL] = "total",
    [CLI_CHANGE_CALLS] = "calls",
    [CLI_CHANGE_MEAN] = "mean",
    [CLI_CHANGE_RATIO] = "ratio",
    [CLI_CHANGE_NAME] = "name",
    NULL,
};

static const char *const *values(const struct cli_option *option)
{
    return strcmp(option->name, "sort") == 0 ? sorts : NULL;
}

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

/* What to compare, and which frames to show. */
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

static void free_comparison(struct cli_comparison *c)
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

/* Compare calls, or samples when asked to or when both captures have nothing else. */
static int survey_both(struct cli_comparison *c, const struct wish *wish)
{
    int code = CLI_OK;
    for (int i = 0; i < 2 && wish->of == KYMO_OF_SAMPLES; i++) {
        if (c->info[i].samples)
            continue;
        kymo__cli_complain("%s has no samples; remove --of samples", c->path[i]);
        return CLI_BAD;
    }
    c->of_samples = wish->of == KYMO_OF_SAMPLES;
    for (int i = 0; i < 2 && code == CLI_OK; i++)
        code = survey(c, i, wish);
    if (code != CLI_OK || wish->of != KYMO_OF_EITHER || c->survey[0]->counts.slices ||
        c->survey[1]->counts.slices || !c->info[0].samples || !c->info[1].samples)
        return code;
    free_comparison(c);
    c->of_samples = true;
    for (int i = 0; i < 2 && code == CLI_OK; i++)
        code = survey(c, i, wish);
    return code;
}

static int show_comparison(struct cli_comparison *c, bool as_json, const char *page, bool unfold)
{
    int code = CLI_OK;
    c->apart = !page && !as_json;
    if (kymo__cli_compare_surveys(c, c->apart && !unfold) < 0) {
        kymo__cli_complain("not enough memory to compare the captures");
        kymo__cli_compare_free(c);
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
            kymo__cli_complain(c->of_samples ? "%s: no samples"
                               : c->info[i].samples
                                   ? "%s has only samples, no calls or spans; add --of samples "
                                     "to compare those"
                                   : "%s: no calls or spans",
                               c->path[i]);
    kymo__cli_compare_free(c);
    return code;
}

/* May the page be written to OUTPUT? Prints a message and returns false if not. */
static bool page_allowed(const char *output, bool as_json, const char *const *paths, bool forced)
{
    if (output && as_json) {
        kymo__cli_complain("--html and --json exclude each other; use one of them");
        return false;
    }
    for (int i = 0; output && i < 2; i++) {
        if (kymo__cli_same_file(output, paths[i])) {
            kymo__cli_complain("%s is one of the captures; name another file with --html", output);
            return false;
        }
    }
    return !output || kymo__cli_may_replace(output, forced);
}

/* --of memory is the same as --memory. */
static bool is_of_memory(const struct cli_arguments *arguments)
{
    const char *of = arguments->value[OPTION_OF];
    return of ? strcmp(of, "memory") == 0 : arguments->value[OPTION_MEMORY] != NULL;
}

static int run_memory(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    static const int of_time[] = {OPTION_SORT, OPTION_MIN, OPTION_THREAD, OPTION_HTML,
                                  OPTION_NATIVE};
    bool as_json = arguments->value[OPTION_JSON] != NULL;
    uint64_t limit = as_json ? UINT64_MAX : LIMIT;
    for (size_t i = 0; i < sizeof of_time / sizeof *of_time; i++) {
        if (!arguments->value[of_time[i]])
            continue;
        kymo__cli_complain("--%s works only without --memory", verb->options[of_time[i]].name);
        return CLI_BAD;
    }
    if (!kymo__cli_choose_limit(arguments->value[OPTION_LIMIT], &limit))
        return CLI_BAD;
    return kymo__cli_compare_memory(arguments->words, limit, as_json,
                                    arguments->value[OPTION_UNFOLD] != NULL);
}

static int run_diff(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    kymo__cli_capture_process(arguments->value[OPTION_PROCESS]);
    if (is_of_memory(arguments))
        return run_memory(verb, arguments);
    if (arguments->value[OPTION_MEMORY]) {
        kymo__cli_complain("--of %s works only without --memory", arguments->value[OPTION_OF]);
        return CLI_BAD;
    }
    const char *page = arguments->value[OPTION_HTML];
    bool as_json = arguments->value[OPTION_JSON] != NULL;
    struct cli_comparison c = {
        .path = {arguments->words[0], arguments->words[1]},
        .limit = as_json || page ? UINT64_MAX : LIMIT,
    };
    unsigned sort = CLI_CHANGE_SELF;
    /* Show native frames when the user asks for them. */
    bool unfold = arguments->value[OPTION_UNFOLD] || arguments->value[OPTION_NATIVE];
    struct wish wish = {.thread = arguments->value[OPTION_THREAD]};
    if (!kymo__cli_choose_of(arguments->value[OPTION_OF], &wish.of) ||
        !kymo__cli_choose_native(arguments->value[OPTION_NATIVE], &wish.native) ||
        !kymo__cli_choose("--sort", arguments->value[OPTION_SORT], sorts,
                          sizeof sorts / sizeof *sorts - 1, &sort) ||
        !kymo__cli_choose_limit(arguments->value[OPTION_LIMIT], &c.limit) ||
        !read_least(arguments->value[OPTION_MIN], &c.least) ||
        !page_allowed(page, as_json, c.path, arguments->value[OPTION_FORCE] != NULL))
        return CLI_BAD;
    c.sort = (enum cli_change_sort)sort;
    int code = CLI_OK;
    for (int i = 0; i < 2 && code == CLI_OK; i++)
        code = kymo__cli_capture_open(c.path[i], &c.capture[i], &c.info[i]);
    if (code == CLI_OK)
        code = survey_both(&c, &wish);
    if (code == CLI_OK)
        code = show_comparison(&c, as_json, page, unfold);
    free_comparison(&c);
    for (int i = 0; i < 2; i++)
        kymo_close(c.capture[i]);
    return code;
}

static const struct cli_option options[] = {
    [OPTION_JSON] = {"json", 'j', NULL, "print everything as one JSON object, with all functions"},
    [OPTION_SORT] = {"sort", 's', "KEY",
                     "sort functions by self, total, calls, mean, ratio or name"},
    [OPTION_LIMIT] = {"limit", 'n', "N",
                      "show at most N functions (default: 15; all with --json and --html)"},
    [OPTION_MIN] = {"min", 0, "TIME",
                    "hide functions whose self time changed by less than this, "
                    "such as 1ms"},
    [OPTION_PROCESS] = {"process", 'p', "PROCESS",
                        "only this process of each: its pid, its index as in 'kymograph info', or "
                        "its name"},
    [OPTION_THREAD] = {"thread", 't', "THREAD",
                       "only this thread in both: its index, tid:N, or its name"},
    [OPTION_HTML] = {"html", 0, "OUT",
                     "write an HTML page instead: the table and flame graphs coloured by change; "
                     "- for stdout"},
    [OPTION_OF] = {"of", 0, "calls|samples|memory",
                   "compare calls, samples or memory (default: calls, unless both have only "
                   "samples)"},
    [OPTION_NATIVE] = {"native", 0, "brief|all|none",
                       "native frames of samples: brief hides the interpreter's own; all; none"},
    [OPTION_FORCE] = {"force", 0, NULL, "let --html overwrite a file that kymograph did not write"},
    [OPTION_MEMORY] = {"memory", 'm', NULL,
                       "the same as --of memory: at the peak and at the end, growth first"},
    [OPTION_UNFOLD] = {"unfold", 'u', NULL,
                       "show every function; by default, time inside the standard library, "
                       "installed packages and imports is counted for the call into them. With "
                       "--memory: count memory for the innermost line"},
    {0},
};

static const struct cli_example examples[] = {
    {"kymograph diff before.kymo after.kymo", "what changed, largest change first"},
    {"kymograph diff --min 10ms before.kymo after.kymo", "hide small changes"},
    {"kymograph diff --sort calls before.kymo after.kymo", "what is called more or less often"},
    {"kymograph diff -j before.kymo after.kymo | jq .change_ns", "one figure for a script"},
    {"kymograph diff --of samples before.kymo after.kymo", "compare samples instead of calls"},
    {"kymograph diff --memory before.kymo after.kymo", "what holds more memory than before"},
    {"kymograph diff --html diff.html before.kymo after.kymo", "a page to open or send"},
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
        "Functions are sorted by how much their self time changed, in either direction. Two "
        "functions are the same if their names and files match; line numbers are ignored. Files "
        "match by full path, else by their path within the package, else by file name. Call "
        "paths are the same if all functions on them are.\n\n"
        "RATIO is self time in B divided by self time in A. Times mean the same as in 'kymograph "
        "report', and time inside libraries is counted for the call into them; --unfold and "
        "--native show all functions, and --json and --html always do.\n\n"
        "--memory compares captures recorded with --memory; bytes mean the same as in 'kymograph "
        "report --memory'. Functions are matched by name and file name, lines also by number.",
    .options = options,
    .values = values,
    .examples = examples,
    .next = next,
    .run = run_diff,
};
