/* spool.c — see spool.h. */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "file.h"

enum { PIECE = 256 << 10 }; /* bytes that are written at once when there is a file */

void kymo__spool_init(struct kymo_spool *spool)
{
    *spool = (struct kymo_spool){.fd = -1, .most = KYMO__SPOOL_MEMORY};
}

void kymo__spool_fini(struct kymo_spool *spool)
{
    kymo__buffer_fini(&spool->memory);
    if (spool->fd >= 0)
        close(spool->fd);
    spool->fd = -1;
}

static int open_file(struct kymo_spool *spool)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    int n =
        snprintf(path, sizeof(path), "%s/kymograph-XXXXXX", folder && *folder ? folder : "/tmp");
    if (n < 0 || (size_t)n >= sizeof(path))
        return -ENAMETOOLONG;
    spool->fd = mkostemp(path, O_CLOEXEC);
    if (spool->fd < 0)
        return -errno;
    unlink(path);
    spool->most = PIECE;
    return 0;
}

int kymo__spool_add(struct kymo_spool *spool, const void *bytes, size_t len)
{
    int rc = 0;
    if (spool->memory.len + len > spool->most) {
        rc = spool->fd < 0 ? open_file(spool) : 0;
        if (rc == 0)
            rc =
                kymo__file_write(spool->fd, spool->memory.bytes, spool->memory.len, spool->written);
        if (rc < 0)
            return rc;
        spool->written += spool->memory.len;
        kymo__buffer_fini(&spool->memory);
        spool->memory = (struct kymo_buffer){0};
    }
    return kymo__buffer_add(&spool->memory, bytes, len);
}

uint64_t kymo__spool_length(const struct kymo_spool *spool)
{
    return spool->written + spool->memory.len;
}

int kymo__spool_read(const struct kymo_spool *spool, void *bytes, size_t len, uint64_t offset)
{
    size_t from_file = 0;
    if (offset > kymo__spool_length(spool) || len > kymo__spool_length(spool) - offset)
        return -EINVAL;
    if (offset < spool->written) {
        from_file = len < spool->written - offset ? len : (size_t)(spool->written - offset);
        ssize_t got = kymo__file_read(spool->fd, bytes, from_file, offset);
        if (got < 0)
            return (int)got;
        if ((size_t)got < from_file)
            return -EIO;
    }
    if (len > from_file)
        memcpy((char *)bytes + from_file,
               spool->memory.bytes + (offset + from_file - spool->written), len - from_file);
    return 0;
}
