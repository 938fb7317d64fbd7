/* live.c — see live.h. */
#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "alloc.h"
#include "atomic.h"
#include "file.h"
#include "mapped.h"
#include "sink.h"
#include "spare.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define HEADER_BYTES 4096u
#define FEWEST 16u /* fewest chunks that a session can work with */
#define PLENTY ((uint64_t)64 << 20)
#define OWED 2u /* chunks that a brief file has room for from the beginning */
#define SLOT_BYTES(gaps, expired) (((gaps) + (expired)) * sizeof(struct kymo_gap_slot))
static_assert(SLOT_BYTES(KYMO__GAP_SLOTS, KYMO__EXPIRED_SLOTS) % 4096 == 0 &&
                  SLOT_BYTES(KYMO__GAP_SLOTS_BRIEF, KYMO__EXPIRED_SLOTS_BRIEF) % 4096 == 0,
              "chunks begin on a page");

/* On a copy-on-write file system, every store after a write-back would need new space. Without
   copying, reserved space stays reserved. Other file systems ignore the flag. */
static void forbid_copy_on_write(int fd)
{
    int flags = 0;
    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_NOCOW_FL;
        ioctl(fd, FS_IOC_SETFLAGS, &flags);
    }
}

static int reserve_space(int fd, uint64_t offset, uint64_t len)
{
    struct kymo_quiet quiet;
    kymo__quiet_begin(&quiet);
    int rc = fallocate(fd, 0, (off_t)offset, (off_t)len) < 0 ? -errno : 0;
    kymo__quiet_end(&quiet, rc);
    return rc;
}

/* The device of the last file for which space was reserved. Forked children inherit it. */
static uint64_t reserving;

/* May space for a brief file be reserved later? Only where it can be reserved at all, and if so much
   is free that it will not be used up within moments. */
