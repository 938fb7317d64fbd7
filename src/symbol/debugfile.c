/* debugfile.c — see debugfile.h. */
#include "debugfile.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#define DIRS_DEFAULT "/usr/lib/debug"

/* Copy the next directory of the list at *LIST to DIR; false at its end. */
static bool next_dir(const char **list, char *dir, size_t size)
{
    while (**list) {
        size_t len = strcspn(*list, ":");
        const char *text = *list;
        *list += len + ((*list)[len] == ':');
        if (len == 0 || len >= size)
            continue;
        memcpy(dir, text, len);
        dir[len] = '\0';
        return true;
    }
    return false;
}

static const char *dirs(void)
{
    const char *set = getenv("KYMO_DEBUG_DIRS");
    return set ? set : DIRS_DEFAULT;
}

bool kymo__debugfile_is(const struct kymo_elf *elf, struct kymo_build_id id)
{
    return id.len && elf->build_id_bytes == id.len && memcmp(elf->build_id, id.bytes, id.len) == 0;
}

static int open_if(const char *path, struct kymo_build_id id, struct kymo_elf *elf)
{
    int rc = kymo__elf_open(elf, path);
    if (rc == 0 && !kymo__debugfile_is(elf, id)) {
        kymo__elf_fini(elf);
        rc = -ENOENT;
    }
    return rc;
}

int kymo__debugfile_by_id(struct kymo_build_id id, struct kymo_elf *debug)
{
    char dir[PATH_MAX], hex[2 * KYMO__BUILD_ID_MOST + 1], path[PATH_MAX + sizeof(hex) + 32];
    if (id.len < 2 || id.len > KYMO__BUILD_ID_MOST)
        return -ENOENT;
    for (uint32_t i = 0; i < id.len; i++)
        snprintf(hex + (size_t)2 * i, 3, "%02x", id.bytes[i]);
    const char *list = dirs();
    while (next_dir(&list, dir, sizeof(dir))) {
        snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", dir, hex, hex + 2);
        if (open_if(path, id, debug) == 0)
            return 0;
    }
    return -ENOENT;
}

/* ---- by link ---- */

struct link {
    const char *name;
    uint32_t checksum;
    const struct kymo_elf *from;
};

static bool has_checksum(const struct kymo_elf *elf, uint32_t checksum)
{
    uLong sum = crc32(0, Z_NULL, 0);
    for (size_t at = 0; at < elf->image.len;) {
        size_t left = elf->image.len - at;
        uInt now = left > (1u << 28) ? 1u << 28 : (uInt)left;
        sum = crc32(sum, elf->image.at + at, now);
        at += now;
    }
    return (uint32_t)sum == checksum;
}

/* The link may name the file that contains it, which never helps. If both have a build id, that
   decides, and the file need not be checksummed. */
static int open_linked(const char *path, const struct link *link, struct kymo_elf *debug)
{
    const struct kymo_elf *from = link->from;
    int rc = kymo__elf_open(debug, path);
    if (rc < 0)
        return rc;
    bool same = from->mapped && debug->device == from->device && debug->inode == from->inode;
    bool fits = from->build_id_bytes && debug->build_id_bytes
                    ? kymo__debugfile_is(
                          debug, (struct kymo_build_id){from->build_id, from->build_id_bytes})
                    : has_checksum(debug, link->checksum);
    if (!same && fits)
        return 0;
    kymo__elf_fini(debug);
    return -ENOENT;
}

