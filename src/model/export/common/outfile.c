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

#include "alloc.h"
#include "file.h"
#include "gzip.h"
#include "ours.h"

enum { NAMES_TRIED = 100 };

struct kymo_packing {
    struct kymo_deflater *deflater;
    struct kymo_gzip file;
    struct kymo_gzip_part part;
    bool begun; /* its header is written */
};

static struct kymo_packing *packing_new(void)
{
    struct kymo_packing *p = kymo__alloc_zeroed(sizeof(*p));
    if (p && !(p->deflater = kymo__deflater_new())) {
        kymo__free(p);
        p = NULL;
    }
    return p;
}

static void packing_free(struct kymo_packing *p)
{
    if (p) {
        kymo__deflater_free(p->deflater);
        kymo__buffer_fini(&p->part.deflated);
    }
    kymo__free(p);
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
    kymo__quiet_end(&quiet, out->error);
}

static void begin_packed(struct kymo_outfile *out)
{
    if (!out->packing->begun)
        write_out(out, kymo__gzip_head, sizeof(kymo__gzip_head));
    out->packing->begun = true;
}

static void write_part(struct kymo_outfile *out, const struct kymo_gzip_part *part)
{
    begin_packed(out);
    write_out(out, part->deflated.bytes, part->deflated.len);
    kymo__gzip_add(&out->packing->file, part);
    out->written += part->length;
}

static void end_packed(struct kymo_outfile *out)
{
    uint8_t tail[KYMO__GZIP_TAIL];
    begin_packed(out);
    kymo__gzip_tail(&out->packing->file, tail);
    write_out(out, tail, sizeof(tail));
}

static void hand_on(struct kymo_outfile *out, const uint8_t *bytes, size_t len)
{
    if (!out->packing) {
        out->written += len;
        write_out(out, bytes, len);
        return;
    }
    struct kymo_packing *p = out->packing;
    int rc = kymo__gzip_part(p->deflater, bytes, len, &p->part);
    if (rc == 0)
        write_part(out, &p->part);
    else
        out->error = rc;
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
    if (len >= KYMO__OUTFILE_ROOM / 8 && !out->packing) { /* too large to be worth copying */
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

void kymo__outfile_add_part(struct kymo_outfile *out, const struct kymo_gzip_part *part)
{
    kymo__outfile_flush(out);
    if (!out->error)
        write_part(out, part);
}

/* Create a temporary file beside out->path. */
static int open_temporary(struct kymo_outfile *out)
{
    size_t size = strlen(out->path) + 32;
    out->temporary = kymo__alloc(size);
    if (!out->temporary)
        return -ENOMEM;
    for (int i = 0; i < NAMES_TRIED; i++) {
        snprintf(out->temporary, size, "%s.part-%ld-%d", out->path, (long)getpid(), i);
        out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
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

/* Is PATH a symbolic link made by another user? */
static bool is_planted(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && st.st_uid != geteuid();
}

static int open_path(struct kymo_outfile *out, const char *path)
{
    struct stat st;
    if (strcmp(path, "-") == 0) {
        out->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        return out->fd < 0 ? -errno : 0;
    }
    bool exists = !is_planted(path) && stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        return -EISDIR;
    if (exists && !S_ISREG(st.st_mode)) {
        out->fd = open(path, O_WRONLY | O_CLOEXEC);
        return out->fd < 0 ? -errno : 0;
    }
    if (exists && access(path, W_OK) < 0)
        return -errno; /* do not replace a file that we may not write to */
    /* Keep a link and replace its target. */
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

mode_t kymo__outfile_mode_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? st.st_mode & 0666 : 0600;
}

int kymo__outfile_open(struct kymo_outfile *out, const char *path, mode_t mode)
{
    *out = (struct kymo_outfile){.fd = -1, .mode = mode};
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
            end_packed(out);
    }
    if (out->temporary && keep && !out->error) {
        kymo__ours_mark(out->fd);
        fchmod(out->fd, out->mode);
    }
    /* Network file systems report a full disk only here. */
    if (out->fd >= 0 && close(out->fd) < 0 && !out->error && errno != EINTR)
        out->error = -errno;
    if (out->temporary) {
        if (keep && !out->error && rename(out->temporary, out->path) < 0)
            out->error = -errno;
        if (!keep || out->error)
            unlink(out->temporary);
    }
    packing_free(out->packing);
    kymo__free(out->path);
    kymo__free(out->temporary);
    kymo__free(out->bytes);
    out->fd = -1;
    out->packing = NULL;
    out->path = out->temporary = NULL;
    out->bytes = NULL;
    return out->error;
}
