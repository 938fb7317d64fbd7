#include "rewriting.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interrupt.h"
#include "message.h"
#include "progress.h"
#include "units.h"
#include "verb.h"

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool kymo__cli_rewrite_allowed(const char *output, const char *const *paths, int count)
{
    if (!output) {
        kymo__cli_complain("which file is to be written? Add -o OUT.kymo");
        return false;
    }
    if (strcmp(output, "-") == 0) {
        kymo__cli_complain("-o -: a capture cannot be written into a pipe; name a file");
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (same_file(output, paths[i])) {
            kymo__cli_complain("%s is the capture itself; name another file with -o", output);
            return false;
        }
    }
    return true;
}

static int progress(void *arg, uint64_t done, uint64_t all)
{
    kymo__cli_progress_show(arg, done, all);
    return kymo__cli_interrupted() ? -ECANCELED : 0;
}

static int explain(const char *output, int error)
{
    if (error == -ENOENT)
        kymo__cli_complain("%s: there is no such directory", output);
    else if (error == -EISDIR)
        kymo__cli_complain("%s: this is a directory; name a file in it", output);
    else if (error == -ENOMEM)
        kymo__cli_complain("there is not enough memory for it");
    else if (error == -KYMO_EOCCUPIED || error == -KYMO_EBUSYFILE)
        kymo__cli_complain("%s: %s", output, kymo_strerror(error));
    else
        kymo__cli_complain("%s could not be written: %s", output, kymo_strerror(error));
    return CLI_BAD;
}

int kymo__cli_rewrite(const struct kymo_part *parts, size_t count, const char *output,
                      const struct kymo_rewrite_note *notes, const char *doing)
{
    struct cli_progress line = kymo__cli_progress_begin(doing);
    const struct kymo_rewrite_options options = {
        .notes = notes, .progress = progress, .progress_arg = &line};
    kymo__cli_interrupt_watch();
    int error = kymo__rewrite(parts, count, output, &options);
    kymo__cli_progress_end(&line);
    kymo__cli_interrupt_obey();
    if (error < 0)
        return explain(output, error);
    struct stat file;
    if (isatty(STDERR_FILENO) && stat(output, &file) == 0)
        kymo__cli_complain("wrote %s, %s", output, kymo__cli_bytes((uint64_t)file.st_size).text);
    return CLI_OK;
}