static bool may_owe(const struct kymo_live *live)
{
    struct statvfs disk;
    return live->brief && live->file.device == kymo__load_relaxed(&reserving) &&
           fstatvfs(live->file.fd, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize >= PLENTY;
}

/* Extend the file to LEN bytes without reserving space. */
static int owe_space(struct kymo_live *live, uint64_t len)
{
    struct kymo_quiet quiet;
    kymo__quiet_begin(&quiet);
    int rc = ftruncate(live->file.fd, (off_t)len) < 0 ? -errno : 0;
    kymo__quiet_end(&quiet, rc);
    if (rc == 0)
        live->owed = len;
    return rc;
}

/* The length of a brief file that has not grown. */
static uint64_t brief_bytes(const struct kymo_live *live)
{
    return live->chunk_offset + OWED * KYMO__CHUNK_BYTES;
}

/* Set the length of the empty file; one that was HANDED_ON has it. */
static int begin_file(struct kymo_live *live, bool handed_on)
{
    if (may_owe(live)) {
        if (!handed_on)
            return owe_space(live, brief_bytes(live));
        live->owed = brief_bytes(live);
        return 0;
    }
    int rc = reserve_space(live->file.fd, 0, live->chunk_offset);
    if (rc == 0)
        kymo__store_relaxed(&reserving, live->file.device);
    return rc;
}

/* The header is written before anything catches SIGBUS. Where it has no space, for example because
   of a quota, nothing is left for later. */
static int touch_header(struct kymo_live *live)
{
    if (!live->owed || madvise(live->header, HEADER_BYTES, MADV_POPULATE_WRITE) == 0)
        return 0;
    live->owed = 0;
    return reserve_space(live->file.fd, 0, live->chunk_offset);
}

/* The mapping covers the whole budget, the file only what is reserved. Chunks beyond that are not
   handed out, so nothing touches them. */
static int map_memory(struct kymo_live *live)
{
    void *map = mmap(NULL, live->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, live->file.fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    live->header = map;
    int rc = touch_header(live);
    if (rc < 0) {
        munmap(map, live->mapped);
        live->header = NULL;
    }
    return rc;
}

/* Open and map the file. On a negative errno nothing is left behind. */
static int map_file(struct kymo_live *live, const char *path)
{
    live->path = kymo__live_path(path);
    if (!live->path)
        return -ENOMEM;
    int fd = live->brief ? kymo__spare_take(live->path, brief_bytes(live)) : -1;
    const bool handed_on = fd >= 0;
    if (!handed_on)
        fd = open(live->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int rc = fd < 0 ? -errno : kymo__owned_init(&live->file, fd);
    if (fd >= 0) {
        if (!handed_on)
            forbid_copy_on_write(live->file.fd);
        if (rc == 0)
            rc = begin_file(live, handed_on);
        if (rc == 0)
            rc = map_memory(live);
        if (rc == 0)
            return 0;
        unlink(live->path);
        kymo__owned_close(&live->file);
    }
    kymo__free(live->path);
    live->path = NULL;
    return rc;
}

int kymo__live_create(struct kymo_live *live, const char *path, const uint8_t capture[16],
                      uint32_t limit, bool brief)
{
    *live = (struct kymo_live){.file.fd = -1, .limit = limit, .brief = brief};
    live->gap_slots = brief ? KYMO__GAP_SLOTS_BRIEF : KYMO__GAP_SLOTS;
    live->expired_slots = brief ? KYMO__EXPIRED_SLOTS_BRIEF : KYMO__EXPIRED_SLOTS;
    live->chunk_offset = HEADER_BYTES + SLOT_BYTES(live->gap_slots, live->expired_slots);
    live->mapped = live->chunk_offset + (size_t)limit * KYMO__CHUNK_BYTES;
    live->reason = map_file(live, path);
    if (!live->header) {
        live->header = kymo__pages_new(live->mapped);
        if (!live->header)
            return -ENOMEM;
    }
    /* A child must neither see our chunks nor keep them mapped. Whether it may record is decided
       elsewhere; it could not do so here. */
    madvise(live->header, live->mapped, MADV_DONTFORK);
    /* Else the kernel reads the pages around each one that is touched. */
    if (brief)
        madvise(live->header, live->mapped, MADV_RANDOM);
    live->gaps = (void *)((char *)live->header + HEADER_BYTES);
    live->expired = live->gaps + live->gap_slots;
    live->chunks = (void *)((char *)live->header + live->chunk_offset);
    *live->header = (struct kymo_live_header){
        .major = KYMO__MAJOR,
        .minor = KYMO__MINOR,
        .header_bytes = HEADER_BYTES,
        .chunk_bytes = KYMO__CHUNK_BYTES,
        .gap_slots = live->gap_slots + live->expired_slots,
        .gap_offset = HEADER_BYTES,
        .chunk_offset = live->chunk_offset,
    };
    memcpy(live->header->capture, capture, sizeof(live->header->capture));
    memcpy(live->header->magic, KYMO__LIVE_MAGIC, sizeof(live->header->magic));
    return 0;
}

/* The file's length: up to the chunks that are ready. */
static uint64_t file_bytes(const struct kymo_live *live)
{
    return live->chunk_offset + (uint64_t)kymo__load_acquire(&live->ready) * KYMO__CHUNK_BYTES;
}

/* Touch COUNT chunks after those that are ready. */
static void touch_chunks(struct kymo_live *live, uint32_t count)
{
    struct kymo_chunk *first = &live->chunks[live->ready];
    size_t bytes = (size_t)count * KYMO__CHUNK_BYTES;
    if (live->brief)
        madvise(first, bytes, MADV_NORMAL);
    if (madvise(first, bytes, MADV_POPULATE_WRITE) == 0)
        return;
    for (size_t at = 0; at < bytes; at += 4096)
        kymo__store_relaxed((uint64_t *)((char *)first + at), 0);
}

/* Return the descriptor, reopening the file if the program closed it. */
static int descriptor(struct kymo_live *live)
{
    return kymo__owned_is(&live->file) ? 0 : kymo__owned_reopen(&live->file, live->path);
}

/* Does the disk have room for BYTES more, and for as much again as the live file then takes? True
   if unknown. */
static bool leaves_room(const struct kymo_live *live, uint64_t bytes)
{
    struct statvfs disk;
    if (fstatvfs(kymo__load_acquire(&live->file.fd), &disk) < 0 || !disk.f_blocks)
        return true;
    uint64_t has = file_bytes(live) + bytes;
    return (uint64_t)disk.f_bavail * disk.f_frsize >= bytes + has;
}

/* Reserve space for *MORE chunks after those that are ready. The first few are needed even if
   little space is left; *MORE may then be reduced. */
static int extend(struct kymo_live *live, uint32_t *more)
{
    int rc = descriptor(live);
    if (rc < 0)
        return rc;
    if (!kymo__live_is_whole(live))
        return KYMO_ECUT;
    if (!live->ready && live->owed) { /* later the writer thread may be changing it */
        uint64_t len = live->chunk_offset + (uint64_t)*more * KYMO__CHUNK_BYTES;
        return len > live->owed ? owe_space(live, len) : 0;
    }
    if (!leaves_room(live, (uint64_t)*more * KYMO__CHUNK_BYTES)) {
        if (live->ready)
            return -ENOSPC;
        *more = *more < FEWEST ? *more : FEWEST;
    }
    return reserve_space(kymo__load_acquire(&live->file.fd), file_bytes(live),
                         (uint64_t)*more * KYMO__CHUNK_BYTES);
}

int kymo__live_rename(struct kymo_live *live, const char *path)
{
    if (!live->path)
        return 0;
    char *name = kymo__live_path(path);
    if (!name)
        return -ENOMEM;
    int rc = strcmp(live->path, name) != 0 && rename(live->path, name) < 0 ? -errno : 0;
    if (rc < 0) {
        kymo__free(name);
        return rc;
    }
    kymo__free(live->path);
    live->path = name;
    return 0;
}

bool kymo__live_is_whole(struct kymo_live *live)
{
    struct stat st;
    if (!live->path)
        return true;
    /* First: another thread may extend the file meanwhile. */
    const uint64_t expected = file_bytes(live);
    return descriptor(live) == 0 && fstat(kymo__load_acquire(&live->file.fd), &st) == 0 &&
           (uint64_t)st.st_size >= expected;
}

void kymo__live_settle(struct kymo_live *live)
{
    if (live->owed && descriptor(live) == 0 &&
        reserve_space(kymo__load_acquire(&live->file.fd), 0, live->owed) == 0)
        live->owed = 0;
}

uint32_t kymo__live_grow(struct kymo_live *live, uint32_t more)
{
    uint32_t left = live->limit - live->ready;
    if (more > left)
        more = left;
    if (!more)
        return 0;
    if (live->path) {
        int rc = extend(live, &more);
        kymo__store_relaxed(&live->full, (uint32_t)(rc < 0));
        if (rc < 0) {
            live->reason = rc;
            return 0;
        }
    }
    if (!live->brief || live->ready)
        touch_chunks(live, more);
    kymo__store_release(&live->ready, live->ready + more); /* the writer thread looks */
    kymo__store_release(&live->header->chunks, live->ready);
    return more;
}

/* Remove the file, unless somebody else has its name by now: if the capture was deleted, another
   process may be recording there. */
static void remove_file(const struct kymo_live *live)
{
    struct stat st;
    if (lstat(live->path, &st) == 0 && st.st_dev == live->file.device &&
        st.st_ino == live->file.inode)
        unlink(live->path);
}

void kymo__live_forsake(struct kymo_live *live, bool keep)
{
    live->limit = live->ready; /* it stops growing */
    if (live->path && !keep)
        remove_file(live);
    kymo__owned_close(&live->file);
    kymo__free(live->path);
    live->path = NULL;
}

void kymo__live_leave(struct kymo_live *live, bool keep)
{
    const bool handed_on = live->brief && live->path && !keep && live->ready <= OWED &&
                           kymo__spare_leave(live, brief_bytes(live));
    kymo__live_forsake(live, keep || handed_on);
}

void kymo__live_close(struct kymo_live *live, bool keep)
{
    void *memory = live->header;
    kymo__live_leave(live, keep);
    if (memory)
        munmap(memory, live->mapped);
    *live = (struct kymo_live){.file.fd = -1};
}
