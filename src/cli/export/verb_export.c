/* verb_export.c — kymograph export FILE --to FORMAT: converts a capture for other programs. */
#include <errno.h>
#include <inttypes.h>
#include <kymo/heap.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "capture_file.h"
#include "choice.h"
#include "export.h"
#include "formats.h"
#include "handover.h"
#include "heapview.h"
#include "interrupt.h"
#include "memory.h"
#include "message.h"
#include "outfile.h"
#include "progress.h"
#include "thread_choice.h"
#include "time_part.h"
#include "units.h"
#include "verb.h"
#include "written.h"

enum {
    OPTION_TO,
    OPTION_OUTPUT,
    OPTION_THREAD,
    OPTION_PROCESS,
    OPTION_FROM,
    OPTION_UNTIL,
    OPTION_OF,
    OPTION_NATIVE,
    OPTION_MEMORY,
    OPTION_AT,
    OPTION_ENTRIES,
    OPTION_SIZE,
    OPTION_PART,
    OPTION_FORCE,
    OPTION_QUIET
};
static int progress(void *arg, uint64_t done, uint64_t all)
{
    kymo__cli_progress_show(arg, done, all);
    return kymo__cli_interrupted() ? -ECANCELED : 0;
}

/* Explain why the capture itself cannot be exported as requested. */
static int refuse_export(const struct kymo_capture *capture, const char *path, const char *format,
                         int of, int error)
{
    if (error == -ENODATA && of != KYMO_OF_SAMPLES && kymo__heap_mode(capture) == KYMO_HEAP_LIVE) {
        kymo__cli_complain("%s has no snapshot before that time; 'kymograph report --memory' lists "
                           "them",
                           path);
        return CLI_BAD;
    }
    if (error == -ENODATA && of != KYMO_OF_SAMPLES)
        return kymo__cli_capture_no_memory(path, capture);
    if (error == -ENODATA)
        kymo__cli_complain("%s has no samples; remove --of samples", path);
    else if (of == KYMO_OF_MEMORY || (of == KYMO_OF_EITHER && kymo__may_have_heap(capture)))
        kymo__cli_complain("%s: %s cannot hold memory; export it to html, pprof, collapsed, "
                           "snapshot or timeline",
                           path, format);
    else
        kymo__cli_complain("%s: %s cannot hold samples; export them to html, pprof, speedscope, "
                           "collapsed, perfetto or chrome",
                           path, format);
    return CLI_BAD;
}

static int export(struct kymo_capture *capture, const char *path, const char *output,
                  struct kymo_export_options *options, bool quiet)
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
        return refuse_export(capture, path, options->format, options->of, error);
    return quiet && error == 0 ? CLI_OK : kymo__cli_written(output, error);
}

/* Restrict the permissions of new files to those of CAPTURE. */
static void restrict_to(const struct kymo_capture *capture)
{
    mode_t mode = kymo__outfile_mode_of(capture->reader->fd);
    umask((mode & S_IRGRP ? 0020 : 0070) | (mode & S_IROTH ? 0002 : 0007));
}

/* Hand over to the Python package, which writes this format and gets all choices as numbers.
   Returns only on failure. */
static int hand_over(const struct cli_arguments *arguments, const char *path, const char *output,
                     const struct kymo_export_options *options)
{
    char thread[32], from[32], to[32];
    snprintf(thread, sizeof thread, "%" PRId64, options->thread);
    snprintf(from, sizeof from, "%" PRId64, options->from);
    snprintf(to, sizeof to, "%" PRId64, options->to);
    const char *const words[] = {
        options->format, path, output, thread, from, to, arguments->value[OPTION_PROCESS], NULL};
    return kymo__cli_hand_over("export-tables", arguments->python, words);
}

/* Execution traces consist of operators. Returns false after a message if CAPTURE has none. */
static bool has_operators(const struct kymo_capture *capture, const char *path, const char *format)
{
    const struct kymo_reader *r = capture->reader;
    if (strcmp(format, "et") != 0 && strcmp(format, "chakra") != 0)
        return true;
    for (uint32_t key = 1; key < r->key_count; key++)
        if (r->keys[key].class == KYMO_CLASS_OPERATOR)
            return true;
    kymo__cli_complain("%s has no operators: the program called none, or they were not recorded "
                       "(--ops)",
                       path);
    return false;
}

/* Does FORMAT show who held memory at one moment? The others have its whole course. */
static bool has_moment(const char *format)
{
    return strcmp(format, "html") == 0 || strcmp(format, "collapsed") == 0 ||
           strcmp(format, "pprof") == 0;
}

