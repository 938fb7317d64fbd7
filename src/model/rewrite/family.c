/* family.c — see family.h. */
#include "family.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

static const char FOLDER[] = ".d", MEMBER[] = ".kymo";

const char *kymo__family_metadata(const struct kymo_capture *capture, const char *key)
{
    const char *found, *value;
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &found, &value) == 0; i++)
        if (strcmp(found, key) == 0)
            return value;
    return NULL;
}

/* Add CAPTURE, opened from PATH; both belong to FAMILY afterwards. */
static int add_member(struct kymo_family *family, struct kymo_capture *capture, char *path)
{
    uint32_t count = family->count;
    if ((count & (count - 1)) == 0) { /* room for twice as many */
        size_t room = count ? count * 2 : 1;
        struct kymo_capture **captures = kymo__alloc(room * sizeof(*captures));
        char **paths = kymo__alloc(room * sizeof(*paths));
        if (!captures || !paths) {
            kymo__free(captures);
            kymo__free(paths);
            kymo_close(capture);
            kymo__free(path);
            return -ENOMEM;
        }
        if (count) {
            memcpy(captures, family->captures, count * sizeof(*captures));
            memcpy(paths, family->paths, count * sizeof(*paths));
        }
        kymo__free(family->captures);
        kymo__free(family->paths);
        family->captures = captures;
        family->paths = paths;
    }
    family->captures[count] = capture;
    family->paths[count] = path;
    family->count++;
    return 0;
}

/* Open the file NAME of FOLDER, and add it if it belongs to the family ID. */
static int open_member(struct kymo_family *family, const char *folder, const char *name,
                       const char *id)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = kymo__alloc(size);
    if (!path)
        return -ENOMEM;
    snprintf(path, size, "%s/%s", folder, name);
    struct kymo_capture *capture;
    int rc = kymo_open(path, &capture);
    if (rc < 0) {
        kymo__free(path);
        if (rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE)
            return rc;
        family->unreadable++;
        return 0;
    }
    const char *its = kymo__family_metadata(capture, "family");
    if (!its || strcmp(its, id) != 0) {
        kymo_close(capture);
        kymo__free(path);
        return 0;
    }
    return add_member(family, capture, path);
}

static kymo_ns start_of(const struct kymo_capture *capture)
{
    struct kymo_info info = {.size = offsetof(struct kymo_info, samples)};
    kymo_capture_info(capture, &info);
    return info.start;
}

struct place {
    kymo_ns start;
    struct kymo_capture *capture;
    char *path;
};

static int by_start(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* Sort the children by their start. */
static int sort_members(struct kymo_family *family)
{
    uint32_t count = family->count - 1;
    struct place *places = count ? kymo__alloc(count * sizeof(*places)) : NULL;
    if (!places)
        return count ? -ENOMEM : 0;
    for (uint32_t i = 0; i < count; i++)
        places[i] = (struct place){start_of(family->captures[i + 1]), family->captures[i + 1],
                                   family->paths[i + 1]};
    qsort(places, count, sizeof(*places), by_start);
    for (uint32_t i = 0; i < count; i++) {
        family->captures[i + 1] = places[i].capture;
        family->paths[i + 1] = places[i].path;
    }
    kymo__free(places);
    return 0;
}

static int open_folder(struct kymo_family *family, const char *path, const char *id)
{
    size_t size = strlen(path) + sizeof(FOLDER);
    char *folder = kymo__alloc(size);
    if (!folder)
        return -ENOMEM;
    snprintf(folder, size, "%s%s", path, FOLDER);
    DIR *open = opendir(folder);
    int rc = 0;
    for (struct dirent *entry; rc == 0 && open && (entry = readdir(open));) {
        size_t len = strlen(entry->d_name), end = sizeof(MEMBER) - 1;
        if (len > end && entry->d_name[0] != '.' && strcmp(entry->d_name + len - end, MEMBER) == 0)
            rc = open_member(family, folder, entry->d_name, id);
    }
    if (open)
        closedir(open);
    kymo__free(folder);
    return rc;
}

int kymo__family_open(const char *path, struct kymo_family *family)
{
    *family = (struct kymo_family){0};
    struct kymo_capture *first;
    int rc = kymo_open(path, &first);
    if (rc < 0)
        return rc;
    char *copy = kymo__alloc_text(path, strlen(path));
    if (!copy) {
        kymo_close(first);
        return -ENOMEM;
    }
    rc = add_member(family, first, copy);
    const char *id = rc == 0 ? kymo__family_metadata(first, "family") : NULL;
    /* A child's own file is opened alone. */
    if (id && !kymo__family_metadata(first, "process.parent"))
        rc = open_folder(family, path, id);
    return rc < 0 ? rc : sort_members(family);
}

void kymo__family_close(struct kymo_family *family)
{
    for (uint32_t i = 0; i < family->count; i++) {
        kymo_close(family->captures[i]);
        kymo__free(family->paths[i]);
    }
    kymo__free(family->captures);
    kymo__free(family->paths);
    *family = (struct kymo_family){0};
}

static int64_t pid_of(const struct kymo_family *family, uint32_t index)
{
    return family->captures[index]->reader->header.pid;
}

/* Is TEXT a number? */
static bool read_number(const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

bool kymo__family_matches(const struct kymo_family *family, uint32_t index, const char *wanted)
{
    int64_t number;
    if (strncmp(wanted, "pid:", 4) == 0 && read_number(wanted + 4, &number))
        return pid_of(family, index) == number;
    if (strncmp(wanted, "rank:", 5) == 0) {
        const char *rank = kymo__family_metadata(family->captures[index], "rank");
        return rank && strcmp(rank, wanted + 5) == 0;
    }
    struct kymo_process_info process = {.size = sizeof(process), .name = ""};
    kymo_capture_process(family->captures[index], 0, &process);
    if (!read_number(wanted, &number) || strcmp(process.name, wanted) == 0)
        return strcmp(process.name, wanted) == 0;
    for (uint32_t i = 0; i < family->count; i++)
        if (pid_of(family, i) == number)
            return pid_of(family, index) == number;
    return index == number;
}
