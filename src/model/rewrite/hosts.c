/* hosts.c — see hosts.h. */
#include "hosts.h"

#include <errno.h>

#include "alloc.h"

int kymo__hosts_add(struct kymo_hosts *hosts, const struct kymo_hostclock *clock)
{
    size_t i = 0;
    while (i < hosts->count && !kymo__hostclock_same_boot(&hosts->clocks[i], clock))
        i++;
    if (i < hosts->count) {
        kymo__hostclock_extend(&hosts->clocks[i], clock);
        return (int)i;
    }
    if ((i & (i - 1)) == 0) {
        void *wider = kymo__realloc(hosts->clocks, (i ? i * 2 : 1) * sizeof(*hosts->clocks));
        if (!wider)
            return -ENOMEM;
        hosts->clocks = wider;
    }
    hosts->clocks[hosts->count++] = *clock;
    return (int)i;
}

void kymo__hosts_fini(struct kymo_hosts *hosts)
{
    kymo__free(hosts->clocks);
    *hosts = (struct kymo_hosts){0};
}

struct kymo_relation kymo__hosts_relate(const struct kymo_hosts *hosts, int first, int host)
{
    if (host == first)
        return (struct kymo_relation){.how = KYMO__RELATED_MONOTONIC, .sync = KYMO__SYNC_YES};
    return kymo__hostclock_relate(&hosts->clocks[first], &hosts->clocks[host], true);
}

/* The error of FIRST's own wall clock is in the relation of every other host, but does not matter
   between two others. So each has a share of its own, and two shares are the error of a pair. */
struct kymo_order kymo__hosts_order(const struct kymo_hosts *hosts, int first)
{
    struct kymo_order order = {.hosts = hosts->count > 1};
    kymo_ns most = 0, next = 0;
    const kymo_ns own = hosts->count ? hosts->clocks[first].most : 0;
    for (size_t i = 0; i < hosts->count; i++) {
        struct kymo_relation relation = kymo__hosts_relate(hosts, first, (int)i);
        order.unsynchronised |= relation.sync == KYMO__SYNC_NO;
        order.unknown |= relation.error < 0;
        kymo_ns share = (int)i == first ? own : relation.error - own;
        next = share > most ? most : share > next ? share : next;
        most = share > most ? share : most;
    }
    order.error = most + next;
    return order;
}
