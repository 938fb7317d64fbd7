#include "capture_file.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "capture.h"
#include "message.h"
#include "verb.h"

/* What to do about each error. */
static const struct {
    int code;
    const char *words;
} ways_out[] = {
    {-ENOENT, "no such file; check the name"},
    {-ENOTDIR, "no such file: part of the path is not a directory"},
    {-EACCES, "permission denied; its owner can allow reading with chmod +r"},
    {-EISDIR, "this is a directory; name a capture in it"},
    {-ENOMEM, "not enough memory to open it"},
    {KYMO_ENOTCAPTURE, "this is not a kymograph capture; captures usually end in .kymo"},
    {KYMO_EMPTYFILE, "the file is empty: nothing was recorded; record again"},
    {KYMO_EEXPANDS,
     "it expands to far more data than a capture of its size can hold, so it was not read: it is "
     "damaged or was not recorded by kymograph; record again"},
    {KYMO_EDAMAGED, "its header is damaged and nothing can be read; record again"},
};

int kymo__cli_capture_broken(const char *path, int code)
{
    for (size_t i = 0; i < sizeof ways_out / sizeof *ways_out; i++) {
        if (ways_out[i].code == code) {
            kymo__cli_complain("%s: %s", path, ways_out[i].words);
            return CLI_BAD;
        }
    }
    kymo__cli_complain("%s: %s", path, kymo_strerror(code));
    return CLI_BAD;
}

int kymo__cli_capture_no_memory(const char *path, const struct kymo_capture *capture)
{
    struct kymo_info info = {.size = offsetof(struct kymo_info, samples)};
    kymo_capture_info(capture, &info);
    if (info.ending == KYMO_ENDED_KILLED || info.ending == KYMO_ENDED_FAILED || info.damaged_blocks)
        kymo__cli_complain("%s is incomplete, and what is left of it has no memory events", path);
    else
        kymo__cli_complain("%s has no memory events; record with 'kymograph run --memory'", path);
    return CLI_BAD;
}

/* Fill SIZE bytes of INFO. */
static int open_with(const char *path, struct kymo_capture **capture, struct kymo_info *info,
                     size_t size)
{
    /* Check first, because opening a pipe would wait for a writer. */
    struct stat file;
    if (stat(path, &file) != 0)
        return kymo__cli_capture_broken(path, -errno);
    if (S_ISDIR(file.st_mode))
        return kymo__cli_capture_broken(path, -EISDIR);
    if (!S_ISREG(file.st_mode)) {
        kymo__cli_complain("%s: this is not a regular file; save the capture to one first", path);
        return CLI_BAD;
    }

    int error = kymo_open(path, capture);
    if (error < 0)
        return kymo__cli_capture_broken(path, error);
    memset(info, 0, sizeof *info);
    info->size = size;
    error = kymo_capture_info(*capture, info);
    if (error < 0) {
        kymo_close(*capture);
        return kymo__cli_capture_broken(path, error);
    }
    return CLI_OK;
}

int kymo__cli_capture_open_plain(const char *path, struct kymo_capture **capture,
                                 struct kymo_info *info)
{
    return open_with(path, capture, info, sizeof *info);
}

int kymo__cli_capture_open_uncounted(const char *path, struct kymo_capture **capture,
                                     struct kymo_info *info)
{
    return open_with(path, capture, info, offsetof(struct kymo_info, samples));
}

int kymo__cli_capture_open(const char *path, struct kymo_capture **capture, struct kymo_info *info)
{
    int code = kymo__cli_capture_open_plain(path, capture, info);
    if (code != CLI_OK)
        return code;
    if ((*capture)->reader->index_file == KYMO__INDEX_STALE)
        kymo__cli_complain("%s.index does not match %s and is ignored; 'kymograph index %s' "
                           "rebuilds it",
                           path, path, path);
    return CLI_OK;
}
