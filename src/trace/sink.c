/* sink.c — see sink.h. */
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
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

/* May the existing file at PATH be replaced? It may when it is empty or a capture
   whose recorder is gone. */
static int replaceable(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    if (!S_ISREG(st.st_mode))
        return -KYMO_EOCCUPIED;
    if (st.st_size == 0)
        return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct kymo_file_header header;
    ssize_t n = kymo__file_read(fd, &header, sizeof(header), 0);
    close(fd);
    if (n < (ssize_t)sizeof(header) || memcmp(header.magic, KYMO__FILE_MAGIC, 8) != 0)
        return -KYMO_EOCCUPIED;
    char *live = kymo__live_path(path);
    if (!live)
        return -ENOMEM;
    bool recording = access(live, F_OK) == 0 && header.pid != (uint32_t)getpid() &&
                     kymo__process_alive(header.pid, header.process_start, header.boot) == 1;
    kymo__free(live);
    return recording ? -KYMO_EBUSYFILE : 0;
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

/* Remove an older capture at PATH together with its live file, which may also have been
   left alone. */
static int make_way(const char *path)
{
    int rc = replaceable(path);
    if (rc < 0 && rc != -ENOENT)
        return rc;
    char *live = kymo__live_path(path);
    if (!live)
        return -ENOMEM;
    if (begins_with(live, KYMO__LIVE_MAGIC))
        unlink(live);
    kymo__free(live);
    return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

/* PATH without symbolic links where it exists already, so that replacing it does
   not replace the link; to be freed. */
static char *resolved(const char *path)
{
    char *real = realpath(path, NULL);
    char *copy = real ? kymo__alloc_text(real, strlen(real)) : kymo__alloc_text(path, strlen(path));
    free(real);
    return copy;
}

int kymo__sink_check(const char *path)
{
    int rc = replaceable(path);
    if (rc != -ENOENT)
        return rc;
    /* Nothing there. Is there a directory for it? */
    char *copy = kymo__alloc_text(path, strlen(path));
    if (!copy)
        return -ENOMEM;
    char *slash = strrchr(copy, '/');
    if (slash)
        slash[slash == copy] = '\0';
    rc = slash && access(copy, F_OK) < 0 ? -errno : 0;
    kymo__free(copy);
    return rc;
}

int kymo__sink_move(struct kymo_sink *sink, const char *path)
{
    char *target = resolved(path), *live = target ? kymo__live_path(target) : NULL;
    int rc = live ? kymo__sink_check(target) : -ENOMEM;
    if (rc == 0 && rename(sink->path, target) < 0)
        rc = -errno;
    if (rc == 0 && begins_with(live, KYMO__LIVE_MAGIC))
        unlink(live);
    kymo__free(live);
    kymo__free(target);
    return rc;
}

int kymo__sink_create(struct kymo_sink *sink, const char *path, struct kymo_file_header *header)
{
    *sink = (struct kymo_sink){.fd = -1, .path = resolved(path)};
    if (!sink->path)
        return -ENOMEM;
    int rc = make_way(sink->path);
    if (rc < 0)
        goto fail;
    sink->fd = open(sink->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (sink->fd < 0) {
        rc = -errno;
        goto fail;
    }
    memcpy(header->magic, KYMO__FILE_MAGIC, sizeof(header->magic));
    header->major = KYMO__MAJOR;
    header->minor = KYMO__MINOR;
    header->header_bytes = sizeof(*header);
    header->crc = kymo__crc32c(header, offsetof(struct kymo_file_header, crc));
    rc = kymo__file_write(sink->fd, header, sizeof(*header), 0);
    if (rc < 0) {
        unlink(sink->path);
        goto fail;
    }
    sink->end = sizeof(*header);
    return 0;
fail:
    kymo__sink_close(sink);
    return rc;
}

int kymo__sink_append(struct kymo_sink *sink, const void *bytes, size_t len)
{
    int rc = kymo__file_write(sink->fd, bytes, len, sink->end);
    if (rc < 0) {
        /* Take back what was written of it: a reader then sees only whole blocks. */
        if (ftruncate(sink->fd, (off_t)sink->end) < 0 && !sink->error)
            sink->error = -errno;
        if (!sink->error)
            sink->error = rc;
        return rc;
    }
    sink->end += len;
    return 0;
}

/* Append another copy of the block at OFFSET, of type COPY. */
static int append_copy(struct kymo_sink *sink, uint64_t offset, struct kymo_block_header header,
                       struct kymo_buffer *scratch)
{
    size_t len = (size_t)kymo__block_bytes(&header);
    scratch->len = 0;
    int rc = kymo__buffer_reserve(scratch, len);
    if (rc < 0)
        return rc;
    ssize_t n = kymo__file_read(sink->fd, scratch->bytes, len, offset);
    if (n != (ssize_t)len)
        return n < 0 ? (int)n : -EIO;
    header.type = KYMO__BLOCK_COPY;
    kymo__block_seal(&header);
    memcpy(scratch->bytes, &header, sizeof(header));
    return kymo__sink_append(sink, scratch->bytes, len);
}

/* Call VISIT for every block up to END, in the order of the file. Reading the headers
   back keeps the recorder from remembering every block it ever wrote. */
static int each_block(struct kymo_sink *sink, uint64_t end,
                      int (*visit)(void *arg, uint64_t offset, const struct kymo_block_header *),
                      void *arg)
{
    uint64_t offset = sizeof(struct kymo_file_header);
    while (offset < end) {
        struct kymo_block_header header = {0};
        ssize_t n = kymo__file_read(sink->fd, &header, sizeof(header), offset);
        if (n != (ssize_t)sizeof(header) || !kymo__block_valid(&header))
            return n < 0 ? (int)n : -EIO; /* somebody else wrote into the file */
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
    struct kymo_index_entry *entries;
    size_t count;
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
    int rc = kymo__pack_bytes(f->packer, KYMO__BLOCK_INDEX, f->index_blocks, f->entries,
                              f->count * sizeof(*f->entries), &packed);
    if (rc == 0)
        rc = kymo__sink_append(f->sink, packed.bytes, packed.len);
    f->count = 0;
    f->index_blocks++;
    return rc;
}

static int index_block(void *arg, uint64_t offset, const struct kymo_block_header *header)
{
    struct finishing *f = arg;
    f->entries[f->count++] = (struct kymo_index_entry){offset, *header};
    return f->count == KYMO__INDEX_ENTRIES ? flush_index(f) : 0;
}

int kymo__sink_finish(struct kymo_sink *sink, struct kymo_packer *packer)
{
    struct finishing f = {.sink = sink, .packer = packer};
    f.entries = kymo__alloc(sizeof(*f.entries) * KYMO__INDEX_ENTRIES);
    if (!f.entries)
        return -ENOMEM;
    int rc = each_block(sink, sink->end, copy_definitions, &f);
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
    }
    kymo__buffer_fini(&f.scratch);
    kymo__free(f.entries);
    return rc;
}

void kymo__sink_close(struct kymo_sink *sink)
{
    if (sink->fd >= 0)
        close(sink->fd);
    kymo__free(sink->path);
    *sink = (struct kymo_sink){.fd = -1};
}
