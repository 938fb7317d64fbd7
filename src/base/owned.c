/* owned.c — see owned.h. */
#include "owned.h"
#include "atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "atomic.h"

/* No higher than this: the kernel copies the table up to the highest number at each fork. */
enum { HIGHEST = 4096 };

int kymo__fd_raise(int fd)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return fd;
    int least = limit.rlim_cur / 2 < HIGHEST ? (int)(limit.rlim_cur / 2) : HIGHEST;
    int upper = fd < least ? fcntl(fd, F_DUPFD_CLOEXEC, least) : -1;
    if (upper < 0)
        return fd;
    close(fd);
    return upper;
}

int kymo__owned_init(struct kymo_owned *owned, int fd)
{
    struct stat st;
    *owned = (struct kymo_owned){.fd = -1};
    if (fstat(fd, &st) < 0) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    *owned = (struct kymo_owned){kymo__fd_raise(fd), st.st_dev, st.st_ino};
    return 0;
}

static bool is_same(const struct kymo_owned *owned, const struct stat *st)
{
    return st->st_dev == owned->device && st->st_ino == owned->inode;
}

bool kymo__owned_is(const struct kymo_owned *owned)
{
    struct stat st;
    int fd = kymo__load_acquire(&owned->fd);
    return fd >= 0 && fstat(fd, &st) == 0 && is_same(owned, &st);
}

int kymo__owned_reopen(struct kymo_owned *owned, const char *path)
{
    struct stat st;
    int before = kymo__load_acquire(&owned->fd);
    if (kymo__owned_is(owned))
        return 0; /* another thread was faster */
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0 || !is_same(owned, &st)) {
        close(fd);
        return -ESTALE;
    }
    fd = kymo__fd_raise(fd);
    if (!kymo__swap_if(&owned->fd, &before, fd))
        close(fd); /* likewise */
    return 0;
}

void kymo__owned_close(struct kymo_owned *owned)
{
    if (kymo__owned_is(owned))
        close(owned->fd);
    owned->fd = -1;
}
