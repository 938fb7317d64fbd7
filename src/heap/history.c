/* history.c — see history.h. */
#include "history.h"

#include <errno.h>
#include <fcntl.h>
#include <kymo/exports.h>
#include <kymo/read.h>
#include <kymo/source.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lock.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char kept[4096]; /* the temporary capture; "": none. Under the lock, as all here */
static pid_t owner;     /* the process that made it */
static bool recording;
static bool joined; /* a session that was running */

static void discard_capture(void)
{
    if (kept[0] && owner == getpid())
        unlink(kept);
    kept[0] = '\0';
}

__attribute__((destructor)) static void discard_at_exit(void)
{
    discard_capture();
}

/* "memory=on" and every other registered source off. */
static void only_memory(char *list, size_t size)
{
    struct kymo_source_info info = {.size = sizeof(info)};
    size_t used = (size_t)snprintf(list, size, "memory=on");
    for (unsigned i = 0; kymo_source_at(i, &info) == 0 && used < size; i++)
        if (strcasecmp(info.name, "memory") != 0)
            used += (size_t)snprintf(list + used, size - used, ",%s=off", info.name);
}

static int start_capture(void)
{
    const char *folder = getenv("TMPDIR");
    char sources[2048];
    discard_capture();
    int n = snprintf(kept, sizeof(kept), "%s/kymograph-memory-XXXXXX",
                     folder && *folder ? folder : "/tmp");
    int fd = n > 0 && (size_t)n < sizeof(kept) ? mkostemp(kept, O_CLOEXEC) : -1;
    if (fd < 0) {
        kept[0] = '\0';
        return errno ? -errno : -ENAMETOOLONG;
    }
    close(fd);
    unlink(kept); /* only the name is needed */
    owner = getpid();
    only_memory(sources, sizeof(sources));
    const struct kymo_options options = {.size = sizeof(options), .path = kept, .sources = sources};
    int rc = kymo_start(&options);
    if (rc < 0)
        kept[0] = '\0';
    recording = rc == 0;
    return rc;
}

int kymo__history_start(void *user)
{
    (void)user;
    pthread_mutex_lock(&lock);
    int rc = recording ? KYMO_ERUNNING : KYMO_EIDLE;
    if (rc == KYMO_EIDLE && kymo_running())
        rc = kymo_source_start("memory", NULL);
    joined = rc == 0 || (joined && rc == KYMO_ERUNNING);
    if (rc == KYMO_EIDLE)
        rc = start_capture();
    pthread_mutex_unlock(&lock);
    return rc;
}

int kymo__history_stop(void *user)
{
    (void)user;
    pthread_mutex_lock(&lock);
    int rc = recording ? kymo_stop() : joined ? kymo_source_stop("memory") : KYMO_EIDLE;
    recording = joined = false;
    pthread_mutex_unlock(&lock);
    return rc;
}

/* The copy may be read by those who may read the capture. */
static int copy_capture(const char *from, const char *to)
{
    struct stat status;
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = in < 0 || fstat(in, &status) < 0
                  ? -1
                  : open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, status.st_mode & 0777);
    int rc = out < 0 ? -errno : 0;
    char bytes[1 << 16];
    for (ssize_t n = 1; rc == 0 && n != 0;) {
        n = read(in, bytes, sizeof(bytes));
        if (n < 0 && errno != EINTR)
            rc = -errno;
        for (ssize_t done = 0; rc == 0 && done < n;) {
            ssize_t written = write(out, bytes + done, (size_t)(n - done));
            if (written < 0 && errno != EINTR)
                rc = -errno;
            done += written > 0 ? written : 0;
        }
    }
    if (in >= 0)
        close(in);
    if (out >= 0 && close(out) < 0 && rc == 0)
        rc = -errno;
    return rc;
}

int kymo__history_export(void *user, const char *path)
{
    (void)user;
    size_t len = path ? strlen(path) : 0;
    if (!len)
        return -EINVAL;
    pthread_mutex_lock(&lock);
    int rc = recording ? KYMO_ERUNNING : kept[0] ? 0 : -ENOENT;
    struct kymo_capture *capture = NULL;
    bool whole = len > 5 && strcmp(path + len - 5, ".kymo") == 0;
    if (rc == 0)
        rc = whole ? kymo_capture_check(path) : kymo_export_check(path);
    if (rc == 0 && whole)
        rc = copy_capture(kept, path);
    else if (rc == 0)
        rc = kymo_open(kept, &capture);
    if (capture) {
        rc = kymo_export(capture, path, NULL);
        kymo_close(capture);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}
