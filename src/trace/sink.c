/* sink.c — see sink.h. */
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "crc32c.h"
#include "file.h"
#include "procid.h"

char *kymo__live_path(const char *path)
{
    size_t len = strlen(path);
    char *live = kymo__alloc(len + sizeof(".live"));
    if (!live)
        return NULL;
    memcpy(live, path, len);
    memcpy(live + len, ".live", sizeof(".live"));
    return live;
}

/* ---- ownership of the file ---- */

/* Is the recorder that made the file at PATH a live process of this PID namespace? For file systems
   without locks, and programs that closed our descriptor. */
static bool recorder_lives(const struct kymo_file_header *header, const char *path)
{
    char *live = kymo__live_path(path);
    bool lives = live && access(live, F_OK) == 0 && header->pid != (uint32_t)getpid() &&
                 kymo__process_alive(header->pid, header->process_start, header->boot) == 1;
    kymo__free(live);
    return lives;
}

/* May the file at PATH be replaced? Only if it is empty or a capture whose recorder is gone. On
   success *FD is open and locked, so that nobody else replaces it. Returns -ENOENT if nothing is
   there. */
static int open_replaceable(const char *path, int *fd)
{
    struct stat st;
    struct kymo_file_header header;
    if (stat(path, &st) < 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    if (!S_ISREG(st.st_mode))
        return KYMO_EOCCUPIED;
    *fd = open(path, O_RDWR | O_CLOEXEC);
    bool writable = *fd >= 0;
    if (!writable)
        *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return -errno;
    ssize_t n = kymo__file_read(*fd, &header, sizeof(header), 0);
    int rc = 0;
    if (n != 0 && (n < (ssize_t)sizeof(header) || memcmp(header.magic, KYMO__FILE_MAGIC, 8) != 0))
        rc = n < 0 ? (int)n : KYMO_EOCCUPIED;
    else if (kymo__file_lock(*fd, writable) == -EAGAIN || (n != 0 && recorder_lives(&header, path)))
        rc = KYMO_EBUSYFILE;
    if (rc < 0) {
        kymo__file_unlock(*fd);
        close(*fd);
    }
    return rc;
}

int kymo__sink_check(const char *path)
{
    int fd = -1;
    int rc = open_replaceable(path, &fd);
    if (rc == 0) {
        kymo__file_unlock(fd);
        close(fd);
    }
    return rc == -ENOENT ? 0 : rc;
}

/* Is FD still the file at PATH? */
static bool is_at(int fd, const char *path)
{
    struct stat here, there;
    return fstat(fd, &here) == 0 && stat(path, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

/* Does the file at PATH begin with MAGIC? */
static bool begins_with(const char *path, const char magic[8])
{
    char bytes[8];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    ssize_t n = kymo__file_read(fd, bytes, sizeof(bytes), 0);
    close(fd);
    return n == (ssize_t)sizeof(bytes) && memcmp(bytes, magic, sizeof(bytes)) == 0;
}

/* ---- names ---- */

/* Return PATH as absolute, with symbolic links resolved where it exists, so that replacing it does
   not replace the link. The caller frees it. The program may change its directory meanwhile. */
static char *resolved(const char *path)
{
    char real[PATH_MAX], directory[PATH_MAX];
    if (realpath(path, real))
        return kymo__alloc_text(real, strlen(real));
    if (path[0] == '/' || !getcwd(directory, sizeof(directory)))
        return kymo__alloc_text(path, strlen(path));
    size_t size = strlen(directory) + strlen(path) + 2;
    char *whole = kymo__alloc(size);
    if (whole)
        snprintf(whole, size, "%s/%s", directory, path);
    return whole;
}

/* Return an unused name beside PATH; the caller frees it. */
static char *temporary_beside(const char *path, const uint8_t capture[16])
{
    const char *slash = strrchr(path, '/');
    size_t directory = slash ? (size_t)(slash - path) + 1 : 0, size = directory + 40;
    char *name = kymo__alloc(size);
    uint64_t number;
    memcpy(&number, capture, sizeof(number));
    if (name)
        snprintf(name, size, "%.*s.kymo-%016llx.part", (int)directory, path,
                 (unsigned long long)(number ^ (uint64_t)getpid()));
    return name;
}

/* Rename FROM to TO, which must not exist. Returns -EEXIST if it does. */
static int rename_to_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (link(from, to) == 0) {
        unlink(from);
        return 0;
    }
    /* This file system can do neither in one step. */
    return errno == EEXIST || rename(from, to) < 0 ? -errno : 0;
}

static int rename_over_old(struct kymo_sink *sink)
{
    int old = -1, rc = open_replaceable(sink->path, &old);
    if (rc == -ENOENT)
        return rename_to_new(sink->temporary, sink->path);
    if (rc < 0)
        return rc;
    /* Locked: anyone else who looks at it is refused, or finds that it is no longer there. */
    if (!is_at(old, sink->path))
        rc = -EEXIST;
    else if (rename(sink->temporary, sink->path) < 0)
        rc = -errno;
    kymo__file_unlock(old);
    close(old);
    return rc;
}

/* Remove what an earlier capture may have left at LIVE. */
static void remove_live(const char *live)
{
    if (begins_with(live, KYMO__LIVE_MAGIC))
        unlink(live);
}

static bool has_final_name(const struct kymo_sink *sink)
{
    return strcmp(sink->temporary, sink->path) == 0;
}

static int publish_file(struct kymo_sink *sink)
{
    char *live = kymo__live_path(sink->path);
    int rc = live ? -EEXIST : -ENOMEM;
    for (int attempt = 0; rc == -EEXIST && attempt < 100; attempt++)
        rc = rename_over_old(sink);
    if (rc == 0)
        remove_live(live);
    kymo__free(live);
    return rc;
}

int kymo__sink_publish(struct kymo_sink *sink)
{
    int rc = has_final_name(sink) ? 0 : publish_file(sink);
    if (rc < 0)
        return rc;
    kymo__free(sink->temporary);
    sink->temporary = NULL;
    return 0;
}

/* ---- writing ---- */

static int create_file(struct kymo_sink *sink, const struct kymo_file_header *header)
{
    int fd = open(sink->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int rc = kymo__owned_init(&sink->file, fd);
    /* Somebody may have found it while it was not locked, and be replacing it or have done so. What
       is there now is theirs. */
    if (rc == 0 && (kymo__file_lock(sink->file.fd, true) == -EAGAIN || kymo__sink_deleted(sink)))
        return -EEXIST;
    if (rc == 0)
        rc = kymo__file_write(sink->file.fd, header, sizeof(*header), 0);
    if (rc < 0)
        unlink(sink->temporary);
    return rc;
}

static void complete_header(struct kymo_file_header *header)
{
    memcpy(header->magic, KYMO__FILE_MAGIC, sizeof(header->magic));
    header->major = KYMO__MAJOR;
    header->minor = KYMO__MINOR;
    header->header_bytes = sizeof(*header);
    header->crc = kymo__crc32c(header, offsetof(struct kymo_file_header, crc));
}

/* Create the file beside PATH, where something may be. */
static int create_beside(struct kymo_sink *sink, const char *path,
                         const struct kymo_file_header *header)
{
    int old = -1;
    sink->path = resolved(path);
    if (!sink->path)
        return -ENOMEM;
    int rc = open_replaceable(sink->path, &old);
    if (rc == 0) {
        kymo__file_unlock(old);
        close(old);
    }
    if (rc < 0 && rc != -ENOENT)
        return rc;
    sink->temporary = temporary_beside(sink->path, header->capture);
    return sink->temporary ? create_file(sink, header) : -ENOMEM;
}

/* Create the file at PATH, where nothing is. */
static int create_there(struct kymo_sink *sink, const char *path,
                        const struct kymo_file_header *header)
{
    char *live = kymo__live_path(path);
    sink->path = kymo__alloc_text(path, strlen(path));
    sink->temporary = kymo__alloc_text(path, strlen(path));
    int rc = live && sink->path && sink->temporary ? create_file(sink, header) : -ENOMEM;
    if (rc == 0)
        remove_live(live);
    kymo__free(live);
    return rc;
}

static int create_with(int (*create)(struct kymo_sink *, const char *,
                                     const struct kymo_file_header *),
                       struct kymo_sink *sink, const char *path, struct kymo_file_header *header)
{
    *sink = (struct kymo_sink){.file.fd = -1};
    complete_header(header);
    int rc = create(sink, path, header);
    if (rc == 0) {
        sink->end = sizeof(*header);
        return 0;
    }
    kymo__free(sink->temporary);
    sink->temporary = NULL;
    kymo__sink_close(sink);
    return rc;
}

int kymo__sink_create(struct kymo_sink *sink, const char *path, struct kymo_file_header *header)
{
    return create_with(create_beside, sink, path, header);
}

int kymo__sink_create_new(struct kymo_sink *sink, const char *path, struct kymo_file_header *header)
{
    int rc = path[0] == '/' ? create_with(create_there, sink, path, header) : -EEXIST;
    return rc == -EEXIST ? kymo__sink_create(sink, path, header) : rc;
}

/* Make sure that we have the file open under our own descriptor. */
static int hold_file(struct kymo_sink *sink)
{
    if (sink->finished || !sink->path)
        return -EBADF; /* too late */
    if (kymo__owned_is(&sink->file))
        return 0;
    if (kymo__owned_reopen(&sink->file, sink->temporary ? sink->temporary : sink->path) < 0) {
        sink->error = KYMO_ETAKEN;
        return KYMO_ETAKEN;
    }
    kymo__file_lock(sink->file.fd, true);
    return 0;
}

int kymo__sink_append(struct kymo_sink *sink, const void *bytes, size_t len)
{
    int rc = hold_file(sink);
    if (rc < 0)
        return rc;
    rc = kymo__file_write(sink->file.fd, bytes, len, sink->end);
    if (rc < 0) {
        /* Remove the part that was written, so that readers see only complete blocks. */
        if (ftruncate(sink->file.fd, (off_t)sink->end) < 0 && !sink->error)
            sink->error = -errno;
        if (!sink->error)
            sink->error = rc;
        return rc;
    }
    sink->end += len;
    return 0;
}

int kymo__sink_deleted(const struct kymo_sink *sink)
{
    struct stat st;
    return kymo__owned_is(&sink->file) && fstat(sink->file.fd, &st) == 0 && st.st_nlink == 0;
}

/* Append another copy of the block at OFFSET, as type COPY. */
static int append_copy(struct kymo_sink *sink, uint64_t offset, struct kymo_block_header header,
                       struct kymo_buffer *scratch)
{
    size_t len = (size_t)kymo__block_bytes(&header);
    if (len < sizeof(header))
        return -EIO;
    scratch->len = 0;
    int rc = kymo__buffer_reserve(scratch, len);
    if (rc < 0)
        return rc;
    ssize_t n = kymo__file_read(sink->file.fd, scratch->bytes, len, offset);
    if (n != (ssize_t)len)
        return n < 0 ? (int)n : -EIO;
    header.type = KYMO__BLOCK_COPY;
    kymo__block_seal(&header);
    memcpy(scratch->bytes, &header, sizeof(header));
    return kymo__sink_append(sink, scratch->bytes, len);
}

/* Call VISIT for every block up to END, in file order. Reading the headers back saves the recorder
   from remembering every block it wrote. */
static int each_block(struct kymo_sink *sink, uint64_t end,
                      int (*visit)(void *arg, uint64_t offset, const struct kymo_block_header *),
                      void *arg)
{
    uint64_t offset = sizeof(struct kymo_file_header);
    while (offset < end) {
        struct kymo_block_header header = {0};
        ssize_t n = kymo__file_read(sink->file.fd, &header, sizeof(header), offset);
        if (n != (ssize_t)sizeof(header) || !kymo__block_valid(&header))
            return n < 0 ? (int)n : -EIO; /* someone else wrote into the file */
        int rc = visit(arg, offset, &header);
        if (rc < 0)
            return rc;
        offset += kymo__block_bytes(&header);
    }
    return 0;
}

struct finishing {
    struct kymo_sink *sink;
    struct kymo_packer *packer;
    struct kymo_buffer scratch;
    struct kymo_buffer entries; /* struct kymo_index_entry each */
    uint32_t index_blocks;
};

static int copy_definitions(void *arg, uint64_t offset, const struct kymo_block_header *header)
{
    struct finishing *f = arg;
    return header->type == KYMO__BLOCK_DEFS ? append_copy(f->sink, offset, *header, &f->scratch)
                                            : 0;
}

static int flush_index(struct finishing *f)
{
    struct kymo_packed packed;
    int rc = kymo__pack_bytes(f->packer, KYMO__BLOCK_INDEX, f->index_blocks, f->entries.bytes,
                              f->entries.len, &packed);
    if (rc == 0)
        rc = kymo__sink_append(f->sink, packed.bytes, packed.len);
    f->entries.len = 0;
    f->index_blocks++;
    return rc;
}

static int index_block(void *arg, uint64_t offset, const struct kymo_block_header *header)
{
    struct finishing *f = arg;
    const struct kymo_index_entry entry = {offset, *header};
    int rc = kymo__buffer_add(&f->entries, &entry, sizeof(entry));
    bool full = f->entries.len == sizeof(entry) * KYMO__INDEX_ENTRIES;
    return rc == 0 && full ? flush_index(f) : rc;
}

int kymo__sink_finish(struct kymo_sink *sink, struct kymo_packer *packer)
{
    struct finishing f = {.sink = sink, .packer = packer};
    int rc = kymo__buffer_reserve(&f.entries, sizeof(struct kymo_index_entry)); /* never NULL */
    if (rc == 0)
        rc = hold_file(sink);
    if (rc == 0)
        rc = each_block(sink, sink->end, copy_definitions, &f);
    uint64_t index_offset = sink->end;
    if (rc == 0)
        rc = each_block(sink, index_offset, index_block, &f);
    if (rc == 0)
        rc = flush_index(&f);
    if (rc == 0) {
        struct kymo_footer footer = {
            .index_offset = index_offset, .index_blocks = f.index_blocks, .error = sink->error};
        memcpy(footer.magic, KYMO__FOOTER_MAGIC, sizeof(footer.magic));
        footer.crc = kymo__crc32c(&footer, offsetof(struct kymo_footer, crc));
        rc = kymo__sink_append(sink, &footer, sizeof(footer));
        sink->finished = rc == 0;
    }
    kymo__buffer_fini(&f.scratch);
    kymo__buffer_fini(&f.entries);
    return rc;
}

void kymo__sink_close(struct kymo_sink *sink)
{
    if (sink->temporary) /* while it is locked: later another file may have that name */
        unlink(sink->temporary);
    if (kymo__owned_is(&sink->file))
        kymo__file_unlock(sink->file.fd);
    kymo__owned_close(&sink->file);
    kymo__free(sink->temporary);
    kymo__free(sink->path);
    *sink = (struct kymo_sink){.file.fd = -1};
}
