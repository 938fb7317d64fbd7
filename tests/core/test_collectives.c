/* Ranks on hosts with clocks that nobody sets, which drift: collectives relate them within the error
   that is stated, and only those that are surely the same are used. */
#include <kymo/kymo.h>

#include "check.h"
#include "opmade.h"
#include "random.h"
#include "rewrite.h"

enum { RANKS = 64, STEPS = 12 };
#define SECOND INT64_C(1000000000)
#define LENGTH (60 * SECOND)

struct group {
    const char *blocking; /* attributes, or NULL */
    const char *ranks;
    int size;
    bool repeated; /* all collectives have the same number */
};

struct rank {
    int64_t off;
    double drift; /* per nanosecond */
};

/* Its clock, SINCE nanoseconds after all began. */
static int64_t clock_at(const struct rank *r, int64_t since)
{
    return r->off + since + (int64_t)((double)since * r->drift);
}

/* When RANK enters collective NUMBER. */
static uint64_t enter_time(int rank, int number)
{
    uint64_t seed = (uint64_t)(rank * 1000 + number + 1);
    return (uint64_t)(LENGTH / STEPS * number) + random_next(&seed) % 2000000;
}

/* When the last one does. */
static uint64_t last_enter(int number, int ranks)
{
    uint64_t last = 0;
    for (int i = 0; i < ranks; i++)
        last = enter_time(i, number) > last ? enter_time(i, number) : last;
    return last;
}

static void record_rank(const char *path, int rank, const struct group *group)
{
    static struct opmade_values none;
    uint64_t seed = (uint64_t)rank + 77;
    char size[16], number[16];
    snprintf(size, sizeof(size), "%d", group->size);
    opmade_start(path);
    for (int i = 0; i < STEPS; i++) {
        struct opmade_op op = {.name = "all_reduce", .rf_id = (uint64_t)i + 1, .seq = -1};
        uint64_t enter = enter_time(rank, i);
        uint64_t leave = last_enter(i, RANKS) + 10000 + random_next(&seed) % 300000;
        snprintf(number, sizeof(number), "%d", group->repeated ? 5 : i);
        opmade_enter(enter, &op, &none);
        opmade_attribute(enter, &op, "collective_name", "all_reduce", 0);
        opmade_attribute(enter, &op, "pg_name", "0", 0);
        opmade_attribute(enter, &op, "pg_size", size, 1);
        opmade_attribute(enter, &op, "seq", number, 1);
        if (group->blocking)
            opmade_attribute(enter, &op, "blocking", group->blocking, 1);
        if (group->ranks)
            opmade_attribute(enter, &op, "pg_ranks", group->ranks, 0);
        opmade_leave(leave, &op, NULL);
    }
    CHECK_OK(kymo_stop());
}

/* Open PATH as if it was recorded on host NUMBER with the clock of RANK, and with a wall clock that
   is hours off. */
static struct kymo_part open_rank(const char *path, int number, const struct rank *rank)
{
    struct kymo_part part = {.from = INT64_MIN, .to = INT64_MAX};
    CHECK_OK(kymo_open(path, &part.capture));
    struct kymo_reader *r = part.capture->reader;
    memset(r->header.boot, number + 1, 16);
    r->header.clock = KYMO_CLOCK_TSC;
    CHECK(r->snapshot_count >= 2);
    r->snapshot_count = 2;
    for (int i = 0; i < 2; i++) {
        int64_t monotonic = clock_at(rank, i * LENGTH);
        r->snapshots[i] = (struct kymo_snapshot){
            .ticks = opmade_zero + (uint64_t)(i * LENGTH),
            .monotonic = monotonic,
            .wall = 1700000000 * SECOND + number * 3600 * SECOND + monotonic - rank->off};
    }
    kymo__timebase_fini(&part.capture->base);
    CHECK_OK(kymo__timebase_init(&part.capture->base, r->snapshots, 2, 1e9));
    return part;
}

static void make_ranks(struct kymo_part *parts, struct rank *ranks, int count,
                       const struct group *group)
{
    uint64_t seed = 11;
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "r%d.kymo", i);
        ranks[i] = (struct rank){.off = (i + 1) * 1000 * SECOND,
                                 .drift = (double)(random_next(&seed) % 400) * 1e-6 - 200e-6};
        record_rank(check_path(name), i, group);
        parts[i] = open_rank(check_path(name), i, &ranks[i]);
    }
}

static void close_ranks(struct kymo_part *parts, int count)
{
    for (int i = 0; i < count; i++)
        kymo_close(parts[i].capture);
}

static void sixty_four_ranks_are_related_within_the_stated_error(void)
{
    static struct kymo_part parts[RANKS];
    static struct rank ranks[RANKS];
    const struct group group = {.blocking = "1", .size = RANKS};
    make_ranks(parts, ranks, RANKS, &group);
    struct kymo_alignment alignment;
    CHECK_OK(kymo__align(parts, RANKS, KYMO__ALIGN_BEST, &alignment));
    CHECK(alignment.collectives && !alignment.wall);
    for (int i = 1; i < RANKS; i++) {
        const struct kymo_relation *r = &parts[i].relation;
        CHECK_EQ(r->how, KYMO__RELATED_COLLECTIVES);
        for (int k = 0; k <= 20; k++) {
            int64_t since = LENGTH / 20 * k;
            int64_t there = kymo__relation_time(r, clock_at(&ranks[i], since));
            CHECK_LE(llabs(there - clock_at(&ranks[0], since)), r->error);
        }
        CHECK_LE(r->error, 2000000);
        double drift = ((1 + ranks[0].drift) / (1 + ranks[i].drift) - 1) * 1e9;
        CHECK(drift - r->drift <= r->drift_error && r->drift - drift <= r->drift_error);
    }
    CHECK(!alignment.order.unknown && !alignment.order.unsynchronised);
    close_ranks(parts, RANKS);
}

/* Are two ranks that recorded collectives of GROUP related by these? */
static bool are_used(const struct group *group)
{
    struct kymo_part parts[2];
    struct rank ranks[2];
    struct kymo_alignment alignment;
    make_ranks(parts, ranks, 2, group);
    kymo__align(parts, 2, KYMO__ALIGN_BEST, &alignment);
    bool used = parts[1].relation.how == KYMO__RELATED_COLLECTIVES;
    close_ranks(parts, 2);
    return used;
}

static void a_collective_whose_end_is_not_recorded_is_not_used(void)
{
    CHECK(are_used(&(struct group){.blocking = "1", .size = 2}));
    CHECK(!are_used(&(struct group){.blocking = "0", .size = 2}));
    CHECK(!are_used(&(struct group){.size = 2}));
}

static void collectives_that_may_be_different_ones_are_not_used(void)
{
    CHECK(!are_used(&(struct group){.blocking = "1", .size = 2, .repeated = true}));
    CHECK(!are_used(&(struct group){.blocking = "1", .size = 4})); /* two are missing */
    CHECK(are_used(&(struct group){.blocking = "1", .size = 4, .ranks = "[0, 1, 2, 3]"}));
}

static const struct check_case cases[] = {
    CHECK_CASE(sixty_four_ranks_are_related_within_the_stated_error),
    CHECK_CASE(a_collective_whose_end_is_not_recorded_is_not_used),
    CHECK_CASE(collectives_that_may_be_different_ones_are_not_used),
};

CHECK_MAIN(cases)
