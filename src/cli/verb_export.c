/* verb_export.c — kymograph export FILE --to FORMAT: a capture for other programs. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "capture_file.h"
#include "choice.h"
#include "export.h"
#include "handover.h"
#include "interrupt.h"
#include "memory.h"
#include "message.h"
#include "progress.h"
#include "thread_choice.h"
#include "time_part.h"
#include "verb.h"
#include "written.h"

enum {
    OPTION_TO,
    OPTION_OUTPUT,
    OPTION_THREAD,
    OPTION_FROM,
    OPTION_UNTIL,
    OPTION_OF,
    OPTION_NATIVE
};
enum { FORMATS_MOST = 32 };

static int progress(void *arg, uint64_t done, uint64_t all)
{
    kymo__cli_progress_show(arg, done, all);
    return kymo__cli_interrupted() ? -ECANCELED : 0;
}

/* ---- which format, which file ---- */

static char *list_formats(void)
{
    char *list = kymo__cli_format("%s", "");
    const struct kymo_export_format *format;
    for (size_t i = 0; (format = kymo__export_format(i)); i++) {
        char *longer = kymo__cli_format("%s%s%s", list, i > 0 ? ", " : "", format->name);
        kymo__cli_free(list);
        list = longer;
    }
    return list;
}

/* The formats and what they are for, as the help lists them. */
static const struct cli_example *explain_formats(void)
{
    static struct cli_example terms[FORMATS_MOST + 1];
    const struct kymo_export_format *format;
    for (size_t i = 0; i < FORMATS_MOST && (format = kymo__export_format(i)); i++)
        terms[i] = (struct cli_example){format->name, format->purpose};
    return terms;
}

/* The format that is meant, or NULL after a complaint. */
static const struct kymo_export_format *choose_format(const char *to, const char *output)
{
    const struct kymo_export_format *format = to       ? kymo__export_named(to)
                                              : output ? kymo__export_for(output)
                                                       : NULL;
    if (format)
        return format;
    char *list = list_formats();
    if (to)
        kymo__cli_complain("--to %s is not a format kymograph knows; it is one of: %s", to, list);
    else if (output)
        kymo__cli_complain("-o %s does not tell the format; add --to and one of: %s", output, list);
    else
        kymo__cli_complain("which format? Add --to and one of: %s", list);
    kymo__cli_free(list);
    return NULL;
}

/* The name of the output: PATH with another extension. */
static char *default_output(const char *path, const char *extension)
{
    size_t length = strlen(path);
    if (length > 5 && strcmp(path + length - 5, ".kymo") == 0 && path[length - 6] != '/')
        length -= 5;
    return kymo__cli_format("%.*s%s", (int)length, path, extension);
}

/* ---- the verb ---- */

/* Why what is asked for cannot be: it is not the output's fault. */
static int refuse(const char *path, const char *format, int error)
{
    if (error == -ENODATA)
        kymo__cli_complain("%s has no samples; leave --of samples out", path);
    else
        kymo__cli_complain("%s: %s holds calls, and this would be samples; they go into html, "
                           "pprof, speedscope, collapsed, perfetto and chrome",
                           path, format);
    return CLI_BAD;
}

static int export(struct kymo_capture *capture, const char *path, const char *output,
                  struct kymo_export_options *options)
{
    struct cli_progress line = kymo__cli_progress_begin("exporting");
    options->progress = progress;
    options->progress_arg = &line;
    if (strcmp(output, "-") != 0)
        kymo__cli_interrupt_watch();
    int error = kymo_export(capture, output, options);
    kymo__cli_progress_end(&line);
    kymo__cli_interrupt_obey();
    if (error == -ENODATA || error == -ENOTSUP)
        return refuse(path, options->format, error);
    return kymo__cli_written(output, error);
}

/* Formats that the Python package writes; it gets everything as numbers. Returns only when
   that fails. */
static int hand_over(const char *python, const char *path, const char *output,
                     const struct kymo_export_options *options)
{
    char thread[32], from[32], to[32];
    snprintf(thread, sizeof thread, "%" PRId64, options->thread);
    snprintf(from, sizeof from, "%" PRId64, options->from);
    snprintf(to, sizeof to, "%" PRId64, options->to);
    const char *const words[] = {options->format, path, output, thread, from, to, NULL};
    return kymo__cli_hand_over("export-tables", python, words);
}

