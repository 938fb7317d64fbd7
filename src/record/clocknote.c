/* clocknote.c — see clocknote.h. */
#include "clocknote.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "crc32c.h"
#include "file.h"

#define MAGIC 0x316b636bu /* on a machine with another byte order it is another number */

enum { SUMMED = offsetof(struct kymo_clocknote, boot) };

static size_t bytes_of(const struct kymo_clocknote *note)
{
    return offsetof(struct kymo_clocknote, answers) + note->count * sizeof(note->answers[0]);
}

static uint32_t checksum_of(const struct kymo_clocknote *note)
{
    return kymo__crc32c((const uint8_t *)note + SUMMED, bytes_of(note) - SUMMED);
}

/* The file is opened and closed each time: that is when network file systems exchange data. */
int kymo__clocknote_write(const char *path, struct kymo_clocknote *note, bool create)
{
    note->magic = MAGIC;
    note->crc = checksum_of(note);
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT | O_EXCL : 0), 0644);
    if (fd < 0)
        return -errno;
    int rc = kymo__file_write(fd, note, bytes_of(note), 0);
    return close(fd) < 0 && rc == 0 ? -errno : rc;
}

int kymo__clocknote_read(const char *path, struct kymo_clocknote *note)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    ssize_t len = kymo__file_read(fd, note, sizeof(*note), 0);
    close(fd);
    if (len < 0)
        return (int)len;
    if ((size_t)len < offsetof(struct kymo_clocknote, answers) || note->magic != MAGIC ||
        note->count > KYMO__ANSWERS || (size_t)len < bytes_of(note) ||
        note->crc != checksum_of(note))
        return -EAGAIN;
    return 0;
}
