/* export.c — see export.h. To add a format, add a file and one line here. */
#include "export.h"

#include <errno.h>
#include <string.h>

#include "callgrind.h"
#include "chakra.h"
#include "chrome.h"
#include "collapsed.h"
#include "et.h"
#include "flame.h"
#include "perfetto.h"
#include "pprof.h"
#include "pstats.h"
#include "snapshot.h"
#include "speedscope.h"
#include "timeline_json.h"

static const struct kymo_export_format formats[] = {
    {"chrome", ".json", "Perfetto, chrome://tracing, and what reads PyTorch's traces",
     kymo__chrome_write},
    {"parquet", ".parquet", "tables for DuckDB, pandas, Spark and others", NULL},
    {"perfetto", ".pftrace", "Perfetto: smaller and faster to open than JSON",
     kymo__perfetto_write},
    {"html", ".html", "a page with a flame graph and the timeline for any browser",
     kymo__flame_write},
    {"speedscope", ".speedscope.json", "speedscope.app: all calls in their order, and flame graphs",
     kymo__speedscope_write},
    {"pprof", ".pb.gz", "go tool pprof, Pyroscope, Parca; always compressed", kymo__pprof_write},
    {"collapsed", ".collapsed", "flamegraph.pl, inferno, grep: a line for each call path",
     kymo__collapsed_write},
    {"pstats", ".pstats", "Python's pstats, SnakeViz, and what else reads cProfile's files",
     kymo__pstats_write},
    {"callgrind", ".callgrind", "KCachegrind, QCachegrind, callgrind_annotate",
     kymo__callgrind_write},
    {"snapshot", ".pickle", "PyTorch's memory viewer: allocations, recorded with --memory",
     kymo__snapshot_write},
    {"et", ".et.json", "Chakra, replay: operators and their tensors, as PyTorch's execution traces",
     kymo__et_write},
    {"chakra", ".et", "ASTRA-sim and Chakra's feeder: operators in order, with dependencies",
     kymo__chakra_write},
    {"timeline", ".timeline.json", "scripts: memory over time by category, as JSON",
     kymo__timeline_json_write},
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

const struct kymo_export_format *kymo__export_format(size_t index)
{
    return index < FORMATS ? &formats[index] : NULL;
}

int kymo_export_format(uint32_t index, const char **name, const char **extension,
                       const char **purpose)
{
    if (index >= FORMATS)
        return -ENOENT;
    if (name)
        *name = formats[index].name;
    if (extension)
        *extension = formats[index].extension;
    if (purpose)
        *purpose = formats[index].purpose;
    return 0;
}

const struct kymo_export_format *kymo__export_named(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

/* Other extensions that select a format, and a format recognised by a prefix. */
static const struct {
    const char *extension, *format;
} also[] = {{".folded", "collapsed"},
            {".prof", "pstats"},
            {".htm", "html"},
            {".perfetto-trace", "perfetto"}};

static const char callgrind_out[] = "callgrind.out.";

/* The length of TEXT without a .gz at its end. */
static size_t unpacked(const char *text)
{
    size_t len = strlen(text);
    return len > 3 && strcmp(text + len - 3, ".gz") == 0 ? len - 3 : len;
}

static bool ends_in(const char *path, const char *extension)
{
    size_t len = unpacked(path), n = unpacked(extension);
    return len > n && memcmp(path + len - n, extension, n) == 0;
}

const struct kymo_export_format *kymo__export_for(const char *path)
{
    const struct kymo_export_format *found = NULL;
    for (size_t i = 0; i < FORMATS; i++) /* longest match: .speedscope.json before .json */
        if (ends_in(path, formats[i].extension) &&
            (!found || strlen(formats[i].extension) > strlen(found->extension)))
            found = &formats[i];
    for (size_t i = 0; !found && i < sizeof(also) / sizeof(also[0]); i++)
        if (ends_in(path, also[i].extension))
            found = kymo__export_named(also[i].format);
    const char *slash = strrchr(path, '/');
    if (!found && strncmp(slash ? slash + 1 : path, callgrind_out, sizeof(callgrind_out) - 1) == 0)
        found = kymo__export_named("callgrind");
    return found;
}

const char *kymo_export_format_of(const char *path)
{
    const struct kymo_export_format *format = kymo__export_for(path);
    return format ? format->name : NULL;
}

int kymo_export(struct kymo_capture *capture, const char *path,
                const struct kymo_export_options *options)
{
    struct kymo_export_options all = {.size = sizeof(all), .to = INT64_MAX, .thread = -1};
    if (options) {
        size_t size = options->size < sizeof(all) ? options->size : sizeof(all);
        if (size < sizeof(size_t))
            return -EINVAL;
        memcpy((char *)&all + sizeof(size_t), (const char *)options + sizeof(size_t),
               size - sizeof(size_t));
    }
    const struct kymo_export_format *format =
        all.format ? kymo__export_named(all.format) : kymo__export_for(path);
    if (!format || !format->write)
        return KYMO_EFORMAT;
    if (all.thread < -1 || all.thread >= (int64_t)capture->reader->thread_count)
        return -EINVAL;
    struct kymo_outfile out;
    int rc = kymo__outfile_open(&out, path, kymo__outfile_mode_of(capture->reader->fd));
    if (rc < 0)
        return rc;
    if (unpacked(format->extension) < strlen(format->extension))
        rc = kymo__outfile_pack(&out);
    if (rc == 0)
        rc = format->write(capture, &all, &out);
    int closed = kymo__outfile_close(&out, rc == 0);
    return rc < 0 ? rc : closed;
}
