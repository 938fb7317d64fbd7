/* file.c — see file.h. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

void kymo__quiet_begin(struct kymo_quiet *quiet)
{
    sigset_t one, pending;
    sigemptyset(&one);
    sigaddset(&one, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &one, &quiet->before);
    quiet->was_blocked = sigismember(&quiet->before, SIGXFSZ);
    quiet->was_pending = false;
    if (quiet->was_blocked) { /* else it would have been delivered */
        sigemptyset(&pending);
        sigpending(&pending);
        quiet->was_pending = sigismember(&pending, SIGXFSZ);
    }
}

void kymo__quiet_end(const struct kymo_quiet *quiet, int rc)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGXFSZ);
    const struct timespec now = {0, 0};
    if (rc == -EFBIG && !quiet->was_pending)
        while (sigtimedwait(&one, NULL, &now) < 0 && errno == EINTR)
            continue;
    if (!quiet->was_blocked)
        pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
}

static int write_all(int fd, const char *bytes, size_t len, uint64_t offset)
{
    while (len) {
        ssize_t n = pwrite(fd, bytes, len, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        bytes += n;
        len -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

int kymo__file_write(int fd, const void *bytes, size_t len, uint64_t offset)
{
    struct kymo_quiet quiet;
    kymo__quiet_begin(&quiet);
    int rc = write_all(fd, bytes, len, offset);
    kymo__quiet_end(&quiet, rc);
    return rc;
}

ssize_t kymo__file_read(int fd, void *bytes, size_t len, uint64_t offset)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = pread(fd, (char *)bytes + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

ssize_t kymo__file_text(const char *path, char *buffer, size_t size)
{
    buffer[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    /* Not kymo__file_read: not all /proc files support pread. */
    ssize_t n = read(fd, buffer, size - 1);
    int error = errno;
    close(fd);
    if (n < 0)
        return -error;
    while (n > 0 && buffer[n - 1] == '\n')
        n--;
    buffer[n] = '\0';
    return n;
}

int kymo__file_lock(int fd, bool writes)
{
    struct flock all = {.l_type = writes ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &all) == 0)
        return 0;
    return errno == EACCES ? -EAGAIN : -errno;
}

void kymo__file_unlock(int fd)
{
    const struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    fcntl(fd, F_OFD_SETLK, &all);
}
