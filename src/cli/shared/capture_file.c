#include "capture_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "capture.h"
#include "format.h"
#include "message.h"
#include "units.h"
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
    {-EMFILE, "its processes are more files than may be open; raise the limit with 'ulimit -n'"},
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
    if (info.ending == KYMO_ENDED_KILLED || info.ending == KYMO_ENDED_FAILED ||
        info.damaged_blocks || info.unknown_parts)
        kymo__cli_complain("%s is incomplete, and what is left of it has no memory events", path);
    else
        kymo__cli_complain("%s has no memory events; record with 'kymograph run --memory'", path);
    return CLI_BAD;
}

static void complain_index(const char *path, const struct kymo_capture *capture)
{
    if (capture->reader->index_file == KYMO__INDEX_STALE)
        kymo__cli_complain("%s.index does not match %s and is ignored; 'kymograph index %s' "
                           "rebuilds it",
                           path, path, path);
}

/* Parts that this version does not know are left out of whatever is shown or written. */
static void complain_unknown(const char *path, const struct kymo_info *info)
{
    if (info->unknown_parts)
        kymo__cli_complain(
            "%s: incomplete: a newer kymograph wrote it (format %d.%d; this one reads "
            "up to %d.%d), and %s not shown; update kymograph",
            path, info->version_major, info->version_minor, KYMO__MAJOR, KYMO__MINOR,
            kymo__cli_count(info->unknown_parts, "part of it is", "parts of it are").text);
}

static const char *process_wanted;

void kymo__cli_capture_process(const char *process)
{
    process_wanted = process;
}

/* Every process of a family is a file. */
static void allow_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Is PATH a file that can be opened? Prints a message if not, and returns CLI_BAD. */
static int check_file(const char *path)
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
    return CLI_OK;
}

/* Fill SIZE bytes of INFO. ALONE: without its child processes. */
static int open_with(const char *path, struct kymo_capture **capture, struct kymo_info *info,
                     size_t size, bool alone)
{
    if (check_file(path) != CLI_OK)
        return CLI_BAD;
    allow_files();
    int error = alone ? kymo_open(path, capture) : kymo_open_family(path, process_wanted, capture);
    if (error == -ESRCH) {
        kymo__cli_complain("%s: no process '%s'; 'kymograph info' lists them", path,
                           process_wanted);
        return CLI_BAD;
    }
    if (error < 0)
        return kymo__cli_capture_broken(path, error);
    memset(info, 0, sizeof *info);
    info->size = size;
    error = kymo_capture_info(*capture, info);
    if (error < 0) {
        kymo_close(*capture);
        return kymo__cli_capture_broken(path, error);
    }
    complain_unknown(path, info);
    return CLI_OK;
}

int kymo__cli_capture_open_first(const char *path, struct kymo_family *family,
                                 struct kymo_capture **capture, struct kymo_info *info)
{
    if (check_file(path) != CLI_OK)
        return CLI_BAD;
    allow_files();
    int error = kymo__family_open(path, family);
    if (error == 0) {
        *capture = family->captures[0];
        *info = (struct kymo_info){.size = sizeof *info};
        error = kymo_capture_info(*capture, info);
    }
    if (error == 0) {
        complain_index(path, *capture);
        complain_unknown(path, info);
        return CLI_OK;
    }
    kymo__family_close(family);
    return kymo__cli_capture_broken(path, error);
}

int kymo__cli_capture_open_plain(const char *path, struct kymo_capture **capture,
                                 struct kymo_info *info)
{
    return open_with(path, capture, info, sizeof *info, true);
}

int kymo__cli_capture_open_uncounted(const char *path, struct kymo_capture **capture,
                                     struct kymo_info *info)
{
    return open_with(path, capture, info, offsetof(struct kymo_info, samples), false);
}

int kymo__cli_capture_open(const char *path, struct kymo_capture **capture, struct kymo_info *info)
{
    int code = open_with(path, capture, info, sizeof *info, false);
    if (code != CLI_OK)
        return code;
    complain_index(path, *capture);
    return CLI_OK;
}
