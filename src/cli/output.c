#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "message.h"
#include "verb.h"

static int failure; /* errno of the first write that failed */

void kymo__cli_output_begin(void)
{
    /* A file opened while a standard descriptor is closed would take its number and
       then receive our output. /dev/null the wrong way round keeps the number busy
       and still fails when it is used. */
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            _exit(CLI_BAD);
    }
    /* `| head` ends us silently, even under a parent that ignores the signal. */
    signal(SIGPIPE, SIG_DFL);
    /* A file that may not grow further is then an error we can report. */
    signal(SIGXFSZ, SIG_IGN);
    /* The C library takes a size seriously only with memory for it. Its own few kilobytes would
       be written in between, where nobody looks why that fails. */
    static char buffer[1 << 16];
    if (!isatty(STDOUT_FILENO))
        setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
}

bool kymo__cli_output_works(void)
{
    if (failure == 0 && ferror(stdout))
        failure = errno ? errno : EIO;
    return failure == 0;
}

int kymo__cli_output_end(int code)
{
    errno = 0;
    if (fflush(stdout) != 0 && failure == 0)
        failure = errno ? errno : EIO;
    kymo__cli_output_works();
    /* Network file systems tell of a full disk only at the end. */
    if (failure == 0 && close(STDOUT_FILENO) != 0)
        failure = errno;
    if (failure == 0)
        return code;
    if (failure != EPIPE)
        kymo__cli_complain("the output could not be written: %s", strerror(failure));
    return CLI_BAD;
}
