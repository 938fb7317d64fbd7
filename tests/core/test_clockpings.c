/* Hosts that exchange notes through a folder, with simulated clocks: what they find out is true,
   however long a note takes, and the folder is left as it was. */
#include <dirent.h>
#include <kymo/kymo.h>
#include <sys/stat.h>

#include "check.h"
#include "clockpings.h"
#include "random.h"

enum { HOSTS = 64 };
#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

static int64_t true_time; /* advances with every look at a clock */

struct host {
    struct kymo_pinger *pinger;
    int64_t off;
    double drift; /* per nanosecond */
    int64_t next; /* on its clock */
    int exchanges;
    int64_t widest; /* between the bounds, at best */
};

static int64_t clock_at(const struct host *h, int64_t time)
{
    return h->off + time + (int64_t)((double)time * h->drift);
}

static int64_t simulated_now(void *arg)
{
    true_time += 2000;
    return clock_at(arg, true_time);
}

static int64_t simulated_raw(void *arg)
{
    return clock_at(arg, true_time);
}

/* When a clock shows TIME. */
static int64_t true_of(const struct host *h, int64_t time)
{
    return (int64_t)((double)(time - h->off) / (1 + h->drift));
}

static void begin_host(struct host *h, int number, const char *folder, uint64_t *seed)
{
    uint8_t boot[16] = {0x80, (uint8_t)(number + 1), (uint8_t)random_next(seed)};
    const struct kymo_pinger_clocks clocks = {simulated_now, simulated_raw, h};
    *h = (struct host){
        .off = (int64_t)(random_next(seed) % 1000000) * SECOND,
        .drift = (double)(random_next(seed) % 400) * 1e-6 - 200e-6,
        .widest = INT64_MAX,
    };
    h->pinger = kymo__pinger_new(folder, boot, &clocks);
    CHECK(h->pinger != NULL);
}

/* Check that what H noted of the host with PEER is true. */
static void check_exchanges(struct host *hosts, struct host *h, bool ending)
{
    char text[256];
    while (kymo__pinger_take(h->pinger, ending, text, sizeof(text))) {
        unsigned number;
        int64_t sent, seen, answered, received;
        CHECK_EQ(sscanf(text,
                        "peer=80%2x%*28s sent=%" SCNd64 " seen=%" SCNd64 " answered=%" SCNd64
                        " received=%" SCNd64,
                        &number, &sent, &seen, &answered, &received),
                 5);
        CHECK(number >= 1 && number <= HOSTS);
        const struct host *peer = &hosts[number - 1];
        CHECK(peer != h);
        /* A microsecond for what the reversed clock is rounded. */
        CHECK_LE(true_of(h, sent), true_of(peer, seen) + 1000);
        CHECK_LE(seen, answered);
        CHECK_LE(true_of(peer, answered), true_of(h, received) + 1000);
        int64_t width = (received - sent) - (answered - seen);
        h->widest = width < h->widest ? width : h->widest;
        h->exchanges++;
    }
}

/* Let the hosts that have a pinger work until true time END. */
static void simulate(struct host *hosts, int count, int64_t end, uint64_t *seed)
{
    while (true_time < end) {
        struct host *first = NULL;
        int64_t when = end;
        for (int i = 0; i < count; i++) {
            if (!hosts[i].pinger || hosts[i].next == INT64_MAX)
                continue;
            int64_t due = true_of(&hosts[i], hosts[i].next);
            if (due < when) {
                first = &hosts[i];
                when = due;
            }
        }
        if (!first)
            break;
        if (when > true_time)
            true_time = when;
        true_time += (int64_t)(random_next(seed) % 200000); /* it was busy */
        first->next = kymo__pinger_serve(first->pinger);
        check_exchanges(hosts, first, false);
    }
    true_time = end;
}

static void end_host(struct host *hosts, struct host *h)
{
    if (h->pinger)
        check_exchanges(hosts, h, true);
    kymo__pinger_free(h->pinger);
    h->pinger = NULL;
}

static int entries_in(const char *folder)
{
    DIR *open = opendir(folder);
    CHECK(open != NULL);
    int count = -2;
    while (readdir(open))
        count++;
    closedir(open);
    return count;
}

static const char *new_folder(const char *name)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s", check_path(name));
    CHECK_OK(mkdir(path, 0700));
    true_time = 100 * SECOND;
    return path;
}

static void sixty_four_hosts_learn_about_their_clocks(void)
{
    static struct host hosts[HOSTS];
    uint64_t seed = 3;
    const char *folder = new_folder("many");
    for (int i = 0; i < HOSTS; i++)
        begin_host(&hosts[i], i, folder, &seed);
    simulate(hosts, HOSTS, 130 * SECOND, &seed);
    for (int i = 0; i < HOSTS; i++)
        end_host(hosts, &hosts[i]);
    for (int i = 1; i < HOSTS; i++) {
        CHECK_LE(3, hosts[i].exchanges);
        CHECK_LE(hosts[i].widest, 10 * MS);
    }
    CHECK_EQ(entries_in(folder), 0);
}

