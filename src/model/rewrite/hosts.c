/* hosts.c — see hosts.h.

   Two hosts are related through a peer with whom both exchanged notes, which may be one of them, or
   directly by collectives that both took part in.
   The band (band.h) of one minus the band of the other is the band between them. Where it and the
   wall clocks overlap is what is left; if they do not, the wall clocks are wrong, as the notes cannot
   be. */
#include "hosts.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "band.h"

/* Times further from zero are damaged; sums of those that are nearer do not overflow. */
#define TIME_MOST (INT64_C(1) << 60)

/* Clocks that were further from running steadily, or drift faster, cannot be related by lines. */
#define BENT_MOST INT64_C(1000000000)
#define DRIFT_MOST 1e7

/* Times of events are read off a counter, and converted between two snapshots. */
#define CONVERSION 1000

int kymo__evidence_read(struct kymo_evidence *evidence, struct kymo_capture *capture)
{
    *evidence = (struct kymo_evidence){0};
    kymo__hostclock_read(capture, &evidence->clock);
    int rc = kymo__pings_read(&evidence->pings, capture);
    return rc < 0 ? rc : kymo__collectives_read(&evidence->collectives, capture);
}

void kymo__evidence_fini(struct kymo_evidence *evidence)
{
    kymo__pings_fini(&evidence->pings);
    kymo__collectives_fini(&evidence->collectives);
}

int kymo__hosts_add(struct kymo_hosts *hosts, const struct kymo_evidence *evidence)
{
    size_t i = 0;
    while (i < hosts->count && !kymo__hostclock_same_boot(&hosts->all[i].clock, &evidence->clock))
        i++;
    if (i < hosts->count) {
        kymo__hostclock_extend(&hosts->all[i].clock, &evidence->clock);
    } else {
        if (kymo__array_grow(&hosts->all, &hosts->room, i, sizeof(*hosts->all)) < 0)
            return -ENOMEM;
        hosts->all[hosts->count++] = (struct kymo_evidence){.clock = evidence->clock};
    }
    struct kymo_pings *known = &hosts->all[i].pings;
    for (size_t j = 0; j < evidence->pings.count; j++) {
        if (kymo__array_grow(&known->all, &known->room, known->count, sizeof(*known->all)) < 0)
            return -ENOMEM;
        known->all[known->count++] = evidence->pings.all[j];
    }
    if (!evidence->collectives.count)
        return (int)i;
    int rc = kymo__collectives_add(&hosts->all[i].collectives, &evidence->collectives);
    if (rc == 0)
        rc = kymo__collectives_add(&hosts->together, &evidence->collectives);
    return rc < 0 ? rc : (int)i;
}

void kymo__hosts_fini(struct kymo_hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        kymo__evidence_fini(&hosts->all[i]);
    kymo__collectives_fini(&hosts->together);
    kymo__free(hosts->all);
    *hosts = (struct kymo_hosts){0};
}

/* ---- one host and a peer ---- */

/* The band of a host's clock against that of a peer, and how far its clocks were from running
   steadily. */
struct link {
    struct kymo_band band;
    kymo_ns bent;
    bool collectives; /* they were used */
};

/* How far the correction of a clock, time minus raw time, was from a line, over the exchanges with
   PEER. Of the host's own clock, or if THEIRS of the peer's. */
static kymo_ns bend_of(const struct kymo_pings *pings, const uint8_t *peer, bool theirs)
{
    const struct kymo_ping *first = NULL, *last = NULL;
    for (size_t i = 0; i < pings->count; i++) {
        const struct kymo_ping *p = &pings->all[i];
        if (memcmp(p->peer, peer, 16) != 0)
            continue;
        first = !first || p->sent < first->sent ? p : first;
        last = !last || p->sent > last->sent ? p : last;
    }
    kymo_ns most = 0;
    for (size_t i = 0; first && i < pings->count; i++) {
        const struct kymo_ping *p = &pings->all[i];
        if (memcmp(p->peer, peer, 16) != 0 || first == last)
            continue;
        const struct kymo_ping *three[] = {first, p, last};
        double at[3], correction[3];
        for (int k = 0; k < 3; k++) {
            kymo_ns time = theirs ? three[k]->answered : three[k]->sent;
            kymo_ns raw = theirs ? three[k]->peer_raw : three[k]->raw;
            kymo_ns zero = theirs ? first->peer_raw : first->raw;
            at[k] = (double)(raw - zero);
            correction[k] =
                (double)(time - raw - ((theirs ? first->answered : first->sent) - zero));
        }
        double line = at[2] > 0 ? correction[2] * at[1] / at[2] : 0;
        double far = correction[1] > line ? correction[1] - line : line - correction[1];
        most = (kymo_ns)far > most ? (kymo_ns)far : most;
    }
    return most < BENT_MOST ? most : BENT_MOST;
}