/* Read which memory is wanted: alive at the peak, the end, or a time. */
static bool choose_memory(const struct cli_arguments *arguments, const struct kymo_info *info,
                          struct kymo_export_options *options)
{
    static const int of_time[] = {OPTION_THREAD, OPTION_FROM, OPTION_UNTIL};
    static const char *const names[] = {"thread", "from", "until"};
    const char *at = arguments->value[OPTION_AT], *entries = arguments->value[OPTION_ENTRIES];
    struct cli_part part;
    bool memory = arguments->value[OPTION_MEMORY] || options->of == KYMO_OF_MEMORY;
    if (memory && options->of != KYMO_OF_MEMORY && options->of != KYMO_OF_EITHER) {
        kymo__cli_complain("--of %s works only without --memory", arguments->value[OPTION_OF]);
        return false;
    }
    if (memory)
        options->of = KYMO_OF_MEMORY;
    for (size_t i = 0; memory && i < sizeof names / sizeof *names; i++)
        if (arguments->value[of_time[i]]) {
            kymo__cli_complain("--%s works only without --memory", names[i]);
            return false;
        }
    if (at && !memory) {
        kymo__cli_complain("--at works only with --memory");
        return false;
    }
    if (at && !has_moment(options->format)) {
        kymo__cli_complain("--at works only with --to html, collapsed or pprof");
        return false;
    }
    if (entries && !kymo__cli_read_number(entries, &options->entries)) {
        kymo__cli_complain("--entries %s is not a number; write --entries 1000000", entries);
        return false;
    }
    if (!at || strcmp(at, "peak") == 0)
        return true;
    options->set = strcmp(at, "end") == 0 ? KYMO_HEAP_AT_END : KYMO_HEAP_AT_TIME;
    if (options->set == KYMO_HEAP_AT_END)
        return true;
    if (!kymo__cli_part_read(NULL, at, "at", &part))
        return false;
    options->at = kymo__cli_moment(info->start, part.to);
    return true;
}

/* Read how large a page may be. */
static bool choose_size(const struct cli_arguments *arguments, const char *format,
                        struct kymo_export_options *options)
{
    const char *size = arguments->value[OPTION_SIZE];
    uint64_t megabytes = 0;
    if (size && strcmp(format, "html") != 0) {
        kymo__cli_complain("--size works only with --to html");
        return false;
    }
    if (size && (!kymo__cli_read_number(size, &megabytes) || !megabytes || megabytes > 500)) {
        kymo__cli_complain("--size takes a number of megabytes from 1 to 500, not '%s'", size);
        return false;
    }
    options->bytes = megabytes << 20;
    return true;
}

static int write_out(struct kymo_capture *capture, const struct kymo_info *info,
                     const struct cli_arguments *arguments)
{
    const char *path = arguments->words[0], *output = arguments->value[OPTION_OUTPUT];
    const struct kymo_export_format *format =
        kymo__cli_format_choose(arguments->value[OPTION_TO], output);
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
    if (!choose_memory(arguments, info, &options) ||
        !choose_size(arguments, format->name, &options)) {
        kymo__cli_threads_free(&threads);
        return CLI_BAD;
    }
    char *named =
        output ? kymo__cli_format("%s", output) : kymo__cli_format_output(path, format->extension);
    if (arguments->value[OPTION_THREAD] && threads.only < 0) {
        kymo__cli_complain("%s: several threads are called '%s'; choose one by its index", path,
                           arguments->value[OPTION_THREAD]);
        code = CLI_BAD;
    } else if (kymo__cli_same_file(path, named)) {
        kymo__cli_complain("%s is the capture itself; name another file with -o", named);
        code = CLI_BAD;
    } else if (!has_operators(capture, path, format->name)) {
        code = CLI_NO; /* trying again would not help: `kymograph run` does not suggest it */
    } else if (format->write && /* the Python writer checks what it replaces */
               !kymo__cli_may_replace(named, arguments->value[OPTION_FORCE] != NULL)) {
        code = CLI_BAD;
    } else if (!format->write) {
        restrict_to(capture);
        code = hand_over(arguments, path, named, &options);
    } else {
        code = export(capture, path, named, &options, arguments->value[OPTION_QUIET] != NULL);
    }
    kymo__cli_free(named);
    kymo__cli_threads_free(&threads);
    return code;
}

/* Are all captures in a directory to be exported? Only Parquet can hold them. */
static bool is_of_directory(const struct cli_arguments *arguments)
{
    const char *to = arguments->value[OPTION_TO], *output = arguments->value[OPTION_OUTPUT];
    size_t length = output ? strlen(output) : 0;
    bool named = length > 8 && strcmp(output + length - 8, ".parquet") == 0;
    struct stat file;
    return (to ? strcmp(to, "parquet") == 0 : named) && stat(arguments->words[0], &file) == 0 &&
           S_ISDIR(file.st_mode);
}

/* Export a directory of captures as one dataset: the Python package does. Returns only on
   failure. */
