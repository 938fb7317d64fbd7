/* outfile.c — see outfile.h. */
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "alloc.h"
#include "file.h"

enum { PACKED = 1 << 18, LEVEL = 2, WINDOW_GZIP = 15 + 16, MEMORY = 9, NAMES_TRIED = 100 };

struct kymo_packing {
    z_stream z;
    uint8_t bytes[PACKED];
};

static struct kymo_packing *packing_new(void)
{
    struct kymo_packing *p = kymo__alloc_zeroed(sizeof(*p));
    if (p &&
        deflateInit2(&p->z, LEVEL, Z_DEFLATED, WINDOW_GZIP, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
        kymo__free(p);
        p = NULL;
    }
    return p;
}

static void write_out(struct kymo_outfile *out, const uint8_t *bytes, size_t len)
{
    struct kymo_quiet quiet;
    kymo__quiet_begin(&quiet);
    while (len && !out->error) {
        ssize_t n = write(out->fd, bytes, len);
        if (n < 0 && errno != EINTR)
            out->error = -errno;
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
    }
    kymo__quiet_end(&quiet);
}

static void pack(struct kymo_outfile *out, const uint8_t *bytes, size_t len, int flush)
{
    struct kymo_packing *p = out->packing;
    p->z.next_in = (uint8_t *)(uintptr_t)bytes;
    p->z.avail_in = (uInt)len;
    do {
        p->z.next_out = p->bytes;
        p->z.avail_out = PACKED;
        deflate(&p->z, flush);
        write_out(out, p->bytes, PACKED - p->z.avail_out);
    } while (!out->error && p->z.avail_out == 0);
}

static void hand_on(struct kymo_outfile *out, const uint8_t *bytes, size_t len)
{
    out->written += len;
    if (out->packing)
        pack(out, bytes, len, Z_NO_FLUSH);
    else
        write_out(out, bytes, len);
}

int kymo__outfile_flush(struct kymo_outfile *out)
{
    if (!out->error && out->used)
        hand_on(out, out->bytes, out->used);
    out->used = 0;
    return out->error;
}

void kymo__outfile_add(struct kymo_outfile *out, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    if (len >= KYMO__OUTFILE_ROOM / 8) { /* not worth copying */
        kymo__outfile_flush(out);
        if (!out->error)
            hand_on(out, at, len);
        return;
    }
    while (len) {
        if (out->used == KYMO__OUTFILE_ROOM)
            kymo__outfile_flush(out);
        size_t n = KYMO__OUTFILE_ROOM - out->used;
        n = len < n ? len : n;
        memcpy(out->bytes + out->used, at, n);
        out->used += n;
        at += n;
        len -= n;
    }
}

/* Open a file of a new name beside out->path. */
static int open_temporary(struct kymo_outfile *out)
{
    size_t size = strlen(out->path) + 32;
    out->temporary = kymo__alloc(size);
    if (!out->temporary)
        return -ENOMEM;
    for (int i = 0; i < NAMES_TRIED; i++) {
        snprintf(out->temporary, size, "%s.part-%ld-%d", out->path, (long)getpid(), i);
        out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (out->fd >= 0 || errno != EEXIST)
            break;
    }
    int rc = out->fd < 0 ? -errno : 0;
    if (rc < 0) {
        kymo__free(out->temporary);
        out->temporary = NULL;
    }
    return rc;
}

static int open_path(struct kymo_outfile *out, const char *path)
{
    struct stat st;
    if (strcmp(path, "-") == 0) {
        out->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        return out->fd < 0 ? -errno : 0;
    }
    bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        return -EISDIR;
    if (exists && !S_ISREG(st.st_mode)) {
        out->fd = open(path, O_WRONLY | O_CLOEXEC);
        return out->fd < 0 ? -errno : 0;
    }
    if (exists && access(path, W_OK) < 0)
        return -errno; /* replacing what may not be written to would go against its owner */
    /* A link stays one; what it leads to is replaced. */
    char *target = exists ? realpath(path, NULL) : NULL;
    out->path = kymo__alloc_text(target ? target : path, strlen(target ? target : path));
    free(target);
    return out->path ? open_temporary(out) : -ENOMEM;
}

static bool ends_in(const char *text, const char *end)
{
    size_t len = strlen(text), n = strlen(end);
    return len >= n && strcmp(text + len - n, end) == 0;
}

int kymo__outfile_pack(struct kymo_outfile *out)
{
    if (!out->packing)
        out->packing = packing_new();
    return out->packing ? 0 : -ENOMEM;
}

int kymo__outfile_open(struct kymo_outfile *out, const char *path)
{
    *out = (struct kymo_outfile){.fd = -1};
    out->bytes = kymo__alloc(KYMO__OUTFILE_ROOM);
    int rc = out->bytes ? 0 : -ENOMEM;
    if (rc == 0 && ends_in(path, ".gz"))
        rc = kymo__outfile_pack(out);
    if (rc == 0)
        rc = open_path(out, path);
    if (rc < 0)
        kymo__outfile_close(out, false);
    return rc;
}

int kymo__outfile_close(struct kymo_outfile *out, bool keep)
{
    if (out->fd >= 0 && keep) {
        kymo__outfile_flush(out);
        if (out->packing && !out->error)
            pack(out, NULL, 0, Z_FINISH);
    }
    /* Network file systems tell of a full disk only now. */
    if (out->fd >= 0 && close(out->fd) < 0 && !out->error && errno != EINTR)
        out->error = -errno;
    if (out->temporary) {
        if (keep && !out->error && rename(out->temporary, out->path) < 0)
            out->error = -errno;
        if (!keep || out->error)
            unlink(out->temporary);
    }
    if (out->packing)
        deflateEnd(&out->packing->z);
    kymo__free(out->packing);
    kymo__free(out->path);
    kymo__free(out->temporary);
    kymo__free(out->bytes);
    out->fd = -1;
    out->packing = NULL;
    out->path = out->temporary = NULL;
    out->bytes = NULL;
    return out->error;
}
