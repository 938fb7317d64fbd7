/* export.c — see export.h. A new format is one file and one line here. */
#include "export.h"

#include <errno.h>
#include <string.h>

#include "chrome.h"

static const struct kymo_export_format formats[] = {
    {"chrome", ".json", "Perfetto, chrome://tracing, and what reads PyTorch's traces",
     kymo__chrome_write},
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

const struct kymo_export_format *kymo__export_format(size_t index)
{
    return index < FORMATS ? &formats[index] : NULL;
}

const struct kymo_export_format *kymo__export_named(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

const struct kymo_export_format *kymo__export_for(const char *path)
{
    size_t len = strlen(path);
    if (len > 3 && strcmp(path + len - 3, ".gz") == 0)
        len -= 3;
    for (size_t i = 0; i < FORMATS; i++) {
        size_t n = strlen(formats[i].extension);
        if (len > n && strncmp(path + len - n, formats[i].extension, n) == 0)
            return &formats[i];
    }
    return NULL;
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
    if (!format)
        return -KYMO_EFORMAT;
    if (all.thread < -1 || all.thread >= (int64_t)capture->reader->thread_count)
        return -EINVAL;
    struct kymo_outfile out;
    int rc = kymo__outfile_open(&out, path);
    if (rc < 0)
        return rc;
    rc = format->write(capture, &all, &out);
    int closed = kymo__outfile_close(&out, rc == 0);
    return rc < 0 ? rc : closed;
}
