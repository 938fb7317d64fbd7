/* live.c — see live.h. */
#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "alloc.h"
#include "atomic.h"
#include "file.h"
#include "sink.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define HEADER_BYTES 4096u
#define SLOTS (KYMO__GAP_SLOTS + KYMO__EXPIRED_SLOTS)
#define GAP_BYTES (SLOTS * sizeof(struct kymo_gap_slot))
#define CHUNK_OFFSET (HEADER_BYTES + GAP_BYTES)
static_assert(CHUNK_OFFSET % 4096 == 0, "chunks begin on a page");

/* On a copy-on-write file system every store after a write-back would need new room;
   without copying, what is reserved stays reserved. Others do not know the flag. */
static void forbid_copy_on_write(int fd)
{
    int flags = 0;
    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_NOCOW_FL;
        ioctl(fd, FS_IOC_SETFLAGS, &flags);
    }
}

static int reserve(int fd, uint64_t offset, uint64_t len)
{
    struct kymo_quiet quiet;
    kymo__quiet_begin(&quiet);
    int rc = fallocate(fd, 0, (off_t)offset, (off_t)len) < 0 ? -errno : 0;
    kymo__quiet_end(&quiet);
    return rc;
}

/* Open and map the file; negative errno leaves nothing behind. */
static int map_file(struct kymo_live *live, const char *path, size_t bytes)
{
    live->path = kymo__live_path(path);
    if (!live->path)
        return -ENOMEM;
    live->fd = open(live->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (live->fd < 0) {
        int rc = -errno;
        kymo__free(live->path);
        live->path = NULL;
        return rc;
    }
    forbid_copy_on_write(live->fd);
    int rc = reserve(live->fd, 0, CHUNK_OFFSET);
    if (rc == 0) {
        /* The mapping reaches over the whole budget; the file only over what is
           reserved. Chunks beyond are not handed out, so nothing touches them. */
        void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, live->fd, 0);
        if (map != MAP_FAILED) {
            live->header = map;
            return 0;
        }
        rc = -errno;
    }
    unlink(live->path);
    close(live->fd);
    kymo__free(live->path);
    live->path = NULL;
    live->fd = -1;
    return rc;
}

int kymo__live_create(struct kymo_live *live, const char *path, const uint8_t capture[16],
                      uint32_t limit)
{
    size_t bytes = CHUNK_OFFSET + (size_t)limit * KYMO__CHUNK_BYTES;
    *live = (struct kymo_live){.fd = -1, .limit = limit, .mapped = bytes};
    live->reason = map_file(live, path, bytes);
    if (!live->header) {
        void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map == MAP_FAILED)
            return -ENOMEM;
        live->header = map;
    }
    /* A child must neither see our chunks nor keep them; whether it may record is
       decided elsewhere, but it could not do so here. */
    madvise(live->header, bytes, MADV_DONTFORK);
    live->gaps = (void *)((char *)live->header + HEADER_BYTES);
    live->expired = live->gaps + KYMO__GAP_SLOTS;
    live->chunks = (void *)((char *)live->header + CHUNK_OFFSET);
    *live->header = (struct kymo_live_header){
        .major = KYMO__MAJOR,
        .minor = KYMO__MINOR,
        .header_bytes = HEADER_BYTES,
        .chunk_bytes = KYMO__CHUNK_BYTES,
        .gap_slots = SLOTS,
        .gap_offset = HEADER_BYTES,
        .chunk_offset = CHUNK_OFFSET,
    };
    memcpy(live->header->capture, capture, sizeof(live->header->capture));
    memcpy(live->header->magic, KYMO__LIVE_MAGIC, sizeof(live->header->magic));
    return 0;
}

static void touch(struct kymo_chunk *first, uint32_t count)
{
    size_t bytes = (size_t)count * KYMO__CHUNK_BYTES;
    if (madvise(first, bytes, MADV_POPULATE_WRITE) == 0)
        return;
    for (size_t at = 0; at < bytes; at += 4096)
        kymo__store_relaxed((uint64_t *)((char *)first + at), 0);
}

uint32_t kymo__live_grow(struct kymo_live *live, uint32_t more)
{
    uint32_t left = live->limit - live->ready;
    if (more > left)
        more = left;
    if (!more)
        return 0;
    uint64_t offset = CHUNK_OFFSET + (uint64_t)live->ready * KYMO__CHUNK_BYTES;
    if (live->fd >= 0) {
        int rc = reserve(live->fd, offset, (uint64_t)more * KYMO__CHUNK_BYTES);
        kymo__store_relaxed(&live->full, (uint32_t)(rc < 0));
        if (rc < 0) {
            live->reason = rc;
            return 0;
        }
    }
    touch(&live->chunks[live->ready], more);
    live->ready += more;
    kymo__store_release(&live->header->chunks, live->ready);
    return more;
}

void kymo__live_close(struct kymo_live *live, bool keep)
{
    if (live->header)
        munmap(live->header, live->mapped);
    if (live->fd >= 0)
        close(live->fd);
    if (live->path && !keep)
        unlink(live->path);
    kymo__free(live->path);
    *live = (struct kymo_live){.fd = -1};
}