static int write_out(struct kymo_capture *capture, const struct kymo_info *info,
                     const struct cli_arguments *arguments)
{
    const char *path = arguments->words[0], *output = arguments->value[OPTION_OUTPUT];
    const struct kymo_export_format *format = choose_format(arguments->value[OPTION_TO], output);
    struct cli_part part;
    struct cli_threads threads;
    unsigned of = KYMO_OF_EITHER, native = KYMO_NATIVE_BRIEF;
    if (!format || !kymo__cli_choose_of(arguments->value[OPTION_OF], &of) ||
        !kymo__cli_choose_native(arguments->value[OPTION_NATIVE], &native) ||
        !kymo__cli_part_read(arguments->value[OPTION_FROM], arguments->value[OPTION_UNTIL], "until",
                             &part))
        return CLI_BAD;
    int code = kymo__cli_threads_choose(capture, path, arguments->value[OPTION_THREAD], &threads);
    if (code != CLI_OK)
        return code;
    struct kymo_export_options options = {
        .size = sizeof options,
        .format = format->name,
        .from = part.from > 0 ? kymo__cli_moment(info->start, part.from) : 0,
        .to = kymo__cli_moment(info->start, part.to),
        .thread = threads.only,
        .of = (int)of,
        .native = (int)native,
    };
    char *named = output ? kymo__cli_format("%s", output) : default_output(path, format->extension);
    if (arguments->value[OPTION_THREAD] && threads.only < 0) {
        kymo__cli_complain("%s: several threads are called '%s'; name one by its index", path,
                           arguments->value[OPTION_THREAD]);
        code = CLI_BAD;
    } else if (kymo__cli_same_file(path, named)) {
        kymo__cli_complain("%s is the capture itself; name another file with -o", named);
        code = CLI_BAD;
    } else if (!format->write) {
        code = hand_over(arguments->python, path, named, &options);
    } else {
        code = export(capture, path, named, &options);
    }
    kymo__cli_free(named);
    kymo__cli_threads_free(&threads);
    return code;
}

static int run(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    (void)verb;
    struct kymo_capture *capture;
    struct kymo_info info;
    int code = kymo__cli_capture_open(arguments->words[0], &capture, &info);
    if (code != CLI_OK)
        return code;
    code = write_out(capture, &info, arguments);
    kymo_close(capture);
    return code;
}

static const struct cli_option options[] = {
    [OPTION_TO] = {"to", 0, "FORMAT",
                   "the format, one of those below; without it the name of OUT tells"},
    [OPTION_OUTPUT] = {"output", 'o', "OUT",
                       "the file to write, - for stdout; with .gz at its end compressed. FILE "
                       "with another extension without it"},
    [OPTION_THREAD] = {"thread", 't', "THREAD",
                       "only this thread: its index as in 'kymograph info', tid:N, or its name"},
    [OPTION_FROM] = {"from", 0, "TIME", "from this time after the start: 1.5s, 200ms, 30us, 10ns"},
    [OPTION_UNTIL] = {"until", 0, "TIME", "up to, and without, this time"},
    [OPTION_OF] = {"of", 0, "WHAT",
                   "calls or samples, where a format holds only one of them; without it calls, "
                   "unless there are only samples"},
    [OPTION_NATIVE] = {"native", 0, "WHICH",
                       "native frames of samples: brief, without the interpreter's own; all; none"},
    {0},
};

static const struct cli_example examples[] = {
    {"kymograph export --to chrome trace.kymo",
     "writes trace.json, to be opened in ui.perfetto.dev"},
    {"kymograph export --to html trace.kymo", "writes trace.html, a flame graph for a browser"},
    {"kymograph export --to html --of samples trace.kymo", "the flame graph of its samples"},
    {"kymograph export --to perfetto trace.kymo",
     "writes trace.pftrace: smaller, and opens faster"},
    {"kymograph export --to parquet trace.kymo", "writes tables into the directory trace.parquet"},
    {"kymograph export -o trace.json.gz trace.kymo",
     "compressed; the format follows from the name"},
    {"kymograph export --from 2s --until 2500ms -o part.json trace.kymo", "half a second of it"},
    {"kymograph export --to chrome -o - trace.kymo | jq '.traceEvents | length'", "into a pipe"},
    {0},
};

static const struct cli_example next[] = {
    {"kymograph report trace.kymo", "where the time went, as tables"},
    {0},
};

const struct cli_verb kymo__cli_verb_export = {
    .name = "export",
    .purpose = "write a capture in the format of another program",
    .operands = "FILE",
    .least = 1,
    .most = 1,
    .operand = CLI_FILES,
    .details = "The output appears when it is complete and replaces an older one; when something "
               "goes wrong, or with Ctrl-C, nothing is left behind. The capture is not changed and "
               "can be exported any number of times.",
    .options = options,
    .terms_title = "Formats",
    .terms = explain_formats,
    .examples = examples,
    .next = next,
    .run = run,
};
