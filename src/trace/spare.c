/* spare.c — see spare.h. */
#include "spare.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "file.h"

static const char FOLDER[] = ".kymo.d/";
static const char SPARE[] = "0-0.spare"; /* as if of process 0: cleared like captures of children */

/* The name of the spare file; the caller frees it. NULL if there can be none, or no memory. */
static char *spare_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    if (folder <= sizeof(FOLDER) - 1 ||
        memcmp(path + folder - (sizeof(FOLDER) - 1), FOLDER, sizeof(FOLDER) - 1) != 0)
        return NULL;
    char *spare = kymo__alloc(folder + sizeof(SPARE));
    if (spare) {
        memcpy(spare, path, folder);
        memcpy(spare + folder, SPARE, sizeof(SPARE));
    }
    return spare;
}

static bool rename_to_new(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0;
}

/* Is it a file that kymo__spare_leave left, and not one that somebody planted? */
static bool is_ours(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_size == 0 &&
           st.st_uid == geteuid() && (st.st_mode & 0777) == 0600;
}

int kymo__spare_take(const char *path)
{
    char *spare = spare_path(path);
    if (!spare)
        return -1;
    bool taken = rename_to_new(spare, path);
    kymo__free(spare);
    if (!taken)
        return -1;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && is_ours(fd))
        return fd;
    if (fd >= 0)
        close(fd);
    unlink(path);
    return -1;
}

bool kymo__spare_leave(const struct kymo_owned *file, const char *path)
{
    char *spare = spare_path(path);
    if (!spare)
        return false;
    /* A reader keeps it locked: what it has opened must not change. */
    bool left = kymo__owned_is(file) && kymo__file_lock(file->fd, true) == 0;
    if (left) {
        left = ftruncate(file->fd, 0) == 0 && rename_to_new(path, spare);
        kymo__file_unlock(file->fd);
    }
    kymo__free(spare);
    return left;
}
