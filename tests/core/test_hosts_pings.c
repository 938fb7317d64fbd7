/* Hosts that exchange notes in a shared folder are related by them, within the error. */
#include "hostmade.h"

/* HOSTS hosts with clocks that nobody sets. All exchange notes with the host NUMBER HUB. */
static void ping_hosts(int hub)
{
    uint64_t seed = 7;
    struct host hosts[HOSTS];
    struct kymo_part parts[HOSTS];
    for (int i = 0; i < HOSTS; i++)
        hosts[i] = (struct host){
            .uptime = (i + 1) * 1000 * SECOND,
            .off = (int64_t)(random_next(&seed) % 100) * SECOND - 50 * SECOND,
            .drift = (int64_t)(random_next(&seed) % 400000) - 200000,
            .at_start = UNSYNCED,
            .at_stop = UNSYNCED,
            .peer = i == hub ? NULL : &hosts[hub],
            .peer_number = hub,
            .delay = 5000000 + i * 100000,
        };
    for (int i = 0; i < HOSTS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "p%d.kymo", i);
        parts[i] = open_host(name, i, &hosts[i]);
    }
    struct kymo_alignment alignment;
    CHECK_OK(kymo__align(parts, HOSTS, KYMO__ALIGN_BEST, &alignment));
    CHECK(alignment.pings && !alignment.wall);
    for (int i = 1; i < HOSTS; i++) {
        const struct kymo_relation *r = &parts[i].relation;
        CHECK_EQ(r->how, KYMO__RELATED_PINGS);
        CHECK_LE(misplaced(r, &hosts[0], &hosts[i]), r->error);
        CHECK_LE(r->error, hosts[i].delay + (hub ? hosts[0].delay : 0));
        double drift = ((double)SECOND + (double)hosts[0].drift) * 1e9 /
                           ((double)SECOND + (double)hosts[i].drift) -
                       1e9;
        CHECK(drift - r->drift <= r->drift_error && r->drift - drift <= r->drift_error);
    }
    CHECK(!alignment.order.unsynchronised && !alignment.order.unknown);
    CHECK_LE(alignment.order.error, 30000000);
    for (int i = 0; i < HOSTS; i++)
        kymo_close(parts[i].capture);
}

static void hosts_that_exchange_notes_with_the_first_are_related_within_the_error(void)
{
    ping_hosts(0);
}

static void hosts_that_exchange_notes_with_another_are_related_within_the_error(void)
{
    ping_hosts(17);
}

static void wall_clocks_narrow_what_notes_say(void)
{
    const struct host first = {.uptime = SECOND, .at_start = SYNCED, .at_stop = SYNCED};
    struct host other = {.uptime = 2 * SECOND,
                         .at_start = SYNCED,
                         .at_stop = SYNCED,
                         .peer = &first,
                         .delay = 100000000};
    struct kymo_relation slow = relate_hosts(&first, &other);
    CHECK_LE(slow.error, 8000000 + 1000);
    CHECK_LE(misplaced(&slow, &first, &other), slow.error);
    other.delay = 1000000;
    struct kymo_relation fast = relate_hosts(&first, &other);
    CHECK_EQ(fast.how, KYMO__RELATED_PINGS);
    CHECK_LE(fast.error, 1000000);
    CHECK_LE(misplaced(&fast, &first, &other), fast.error);
}

/* It says that it is right within 4 ms, but is off by 100. */
static void a_wall_clock_that_contradicts_the_notes_is_left_out(void)
{
    const struct host first = {.uptime = SECOND, .at_start = SYNCED, .at_stop = SYNCED};
    const struct host wrong = {.uptime = 2 * SECOND,
                               .off = 100000000,
                               .at_start = SYNCED,
                               .at_stop = SYNCED,
                               .peer = &first,
                               .delay = 3000000};
    struct kymo_relation r = relate_hosts(&first, &wrong);
    CHECK(r.contradicted);
    CHECK_EQ(r.how, KYMO__RELATED_PINGS);
    CHECK_LE(misplaced(&r, &first, &wrong), r.error);
    CHECK_LE(r.error, 3100000);
}

static const struct check_case cases[] = {
    CHECK_CASE(hosts_that_exchange_notes_with_the_first_are_related_within_the_error),
    CHECK_CASE(hosts_that_exchange_notes_with_another_are_related_within_the_error),
    CHECK_CASE(wall_clocks_narrow_what_notes_say),
    CHECK_CASE(a_wall_clock_that_contradicts_the_notes_is_left_out),
};

CHECK_MAIN(cases)
