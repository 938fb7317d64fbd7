/* launcher.c — see launcher.h. Children of the run NAME.kymo are in the folder NAME.kymo.d. */
#include "launcher.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "family.h"

/* The file of the first process of the run that has a child at PATH, in FIRST. False if PATH is not
   in the folder of a run. */
static bool find_first(const char *path, char first[PATH_MAX])
{
    if (!realpath(path, first))
        return false;
    char *end = strrchr(first, '/');
    if (!end || end - first < 3 || strncmp(end - 2, ".d", 2) != 0 || end[-3] == '/')
        return false;
    end[-2] = '\0';
    return true;
}

static bool has_ping(const struct kymo_pings *pings, const struct kymo_ping *ping)
{
    for (size_t i = 0; i < pings->count; i++)
        if (memcmp(pings->all[i].peer, ping->peer, sizeof(ping->peer)) == 0 &&
            pings->all[i].sent == ping->sent)
            return true;
    return false;
}

/* Add the pings of FIRST to PINGS. Its notes are together there or not at all. */
static int add_pings(struct kymo_pings *pings, const struct kymo_capture *first)
{
    struct kymo_pings more = {0};
    int rc = kymo__pings_read(&more, first);
    bool known = rc == 0 && more.count && has_ping(pings, &more.all[0]);
    for (size_t i = 0; rc == 0 && !known && i < more.count; i++) {
        rc = kymo__array_grow(&pings->all, &pings->room, pings->count, sizeof(*pings->all));
        if (rc == 0)
            pings->all[pings->count++] = more.all[i];
    }
    kymo__pings_fini(&more);
    return rc;
}

int kymo__launcher_pings(struct kymo_pings *pings, const struct kymo_hostclock *clock,
                         const struct kymo_capture *capture, const char *path)
{
    const char *run = kymo__family_metadata(capture, "family");
    if (!run || !kymo__family_metadata(capture, "process.parent") ||
        kymo__family_metadata(capture, "merged"))
        return 0;
    char name[PATH_MAX];
    struct kymo_capture *first;
    if (!find_first(path, name))
        return -ENOENT;
    int rc = kymo_open(name, &first);
    if (rc < 0)
        return rc == -ENOMEM ? rc : -ENOENT;
    const char *its = kymo__family_metadata(first, "family");
    struct kymo_hostclock other;
    kymo__hostclock_read(first, &other);
    if (!its || strcmp(its, run) != 0)
        rc = -ENOENT;
    else if (kymo__hostclock_same_boot(clock, &other))
        rc = add_pings(pings, first);
    kymo_close(first);
    return rc;
}
