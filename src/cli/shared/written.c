/* written.c — see written.h. */
#include "written.h"

#include <errno.h>
#include <kymo/kymo.h>
#include <string.h>
#include <sys/stat.h>

#include "message.h"
#include "units.h"
#include "verb.h"

bool kymo__cli_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int explain_error(const char *output, int error)
{
    if (error == -ENOENT)
        kymo__cli_complain("%s: no such directory", output);
    else if (error == -EISDIR)
        kymo__cli_complain("%s: this is a directory; name a file in it", output);
    else if (error == -ENOMEM)
        kymo__cli_complain("not enough memory");
    else if (error == KYMO_EOCCUPIED || error == KYMO_EBUSYFILE)
        kymo__cli_complain("%s: %s", output, kymo_strerror(error));
    else
        kymo__cli_complain("cannot write %s: %s", output, kymo_strerror(error));
    return CLI_BAD;
}

bool kymo__cli_may_replace(const char *output, bool forced)
{
    if (forced || kymo_export_check(output) != -EEXIST)
        return true;
    kymo__cli_complain("%s exists and was not written by kymograph; name another file, or add "
                       "--force to overwrite it",
                       output);
    return false;
}

int kymo__cli_written(const char *output, int error)
{
    bool direct = strcmp(output, "-") == 0;
    if (error == -EPIPE && direct)
        return CLI_OK; /* the reader wanted no more */
    if (error < 0)
        return explain_error(direct ? "the output" : output, error);
    struct stat file;
    if (!direct && stat(output, &file) == 0)
        kymo__cli_complain("wrote %s, %s", output, kymo__cli_bytes((uint64_t)file.st_size).text);
    return CLI_OK;
}