/* Add the limits of the exchanges of HOST with PEER to the COUNT in LIMITS. */
static size_t limit_by_pings(const struct kymo_evidence *host, const uint8_t *peer,
                             struct kymo_limit *limits)
{
    size_t count = 0;
    for (size_t i = 0; i < host->pings.count; i++) {
        const struct kymo_ping *p = &host->pings.all[i];
        if (memcmp(p->peer, peer, 16) != 0)
            continue;
        limits[count++] = (struct kymo_limit){p->sent, p->seen - p->sent, true};
        limits[count++] = (struct kymo_limit){p->received, p->answered - p->received, false};
    }
    return count;
}

/* The same from collectives of HOST and PEER; TOGETHER has those of all hosts. */
static size_t limit_by_collectives(const struct kymo_evidence *host,
                                   const struct kymo_evidence *peer,
                                   const struct kymo_collectives *together,
                                   struct kymo_limit *limits)
{
    size_t count = 0;
    if (host->clock.bent < 0 || peer->clock.bent < 0)
        return 0;
    for (size_t i = 0; i < host->collectives.count; i++) {
        const struct kymo_collective *here = &host->collectives.all[i];
        const struct kymo_collective *there = kymo__collectives_find(&peer->collectives, here->id);
        const struct kymo_collective *all = kymo__collectives_find(together, here->id);
        if (!there || !all || (all->ranks && all->count != all->ranks))
            continue;
        limits[count++] = (struct kymo_limit){here->start, there->end - here->start, true};
        limits[count++] = (struct kymo_limit){here->end, there->start - here->end, false};
    }
    return count;
}

/* Fit LINK of HOST to PEER, whose evidence is THERE, or NULL. Returns what kymo__band_fit does. */
static int fit_link(const struct kymo_hosts *hosts, const struct kymo_evidence *host,
                    const uint8_t *peer, const struct kymo_evidence *there, struct link *link)
{
    const struct kymo_pings *pings = &host->pings;
    *link = (struct link){.band = {.from = host->clock.begin, .to = host->clock.end}};
    if (memcmp(host->clock.boot, peer, 16) == 0)
        return 1;
    struct kymo_limit *limits =
        kymo__alloc((2 * (pings->count + host->collectives.count) + 1) * sizeof(*limits));
    if (!limits)
        return -ENOMEM;
    size_t count = limit_by_pings(host, peer, limits);
    link->bent = bend_of(pings, peer, false) + bend_of(pings, peer, true);
    size_t more = there ? limit_by_collectives(host, there, &hosts->together, limits + count) : 0;
    int rc = 0;
    if (more) {
        kymo_ns bent = host->clock.bent + there->clock.bent;
        struct link both = {link->band, bent > link->bent ? bent : link->bent, true};
        rc = kymo__band_fit(&both.band, limits, count + more, both.bent);
        if (rc > 0)
            *link = both;
    }
    if (rc <= 0 && link->bent >= BENT_MOST)
        rc = 0;
    else if (rc <= 0) /* no collectives, or such that cannot be what they seem */
        rc = kymo__band_fit(&link->band, limits, count, link->bent);
    kymo__free(limits);
    return rc;
}

/* ---- two hosts ---- */

static kymo_ns middle_of(kymo_ns least, kymo_ns most)
{
    return least + (most - least) / 2;
}

/* The band of ONE's clock against that of FIRST, from what both know of a peer. */
static struct link join_links(const struct link *first, const struct link *one)
{
    struct link both = *one;
    both.bent += first->bent;
    both.collectives |= first->collectives;
    for (int end = 0; end < 2; end++) {
        kymo_ns time = end ? one->band.to : one->band.from, least, most;
        time += middle_of(one->band.least[end], one->band.most[end]);
        kymo_ns guess = time - middle_of(first->band.least[0], first->band.most[0]);
        kymo__band_at(&first->band, guess, &least, &most);
        time -= middle_of(least, most);
        kymo__band_at(&first->band, time, &least, &most);
        /* TIME is not exactly that on the first host; the offset there changes slowly. */
        double off = (double)(one->band.most[end] - one->band.least[end] + most - least) +
                     (double)(time > guess ? time - guess : guess - time) * KYMO__RATE_MOST;
        kymo_ns more = (kymo_ns)(off * KYMO__RATE_MOST);
        both.band.least[end] = one->band.least[end] - most - more;
        both.band.most[end] = one->band.most[end] - least + more;
    }
    return both;
}

static kymo_ns width_of(const struct kymo_band *band)
{
    kymo_ns from = band->most[0] - band->least[0], to = band->most[1] - band->least[1];
    return from > to ? from : to;
}

static kymo_ns error_of(const struct link *link)
{
    return width_of(&link->band) / 2 + link->bent + CONVERSION;
}

static bool is_plausible(const struct kymo_hostclock *clock)
{
    return clock->begin >= 0 && clock->end >= clock->begin && clock->end <= TIME_MOST;
}

