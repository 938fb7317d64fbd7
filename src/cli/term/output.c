#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exits.h"
#include "message.h"

static int failure; /* errno of the first write that failed */

void kymo__cli_output_begin(void)
{
    /* If a standard descriptor is closed, the next file opened would take its number and receive
       our output. Open /dev/null with the wrong mode instead: it keeps the number busy and still
       fails when used. */
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            _exit(CLI_BAD);
    }
    /* Let `| head` end us silently, even if the parent ignores SIGPIPE. */
    signal(SIGPIPE, SIG_DFL);
    /* Turn the file size limit into an error we can report. */
    signal(SIGXFSZ, SIG_IGN);
    /* The C library honours the size only if given a buffer. Its small default buffer would be
       flushed in places where nobody checks the error. */
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
    /* Network file systems report a full disk only on close. */
    if (failure == 0 && close(STDOUT_FILENO) != 0)
        failure = errno;
    if (failure == 0)
        return code;
    if (failure != EPIPE)
        kymo__cli_complain("cannot write the output: %s", strerror(failure));
    return CLI_BAD;
}
