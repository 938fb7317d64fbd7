#include "rewriting.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interrupt.h"
#include "memory.h"
#include "message.h"
#include "outfile.h"
#include "progress.h"
#include "written.h"

bool kymo__cli_rewrite_allowed(const char *output, const char *const *paths, int count)
{
    if (!output) {
        kymo__cli_complain("no output file given; add -o OUT.kymo");
        return false;
    }
    if (strcmp(output, "-") == 0) {
        kymo__cli_complain("-o -: a capture cannot be written to stdout; name a file");
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (kymo__cli_same_file(output, paths[i])) {
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

int kymo__cli_rewrite(const struct kymo_part *parts, size_t count, const char *output,
                      const struct kymo_rewrite_note *notes, const char *doing, bool force)
{
    /* The writer refuses to replace other files, so FORCE writes beside them and renames. */
    char *aside = force ? kymo__cli_format("%s.%ld.kymo", output, (long)getpid()) : NULL;
    const char *path = force ? aside : output;
    struct cli_progress line = kymo__cli_progress_begin(doing);
    mode_t mode = 0666;
    for (size_t i = 0; i < count; i++)
        mode &= kymo__outfile_mode_of(parts[i].capture->reader->fd);
    const struct kymo_rewrite_options options = {
        .notes = notes, .progress = progress, .progress_arg = &line};
    kymo__cli_interrupt_watch();
    /* Start with the permissions of the parts, so that nobody else can read it even briefly. */
    umask(0077);
    int error = kymo__rewrite(parts, count, path, &options);
    if (error == 0)
        chmod(path, mode);
    if (error == 0 && force && rename(aside, output) < 0) {
        error = -errno;
        unlink(aside);
    }
    kymo__cli_free(aside);
    kymo__cli_progress_end(&line);
    kymo__cli_interrupt_obey();
    return kymo__cli_written(output, error);
}
