#include "rewriting.h"

#include <errno.h>
#include <string.h>

#include "interrupt.h"
#include "message.h"
#include "progress.h"
#include "written.h"

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
                      const struct kymo_rewrite_note *notes, const char *doing)
{
    struct cli_progress line = kymo__cli_progress_begin(doing);
    const struct kymo_rewrite_options options = {
        .notes = notes, .progress = progress, .progress_arg = &line};
    kymo__cli_interrupt_watch();
    int error = kymo__rewrite(parts, count, output, &options);
    kymo__cli_progress_end(&line);
    kymo__cli_interrupt_obey();
    return kymo__cli_written(output, error);
}
