#include "capture_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "message.h"
#include "verb.h"

/* The way out, by what went wrong. */
static const struct {
    int code;
    const char *words;
} ways_out[] = {
    {-ENOENT, "there is no such file; check the name"},
    {-ENOTDIR, "there is no such file: a part of the path is not a directory"},
    {-EACCES, "you have no permission to read it; its owner can allow it with chmod +r"},
    {-EISDIR, "this is a directory; name a capture in it"},
    {-ENOMEM, "there is not enough memory to open it"},
    {-KYMO_ENOTCAPTURE, "this is not a kymograph capture; captures usually end in .kymo"},
    {-KYMO_EMPTYFILE, "the file is empty: nothing was recorded into it; record again"},
    {-KYMO_EDAMAGED, "its header is damaged, nothing can be read from it; record again"},
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

int kymo__cli_capture_open(const char *path, struct kymo_capture **capture, struct kymo_info *info)
{
    /* Looked at first, because opening a pipe would wait for a writer. */
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
    info->size = sizeof *info;
    error = kymo_capture_info(*capture, info);
    if (error < 0) {
        kymo_close(*capture);
        return kymo__cli_capture_broken(path, error);
    }
    return CLI_OK;
}