/* The directory of PATH, with its slash. */
static size_t dir_len(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

int kymo__debugfile_by_link(struct kymo_elf *elf, struct kymo_elf *debug)
{
    const char *path = elf->path ? elf->path : "";
    struct kymo_view section = kymo__elf_content_named(elf, ".gnu_debuglink");
    struct kymo_bytes bytes = kymo__bytes(section, 0);
    struct link link = {.name = kymo__bytes_text(&bytes), .from = elf};
    if (!link.name || !*link.name || strchr(link.name, '/'))
        return -ENOENT;
    kymo__bytes_skip(&bytes, -(strlen(link.name) + 1) & 3u);
    link.checksum = kymo__bytes_u32(&bytes);
    if (bytes.bad)
        return -ENOENT;
    char full[PATH_MAX], dir[PATH_MAX], found[3 * PATH_MAX];
    int here = (int)dir_len(path);
    snprintf(found, sizeof(found), "%.*s%s", here, path, link.name);
    if (open_linked(found, &link, debug) == 0)
        return 0;
    snprintf(found, sizeof(found), "%.*s.debug/%s", here, path, link.name);
    if (open_linked(found, &link, debug) == 0)
        return 0;
    /* The global directories mirror /, with links resolved. */
    if (!realpath(path, full))
        return -ENOENT;
    const char *list = dirs();
    while (next_dir(&list, dir, sizeof(dir))) {
        snprintf(found, sizeof(found), "%s%.*s%s", dir, (int)dir_len(full), full, link.name);
        if (open_linked(found, &link, debug) == 0)
            return 0;
    }
    return -ENOENT;
}

int kymo__debugfile_shared(struct kymo_elf *debug, struct kymo_elf *shared)
{
    const char *path = debug->path ? debug->path : "";
    struct kymo_view section = kymo__elf_content_named(debug, ".gnu_debugaltlink");
    struct kymo_bytes bytes = kymo__bytes(section, 0);
    const char *name = kymo__bytes_text(&bytes);
    struct kymo_build_id id = {bytes.at, (uint32_t)kymo__bytes_left(&bytes)};
    if (!name || !*name || id.len == 0 || id.len > KYMO__BUILD_ID_MOST)
        return -ENOENT;
    char found[2 * PATH_MAX], dir[PATH_MAX];
    snprintf(found, sizeof(found), "%.*s%s", name[0] == '/' ? 0 : (int)dir_len(path), path, name);
    if (open_if(found, id, shared) == 0)
        return 0;
    /* Made for /usr/lib/debug/.dwz, whatever the directory is called here. */
    const char *dwz = strstr(name, ".dwz/"), *list = dirs();
    while (dwz && next_dir(&list, dir, sizeof(dir))) {
        snprintf(found, sizeof(found), "%s/%s", dir, dwz);
        if (open_if(found, id, shared) == 0)
            return 0;
    }
    return kymo__debugfile_by_id(id, shared);
}

/* ---- by the network ---- */

int kymo__debugfile_by_net(struct kymo_build_id id, struct kymo_elf *debug)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    if (!servers || !*servers || id.len == 0 || id.len > KYMO__BUILD_ID_MOST)
        return -ENOENT;
    void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return -ENOENT;
    void *(*begin)(void);
    int (*find)(void *client, const unsigned char *id, int len, char **path);
    void (*end)(void *client);
    void *symbols[] = {dlsym(library, "debuginfod_begin"),
                       dlsym(library, "debuginfod_find_debuginfo"),
                       dlsym(library, "debuginfod_end")};
    int rc = -ENOENT;
    if (symbols[0] && symbols[1] && symbols[2]) {
        memcpy(&begin, &symbols[0], sizeof(begin));
        memcpy(&find, &symbols[1], sizeof(find));
        memcpy(&end, &symbols[2], sizeof(end));
        void *client = begin();
        int fd = client ? find(client, id.bytes, (int)id.len, NULL) : -1;
        if (fd >= 0) {
            rc = kymo__elf_open_fd(debug, fd);
            close(fd);
            if (rc == 0 && !kymo__debugfile_is(debug, id)) {
                kymo__elf_fini(debug);
                rc = -ENOENT;
            }
        }
        if (client)
            end(client);
    }
    /* The library stays loaded: it may have started threads. */
    return rc;
}
