/* align.c — align the clocks of several captures; see rewrite.h. */
#include <errno.h>

#include "alloc.h"
#include "hosts.h"
#include "launcher.h"
#include "rewrite.h"

/* The relation of the clock of PART to that of the FIRST part, whose captures are of HOST and of the
   first host. */
static struct kymo_relation relate_part(const struct kymo_hosts *hosts, int host,
                                        const struct kymo_part *first, const struct kymo_part *part,
                                        enum kymo_align how)
{
    struct kymo_info one = {.size = sizeof(one)}, two = {.size = sizeof(two)};
    kymo_capture_info(first->capture, &one);
    kymo_capture_info(part->capture, &two);
    if (how == KYMO__ALIGN_START)
        return (struct kymo_relation){.how = KYMO__RELATED_START,
                                      .shift = one.start - two.start,
                                      .error = -1,
                                      .drift_error = -1};
    if (how == KYMO__ALIGN_BEST)
        return kymo__relation_from(kymo__hosts_relate(hosts, 0, host), two.start);
    struct kymo_hostclock a, b;
    kymo__hostclock_read(first->capture, &a);
    kymo__hostclock_read(part->capture, &b);
    return kymo__relation_from(kymo__hostclock_relate(&a, &b, true), two.start);
}

/* Can the times of PART be compared with those of the FIRST? If not, ALIGNMENT says how far they are
   apart. */
static bool overlaps(const struct kymo_part *first, const struct kymo_part *part,
                     struct kymo_alignment *alignment)
{
    struct kymo_info one = {.size = sizeof(one)}, two = {.size = sizeof(two)};
    kymo_capture_info(first->capture, &one);
    kymo_capture_info(part->capture, &two);
    kymo_ns start = kymo__relation_time(&part->relation, two.start);
    kymo_ns end = kymo__relation_time(&part->relation, two.end);
    bool known = one.wall_start > 0 && two.wall_start > 0;
    if (known && start <= one.end && end >= one.start)
        return true;
    alignment->apart = !known ? 0 : start > one.end ? start - one.end : one.start - end;
    return false;
}

/* Where the first process of a run is not among PARTS, add what it noted of other clocks. Returns
   the number, from 1, of the last part whose first process was not found; 0 if all were; or
   -ENOMEM. */
static long add_launchers(const struct kymo_part *parts, size_t count, struct kymo_hosts *hosts,
                          const int *host_of)
{
    long alone = 0;
    for (size_t i = 0; i < count; i++) {
        struct kymo_evidence *host = &hosts->all[host_of[i]];
        int rc = parts[i].path ? kymo__launcher_pings(&host->pings, &host->clock, parts[i].capture,
                                                      parts[i].path)
                               : 0;
        if (rc == -ENOMEM)
            return rc;
        alone = rc < 0 ? (long)i + 1 : alone;
    }
    return alone;
}

static int gather_hosts(const struct kymo_part *parts, size_t count, struct kymo_hosts *hosts,
                        int *host_of)
{
    for (size_t i = 0; i < count; i++) {
        struct kymo_evidence evidence;
        int rc = kymo__evidence_read(&evidence, parts[i].capture);
        host_of[i] = rc < 0 ? rc : kymo__hosts_add(hosts, &evidence);
        kymo__evidence_fini(&evidence);
        if (host_of[i] < 0)
            return host_of[i];
    }
    return 0;
}

int kymo__align(struct kymo_part *parts, size_t count, enum kymo_align how,
                struct kymo_alignment *alignment)
{
    *alignment = (struct kymo_alignment){.start = how == KYMO__ALIGN_START};
    struct kymo_hosts hosts = {0};
    int *host_of = kymo__alloc(count * sizeof(*host_of));
    int rc = host_of ? gather_hosts(parts, count, &hosts, host_of) : -ENOMEM;
    long alone = rc == 0 && hosts.count > 1 ? add_launchers(parts, count, &hosts, host_of) : 0;
    if (alone < 0)
        rc = (int)alone;
    else
        alignment->alone = (size_t)alone;
    if (rc == 0) {
        parts[0].relation = (struct kymo_relation){.sync = KYMO__SYNC_YES};
        alignment->order = kymo__hosts_order(&hosts, 0);
    }
    for (size_t i = 1; rc == 0 && i < count; i++) {
        parts[i].relation = relate_part(&hosts, host_of[i], &parts[0], &parts[i], how);
        alignment->pings |= parts[i].relation.how == KYMO__RELATED_PINGS;
        alignment->collectives |= parts[i].relation.how == KYMO__RELATED_COLLECTIVES;
        if (parts[i].relation.how != KYMO__RELATED_WALL)
            continue;
        alignment->wall = true;
        if (how == KYMO__ALIGN_BEST && !overlaps(&parts[0], &parts[i], alignment)) {
            alignment->strange = i;
            rc = -EDOM;
        }
    }
    kymo__free(host_of);
    kymo__hosts_fini(&hosts);
    return rc;
}
