/* spare.c — see spare.h. */
#include "spare.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "file.h"

enum { CLEARED_MOST = 8192 }; /* of a chunk: more takes longer than creating a file */

static const char FOLDER[] = ".kymo.d/";
static const char SPARE[] = "0-0.spare"; /* as if of process 0: cleared like captures of children */

/* The name of the spare file; the caller frees it. NULL if there can be none, or no memory. */
static char *spare_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    if (folder <= sizeof(FOLDER) - 1 ||
        memcmp(path + folder - (sizeof(FOLDER) - 1), FOLDER, sizeof(FOLDER) - 1) != 0)
        return NULL;
    char *spare = kymo__alloc(folder + sizeof(SPARE));
    if (spare) {
        memcpy(spare, path, folder);
        memcpy(spare + folder, SPARE, sizeof(SPARE));
    }
    return spare;
}

static bool rename_to_new(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0;
}

/* Is it a file that kymo__spare_leave left, and not one that somebody planted? */
static bool is_ours(int fd, uint64_t bytes)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
           (uint64_t)st.st_size == bytes && st.st_uid == geteuid() && (st.st_mode & 0777) == 0600;
}

int kymo__spare_take(const char *path, uint64_t bytes)
{
    char *spare = spare_path(path);
    if (!spare)
        return -1;
    bool taken = rename_to_new(spare, path);
    kymo__free(spare);
    if (!taken)
        return -1;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && is_ours(fd, bytes))
        return fd;
    if (fd >= 0)
        close(fd);
    unlink(path);
    return -1;
}

/* How many bytes of the records of CHUNK may not be zero; SIZE_MAX if that is unknown. */
static size_t chunk_dirty(const struct kymo_chunk *chunk)
{
    if (chunk->type == KYMO__BLOCK_DEFS)
        return (size_t)chunk->number + chunk->used; /* what was written out was there before */
    /* Whoever frees a chunk clears its records. */
    return chunk->state == KYMO__CHUNK_FREE ? 0 : SIZE_MAX;
}

static bool is_clearable(const struct kymo_live *live)
{
    for (uint32_t i = 0; i < live->ready; i++)
        if (chunk_dirty(&live->chunks[i]) > CLEARED_MOST)
            return false;
    return true;
}

static void clear_slots(struct kymo_gap_slot *slots, uint32_t count)
{
    static const struct kymo_gap_slot unused;
    for (uint32_t i = 0; i < count; i++) /* storing nothing into pages that nobody stored into */
        if (memcmp(&slots[i], &unused, sizeof(unused)) != 0)
            slots[i] = unused;
}

/* The header first: without it, nobody believes the rest. */
static void clear_all(struct kymo_live *live)
{
    memset(live->header, 0, sizeof(*live->header));
    clear_slots(live->gaps, live->gap_slots + live->expired_slots);
    for (uint32_t i = 0; i < live->ready; i++) {
        struct kymo_chunk *chunk = &live->chunks[i];
        memset(chunk, 0, offsetof(struct kymo_chunk, records) + chunk_dirty(chunk));
    }
}

bool kymo__spare_leave(struct kymo_live *live, uint64_t bytes)
{
    char *spare = spare_path(live->path);
    if (!spare)
        return false;
    /* A reader keeps it locked: what it has opened must not change. */
    bool left = kymo__owned_is(&live->file) && kymo__file_lock(live->file.fd, true) == 0;
    if (left) {
        left = is_ours(live->file.fd, bytes) && is_clearable(live);
        if (left) {
            clear_all(live);
            left = rename_to_new(live->path, spare);
        }
        kymo__file_unlock(live->file.fd);
    }
    kymo__free(spare);
    return left;
}