static void the_others_go_on_when_the_hub_was_killed(void)
{
    static struct host hosts[4];
    uint64_t seed = 4;
    const char *folder = new_folder("killed");
    for (int i = 0; i < 4; i++)
        begin_host(&hosts[i], i, folder, &seed);
    simulate(hosts, 4, 110 * SECOND, &seed);
    struct kymo_pinger *killed = hosts[0].pinger;
    hosts[0].pinger = NULL;
    simulate(hosts, 4, 140 * SECOND, &seed);
    for (int i = 1; i < 4; i++)
        hosts[i].widest = INT64_MAX;
    simulate(hosts, 4, 160 * SECOND, &seed);
    CHECK_LE(hosts[2].widest, 10 * MS);
    CHECK_LE(hosts[3].widest, 10 * MS);
    for (int i = 1; i < 4; i++)
        end_host(hosts, &hosts[i]);
    kymo__pinger_free(killed);
    CHECK_EQ(entries_in(folder), 0);
}

/* Two processes of one host: one writes, the other knows what it found out, and takes its place. */
static void one_process_of_a_host_writes(void)
{
    static struct host hosts[3];
    uint64_t seed = 5;
    const char *folder = new_folder("guest");
    begin_host(&hosts[0], 0, folder, &seed);
    begin_host(&hosts[1], 1, folder, &seed);
    const struct kymo_pinger_clocks clocks = {simulated_now, simulated_raw, &hosts[1]};
    hosts[2] = hosts[1];
    kymo__pinger_free(hosts[2].pinger);
    uint8_t boot[16] = {0x80, 2, 77};
    hosts[1].pinger = kymo__pinger_new(folder, boot, &clocks);
    hosts[2].pinger = kymo__pinger_new(folder, boot, &clocks);
    simulate(hosts, 3, 120 * SECOND, &seed);
    char inside[600];
    snprintf(inside, sizeof(inside), "%s/.kymograph-clocks", folder);
    CHECK_EQ(entries_in(inside), 2);
    check_exchanges(hosts, &hosts[2], true);
    CHECK_LE(1, hosts[1].exchanges);
    CHECK_LE(1, hosts[2].exchanges);
    end_host(hosts, &hosts[1]);
    int before = hosts[2].exchanges;
    simulate(hosts, 3, 150 * SECOND, &seed);
    end_host(hosts, &hosts[2]);
    CHECK_LE(before + 2, hosts[2].exchanges);
    end_host(hosts, &hosts[0]);
    CHECK_EQ(entries_in(folder), 0);
}

static void a_folder_that_vanishes_is_left_alone(void)
{
    static struct host hosts[2];
    uint64_t seed = 6;
    const char *folder = new_folder("gone");
    begin_host(&hosts[0], 0, folder, &seed);
    begin_host(&hosts[1], 1, folder, &seed);
    simulate(hosts, 2, 110 * SECOND, &seed);
    char inside[600], away[600];
    snprintf(inside, sizeof(inside), "%s", folder);
    snprintf(away, sizeof(away), "%s.away", folder);
    CHECK_OK(rename(inside, away));
    simulate(hosts, 2, 200 * SECOND, &seed);
    CHECK_EQ(hosts[0].next, INT64_MAX);
    CHECK_EQ(hosts[1].next, INT64_MAX);
    end_host(hosts, &hosts[0]);
    end_host(hosts, &hosts[1]);
    CHECK(access(inside, F_OK) != 0);
}

static void a_note_that_is_damaged_says_nothing(void)
{
    static struct host hosts[2];
    uint64_t seed = 7;
    const char *folder = new_folder("damaged");
    char path[700];
    snprintf(path, sizeof(path), "%s/.kymograph-clocks", folder);
    CHECK_OK(mkdir(path, 0700));
    snprintf(path, sizeof(path), "%s/.kymograph-clocks/%032d", folder, 0);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs("nonsense", file) >= 0 && fclose(file) == 0);
    begin_host(&hosts[0], 0, folder, &seed);
    begin_host(&hosts[1], 1, folder, &seed);
    simulate(hosts, 2, 140 * SECOND, &seed);
    CHECK_LE(1, hosts[1].exchanges);
    end_host(hosts, &hosts[0]);
    end_host(hosts, &hosts[1]);
}

static void an_unknown_host_is_refused(void)
{
    const uint8_t unknown[16] = {0};
    CHECK(kymo__pinger_new(check_path("x"), unknown, NULL) == NULL);
}

static const struct check_case cases[] = {
    CHECK_CASE(sixty_four_hosts_learn_about_their_clocks),
    CHECK_CASE(the_others_go_on_when_the_hub_was_killed),
    CHECK_CASE(one_process_of_a_host_writes),
    CHECK_CASE(a_folder_that_vanishes_is_left_alone),
    CHECK_CASE(a_note_that_is_damaged_says_nothing),
    CHECK_CASE(an_unknown_host_is_refused),
};

CHECK_MAIN(cases)
