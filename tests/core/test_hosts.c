/* Times of captures of many hosts are related by their wall clocks within the error that is stored,
   and nothing is claimed that is not known. */
#include "hostmade.h"

/* Clocks of HOSTS hosts: their wall clocks are right within 6 ms, their monotonic clocks drift by up
   to 200 ppm, which is 20 ms until the end. */
static void make_hosts(struct host *hosts, struct kymo_part *parts)
{
    uint64_t seed = 42;
    for (int i = 0; i < HOSTS; i++) {
        hosts[i] = (struct host){
            .uptime = (i + 1) * 1000 * SECOND,
            .off = (int64_t)(random_next(&seed) % 10000000) - 5000000,
            .moved = i % 3 == 0 ? 0 : (int64_t)(random_next(&seed) % 2000000) / 100 * 100 - 1000000,
            .drift = i % 5 == 0 ? 0 : (int64_t)(random_next(&seed) % 400000) - 200000,
            .at_start = SYNCED,
            .at_stop = WORSE,
        };
        char name[32];
        snprintf(name, sizeof(name), "h%d.kymo", i);
        parts[i] = open_host(name, i, &hosts[i]);
    }
}

/* Between two hosts: what both wall clocks are off. */
static void sixty_four_hosts_that_drift_are_related_within_the_stated_error(void)
{
    struct host hosts[HOSTS];
    struct kymo_part parts[HOSTS];
    make_hosts(hosts, parts);
    struct kymo_alignment alignment;
    CHECK_OK(kymo__align(parts, HOSTS, KYMO__ALIGN_BEST, &alignment));
    for (int i = 1; i < HOSTS; i++) {
        const struct kymo_relation *r = &parts[i].relation;
        CHECK_LE(misplaced(r, &hosts[0], &hosts[i]), r->error);
        CHECK_LE(r->error, 12000000 + 20000);
        CHECK_EQ(r->sync, KYMO__SYNC_YES);
        double drift = (double)(hosts[0].drift - hosts[i].drift);
        CHECK(drift - r->drift <= r->drift_error && r->drift - drift <= r->drift_error);
        CHECK_LE((int64_t)r->drift_error, 2 * 12020000 / 100);
    }
    CHECK_LE(alignment.order.error, 12000000 + 40000);
    for (int i = 0; i < HOSTS; i++)
        kymo_close(parts[i].capture);
}

static void a_merged_capture_is_corrected_for_drift(void)
{
    struct host hosts[HOSTS];
    struct kymo_part parts[HOSTS];
    make_hosts(hosts, parts);
    struct kymo_alignment alignment;
    CHECK_OK(kymo__align(parts, HOSTS, KYMO__ALIGN_BEST, &alignment));
    CHECK_OK(
        kymo__rewrite(parts, HOSTS, check_path("all.kymo"), &(struct kymo_rewrite_options){0}));

    struct kymo_capture *all;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    static kymo_ns first[MARKS];
    static int seen[HOSTS];
    CHECK_OK(kymo_open(check_path("all.kymo"), &all));
    CHECK_OK(kymo_cursor_new(all, NULL, &cursor));
    /* Of the first host, then of all. */
    while (kymo_cursor_next(cursor, &event) > 0)
        if (event.thread == 0 && event.kind == KYMO_ENTER && strcmp(event.name, "mark") == 0)
            first[seen[0]++] = event.time;
    kymo_cursor_free(cursor);
    CHECK_EQ(seen[0], MARKS);
    CHECK_OK(kymo_cursor_new(all, NULL, &cursor));
    while (kymo_cursor_next(cursor, &event) > 0) {
        if (event.thread == 0 || event.kind != KYMO_ENTER || strcmp(event.name, "mark") != 0)
            continue;
        CHECK_LE(llabs(event.time - first[seen[event.thread]++]),
                 parts[event.thread].relation.error);
    }
    kymo_cursor_free(cursor);
    for (int i = 0; i < HOSTS; i++)
        CHECK_EQ(seen[i], MARKS);
    kymo_close(all);
    for (int i = 0; i < HOSTS; i++)
        kymo_close(parts[i].capture);
}

static void a_wall_clock_that_was_set_makes_the_error_greater(void)
{
    const struct host good = {.uptime = SECOND, .at_start = SYNCED, .at_stop = SYNCED};
    const struct host set = {
        .uptime = 2 * SECOND, .stepped = 50000000, .at_start = SYNCED, .at_stop = SYNCED};
    struct kymo_relation r = relate_hosts(&good, &set);
    CHECK_LE(misplaced(&r, &good, &set), r.error);
    CHECK_EQ(r.error, 8000000 + 25000000);
    CHECK_EQ((int64_t)r.drift, 0);
}

