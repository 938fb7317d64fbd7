/* ours.c — see ours.h. */
#include "ours.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <kymo/kymo.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <zlib.h>

#include "file.h"

enum { HEAD = 4096, STATE = 64, REMEMBERED = 64 };

static const char attribute[] = "user.kymograph";

/* The latest exports of this process to file systems without attributes. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    dev_t device;
    ino_t file;
    char state[STATE]; /* as in the attribute */
} remembered[REMEMBERED];
static unsigned remembered_next;

/* Format what the attribute holds for a file like this. */
static int describe_file(const struct stat *st, char *text)
{
    return snprintf(text, STATE, "%" PRId64 " %" PRId64 ".%09ld", (int64_t)st->st_size,
                    (int64_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
}

static void remember_file(const struct stat *st, const char *text)
{
    pthread_mutex_lock(&lock);
    unsigned i = remembered_next++ % REMEMBERED;
    remembered[i].device = st->st_dev;
    remembered[i].file = st->st_ino;
    memcpy(remembered[i].state, text, STATE);
    pthread_mutex_unlock(&lock);
}

static bool is_remembered(const struct stat *st)
{
    char wanted[STATE];
    bool found = false;
    describe_file(st, wanted);
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < REMEMBERED; i++)
        if (remembered[i].file == st->st_ino && remembered[i].device == st->st_dev &&
            strcmp(remembered[i].state, wanted) == 0)
            found = true;
    pthread_mutex_unlock(&lock);
    return found;
}

void kymo__ours_mark(int fd)
{
    struct stat st;
    char text[STATE];
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return;
    if (fsetxattr(fd, attribute, text, (size_t)describe_file(&st, text), 0) < 0)
        remember_file(&st, text);
}

/* Returns 1 if the attribute says that the file is ours, 0 if it was changed since, or a negative
   errno if there is none. */
static int marked(int fd, const struct stat *st)
{
    char found[STATE], wanted[STATE];
    ssize_t size = fgetxattr(fd, attribute, found, sizeof(found));
    if (size < 0)
        return -errno;
    return size == describe_file(st, wanted) && memcmp(found, wanted, (size_t)size) == 0;
}

/* Unpack the start of a gzip file, SIZE bytes at HEAD, in place. Returns the number of bytes. */
static size_t unpack_gzip(uint8_t *head, size_t size)
{
    uint8_t packed[HEAD];
    memcpy(packed, head, size);
    z_stream stream = {
        .next_in = packed, .avail_in = (unsigned)size, .next_out = head, .avail_out = HEAD};
    if (inflateInit2(&stream, 15 + 16) != Z_OK)
        return 0;
    inflate(&stream, Z_SYNC_FLUSH);
    size_t unpacked = HEAD - stream.avail_out;
    inflateEnd(&stream);
    return unpacked;
}

/* Does the file start like one of the formats that name their writer? */
static bool begins_as_ours(int fd)
{
    static const char *const signs[] = {
        "\"kymograph\": {\"version\"", "kymograph: recording", "<title>kymograph</title>",
        "\"exporter\":\"kymograph@",   "creator: kymograph ",
    };
    uint8_t head[HEAD];
    ssize_t got = kymo__file_read(fd, head, sizeof(head), 0);
    size_t size = got > 0 ? (size_t)got : 0;
    if (size > 2 && head[0] == 0x1f && head[1] == 0x8b)
        size = unpack_gzip(head, size);
    for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
        if (memmem(head, size, signs[i], strlen(signs[i])))
            return true;
    return false;
}

int kymo__ours_check(const char *path)
{
    struct stat st;
    if (strcmp(path, "-") == 0)
        return 0;
    if (stat(path, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISREG(st.st_mode) || st.st_size == 0)
        return 0; /* opening a directory fails later */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    int known = marked(fd, &st);
    bool ours = known < 0 ? is_remembered(&st) || begins_as_ours(fd) : known == 1;
    close(fd);
    return ours ? 0 : -EEXIST;
}

int kymo_export_check(const char *path)
{
    return kymo__ours_check(path);
}