/* The best link of ONE to FIRST through any peer that both have. */
static bool find_link(const struct kymo_hosts *hosts, const struct kymo_evidence *first,
                      const struct kymo_evidence *one, struct link *best)
{
    bool found = false;
    if (!is_plausible(&first->clock) || !is_plausible(&one->clock))
        return false;
    const uint8_t *tried = NULL;
    for (size_t i = 0; i < one->pings.count + 2; i++) {
        const uint8_t *peer = i == 0   ? first->clock.boot
                              : i == 1 ? one->clock.boot
                                       : one->pings.all[i - 2].peer;
        if (tried && memcmp(tried, peer, 16) == 0)
            continue; /* exchanges with one peer follow each other */
        tried = peer;
        struct link here, there;
        if (fit_link(hosts, one, peer, i == 0 ? first : NULL, &here) <= 0 ||
            fit_link(hosts, first, peer, NULL, &there) <= 0)
            continue;
        struct link both = join_links(&there, &here);
        if (!found || error_of(&both) < error_of(best))
            *best = both;
        found = true;
    }
    return found;
}

/* Keep of LINK's band what the wall clocks allow as well. False if that is nothing. */
static bool keep_walled(struct link *link, const struct kymo_relation *wall)
{
    struct kymo_band common = link->band;
    for (int end = 0; end < 2; end++) {
        kymo_ns time = end ? common.to : common.from;
        kymo_ns offset = kymo__relation_time(wall, time) - time;
        kymo_ns least = offset - wall->error - link->bent, most = offset + wall->error + link->bent;
        common.least[end] = least > common.least[end] ? least : common.least[end];
        common.most[end] = most < common.most[end] ? most : common.most[end];
        if (common.least[end] > common.most[end])
            return false;
    }
    link->band = common;
    return true;
}

static struct kymo_relation relation_of(const struct link *link)
{
    const struct kymo_band *band = &link->band;
    kymo_ns from = middle_of(band->least[0], band->most[0]);
    kymo_ns to = middle_of(band->least[1], band->most[1]);
    double lasted = (double)(band->to - band->from);
    struct kymo_relation relation = {
        .how = link->collectives ? KYMO__RELATED_COLLECTIVES : KYMO__RELATED_PINGS,
        .sync = KYMO__SYNC_YES,
        .shift = from,
        .at = band->from,
        .error = error_of(link),
        .drift_error = -1,
    };
    if (lasted < 1e9) /* too short for a drift: the middle of both ends, and their distance */
        relation.error += to > from ? to - from : from - to;
    else {
        relation.drift = (double)(to - from) * 1e9 / lasted;
        relation.drift_error = 2e9 * (double)relation.error / lasted;
    }
    return relation;
}

struct kymo_relation kymo__hosts_relate(const struct kymo_hosts *hosts, int first, int host)
{
    if (host == first)
        return (struct kymo_relation){.how = KYMO__RELATED_MONOTONIC, .sync = KYMO__SYNC_YES};
    const struct kymo_evidence *a = &hosts->all[first], *b = &hosts->all[host];
    struct kymo_relation wall = kymo__hostclock_relate(&a->clock, &b->clock, true);
    struct link link = {0};
    if (!find_link(hosts, a, b, &link))
        return wall;
    bool trusted = wall.sync == KYMO__SYNC_YES && wall.error >= 0 && wall.error < TIME_MOST;
    bool contradicted = trusted && !keep_walled(&link, &wall);
    struct kymo_relation pinged = relation_of(&link);
    if (pinged.drift > DRIFT_MOST || pinged.drift < -DRIFT_MOST)
        return wall;
    if (trusted && !contradicted && wall.error <= pinged.error)
        return wall;
    pinged.contradicted = contradicted;
    return pinged;
}

/* ---- all of them ---- */

/* The error of FIRST's own wall clock is in the relation of every other host, but does not matter
   between two others. So each has a share of its own, and two shares are the error of a pair. */
struct kymo_order kymo__hosts_order(const struct kymo_hosts *hosts, int first)
{
    struct kymo_order order = {.hosts = hosts->count > 1};
    bool walls = true;
    kymo_ns most = 0, next = 0, worst = 0, worse = 0;
    const kymo_ns own = hosts->count ? hosts->all[first].clock.most : 0;
    for (size_t i = 0; i < hosts->count; i++) {
        struct kymo_relation relation = kymo__hosts_relate(hosts, first, (int)i);
        order.unsynchronised |= relation.sync == KYMO__SYNC_NO;
        order.unknown |= relation.error < 0;
        order.contradicted |= relation.contradicted;
        walls &= relation.how == KYMO__RELATED_WALL || (int)i == first;
        kymo_ns share = (int)i == first ? own : relation.error - own;
        next = share > most ? most : share > next ? share : next;
        most = share > most ? share : most;
        worse = relation.error > worst ? worst : relation.error > worse ? relation.error : worse;
        worst = relation.error > worst ? relation.error : worst;
    }
    order.error = walls ? most + next : worst + worse;
    return order;
}