/* What one of them knows about the clock of the host is true for the other. */
static void captures_of_one_host_have_one_relation(void)
{
    const struct host first = {.uptime = SECOND, .at_start = SYNCED, .at_stop = SYNCED};
    const struct host other = {
        .uptime = 9 * SECOND, .drift = 100000, .at_start = SYNCED, .at_stop = SYNCED};
    const struct host later = {.uptime = monotonic_at(&other, LENGTH / 2),
                               .off = LENGTH / 2,
                               .drift = 100000,
                               .at_start = SYNCED,
                               .at_stop = WORSE};
    struct kymo_part parts[3] = {open_host("a.kymo", 0, &first), open_host("b.kymo", 1, &other),
                                 open_host("c.kymo", 1, &later)};
    struct kymo_alignment alignment;
    CHECK_OK(kymo__align(parts, 3, KYMO__ALIGN_BEST, &alignment));
    kymo_ns then = monotonic_at(&later, SECOND);
    CHECK_LE(llabs(kymo__relation_time(&parts[1].relation, then) -
                   kymo__relation_time(&parts[2].relation, then)),
             1);
    CHECK_EQ(parts[1].relation.error, parts[2].relation.error);
    CHECK_LE(10000000, parts[1].relation.error);
    for (int i = 0; i < 3; i++)
        kymo_close(parts[i].capture);
}

static void an_unsynchronised_clock_is_said_to_be(void)
{
    const struct host good = {.uptime = SECOND, .at_start = SYNCED, .at_stop = SYNCED};
    const struct host bad = {.uptime = 2 * SECOND, .at_start = UNSYNCED, .at_stop = UNSYNCED};
    const struct host lost = {.uptime = 2 * SECOND, .at_start = SYNCED, .at_stop = UNSYNCED};
    const struct host free = {.uptime = 2 * SECOND, .at_start = FREE, .at_stop = FREE};

    CHECK_EQ(relate_hosts(&good, &bad).sync, KYMO__SYNC_NO);
    CHECK_EQ(relate_hosts(&good, &bad).error, -1);
    CHECK(relate_hosts(&good, &bad).drift_error < 0);
    CHECK_EQ(relate_hosts(&lost, &good).sync, KYMO__SYNC_NO);
    CHECK_EQ(relate_hosts(&good, &free).sync, KYMO__SYNC_NO);
    CHECK_EQ(relate_hosts(&good, &free).error, 13000000);
}

static void without_an_estimate_the_error_is_unknown(void)
{
    static const char *const strange[] = {
        NULL, "", "synchronised=1", "synchronised=1 max_error_us=-5 est_error_us=1",
        "synchronised=1 max_error_us=99999999999999999999 est_error_us=1"};
    const struct host good = {.uptime = SECOND, .at_start = SYNCED, .at_stop = SYNCED};
    for (size_t i = 0; i < sizeof(strange) / sizeof(*strange); i++) {
        const struct host old = {.uptime = 2 * SECOND, .at_start = strange[i]};
        CHECK_EQ(relate_hosts(&good, &old).sync, KYMO__SYNC_UNKNOWN);
        CHECK_EQ(relate_hosts(&good, &old).error, -1);
    }
}

/* The kernel's bound grows by 500 ppm at most. */
static void the_error_of_a_killed_program_grows_until_its_end(void)
{
    const struct host good = {.uptime = SECOND, .at_start = SYNCED, .at_stop = SYNCED};
    const struct host killed = {.uptime = 2 * SECOND, .at_start = SYNCED};
    CHECK_EQ(relate_hosts(&good, &killed).error, 8000000 + LENGTH / 2000);
}

static const struct check_case cases[] = {
    CHECK_CASE(sixty_four_hosts_that_drift_are_related_within_the_stated_error),
    CHECK_CASE(a_merged_capture_is_corrected_for_drift),
    CHECK_CASE(a_wall_clock_that_was_set_makes_the_error_greater),
    CHECK_CASE(captures_of_one_host_have_one_relation),
    CHECK_CASE(an_unsynchronised_clock_is_said_to_be),
    CHECK_CASE(without_an_estimate_the_error_is_unknown),
    CHECK_CASE(the_error_of_a_killed_program_grows_until_its_end),
};

CHECK_MAIN(cases)