static int export_directory(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    const char *folder = arguments->words[0], *output = arguments->value[OPTION_OUTPUT];
    for (int i = 0; verb->options[i].name; i++)
        if (arguments->value[i] && i != OPTION_TO && i != OPTION_OUTPUT && i != OPTION_PART &&
            i != OPTION_QUIET) {
            kymo__cli_complain("--%s works with one capture; %s is a directory",
                               verb->options[i].name, folder);
            return CLI_BAD;
        }
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    char *named = output ? kymo__cli_format("%s", output)
                         : kymo__cli_format("%.*s.parquet", (int)length, folder);
    const char *const words[] = {"parquet", folder, named, arguments->value[OPTION_PART], NULL};
    int code = kymo__cli_hand_over("export-dataset", arguments->python, words);
    kymo__cli_free(named);
    return code;
}

static int run_export(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    if (is_of_directory(arguments))
        return export_directory(verb, arguments);
    if (arguments->value[OPTION_PART]) {
        kymo__cli_complain("--part works only with a directory of captures and --to parquet");
        return CLI_BAD;
    }
    struct kymo_capture *capture;
    struct kymo_info info;
    kymo__cli_capture_process(arguments->value[OPTION_PROCESS]);
    int code = kymo__cli_capture_open(arguments->words[0], &capture, &info);
    if (code != CLI_OK)
        return code;
    code = write_out(capture, &info, arguments);
    kymo_close(capture);
    return code;
}

static const struct cli_option options[] = {
    [OPTION_TO] = {"to", 0, "FORMAT",
                   "the output format, see below (default: chosen by the extension of OUT)"},
    [OPTION_OUTPUT] = {"output", 'o', "OUT",
                       "the file to write, compressed if it ends in .gz; - for stdout (default: "
                       "FILE with the format's extension)"},
    [OPTION_THREAD] = CLI_THREAD_OPTION,
    [OPTION_PROCESS] = CLI_PROCESS_OPTION,
    [OPTION_FROM] = CLI_FROM_OPTION,
    [OPTION_UNTIL] = {"until", 0, "TIME", "stop before this time"},
    [OPTION_OF] = {"of", 0, "calls|samples|memory",
                   "export calls, samples or memory, for formats that hold only one of them "
                   "(default: calls, unless there are none)"},
    [OPTION_NATIVE] = {"native", 0, "brief|all|none",
                       "native frames of samples: brief hides the interpreter's own; all; none"},
    [OPTION_MEMORY] = {"memory", 'm', NULL,
                       "the same as --of memory: who held it, if it was recorded; snapshot and "
                       "timeline always do"},
    [OPTION_AT] = {"at", 0, "peak|end|TIME",
                   "with --memory: what was alive then (default: at the peak)"},
    [OPTION_ENTRIES] = {"entries", 0, "N",
                        "snapshot: most entries; the smallest and shortest-lived allocations are "
                        "left out (default: 200000); collapsed: most lines, the smallest paths "
                        "are summed up (default: as many as fit into 64 MiB)"},
    [OPTION_SIZE] = {"size", 0, "MB",
                     "html: how large the page may be; if the timeline does not fit, the shortest "
                     "calls are shown only together (default: 20)"},
    [OPTION_PART] = {"part", 0, "K/N",
                     "of a directory: only every Nth capture, beginning with number K, from 0 on; "
                     "for jobs that share the work"},
    [OPTION_FORCE] = {"force", 0, NULL, "overwrite a file that kymograph did not write"},
    [OPTION_QUIET] = {"quiet", 'q', NULL, "do not report what was written"},
    {0},
};

static const struct cli_example examples[] = {
    {"kymograph export --to chrome trace.kymo", "writes trace.json; open it in ui.perfetto.dev"},
    {"kymograph export --to html trace.kymo",
     "writes trace.html, a page with a flame graph and the timeline"},
    {"kymograph export --to html --of samples trace.kymo", "a flame graph of its samples"},
    {"kymograph export --to perfetto trace.kymo",
     "writes trace.pftrace: smaller, and opens faster"},
    {"kymograph export --to parquet trace.kymo", "writes tables into the directory trace.parquet"},
    {"kymograph export --to parquet -o /data/run7 /shared/run7",
     "one dataset of all captures in a directory"},
    {"kymograph export -o trace.json.gz trace.kymo",
     "compressed; the format is chosen by the name"},
    {"kymograph export --to snapshot trace.kymo",
     "writes trace.pickle; drop it on PyTorch's memory viewer"},
    {"kymograph export --memory --to html trace.kymo", "a flame graph of memory at its peak"},
    {"kymograph export --from 2s --until 2500ms -o part.json trace.kymo", "half a second of the "
                                                                          "capture"},
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
    .details = "The output appears only when it is complete. It replaces an older export but no "
               "other file; on an error or Ctrl-C nothing is left behind. It gets the read "
               "permissions of the capture. The capture itself is not changed.\n\n"
               "With a directory of captures, --to parquet writes a dataset with a partition for "
               "each process: run=/host=/rank=/capture=. Those that are already there are "
               "skipped.",
    .options = options,
    .values = kymo__cli_formats_values,
    .terms_title = "Formats",
    .terms = kymo__cli_formats_explain,
    .examples = examples,
    .next = next,
    .run = run_export,
};
