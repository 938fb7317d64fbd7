/* Captures of many simulated hosts, whose clocks are off and drift by known amounts: times are
   related within the error that is stored and shown, and nothing is claimed that is not known. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"
#include "defs.h"
#include "random.h"
#include "rewrite.h"
#include "shell.h"
#include "varint.h"
#include "writer.h"

enum { HOSTS = 64 };
#define SECOND INT64_C(1000000000)
#define START (1700000000 * SECOND) /* true time at which all begin */
#define LENGTH (100 * SECOND)
#define MARKS 11 /* moments, evenly over LENGTH, at which all hosts call something */

struct host {
    int64_t uptime;       /* monotonic clock at START */
    int64_t off;          /* its wall clock is ahead of true time by this */
    int64_t moved;        /* and by this more at the end: it was set, little by little */
    int64_t drift;        /* its monotonic clock gains this many nanoseconds per second */
    int64_t stepped;      /* its wall clock was set by this in the middle, and back at the end */
    const char *at_start; /* metadata, or NULL */
    const char *at_stop;
    const struct host *peer; /* NULL, or with whom it exchanges notes, */
    int peer_number;
    int64_t delay; /* which reach the other this long after they were written, at most */
};

static void note(struct kymo_writer *w, const char *key, const char *value)
{
    uint64_t name = kymo__writer_string(w, key), text = kymo__writer_string(w, value);
    kymo__writer_define(w, &(struct kymo_def){.type = KYMO__DEF_META, .number = {name, text}});
}

/* The monotonic clock of a host, SINCE nanoseconds after START. */
static int64_t monotonic_at(const struct host *h, int64_t since)
{
    return h->uptime + since + (int64_t)((double)since / SECOND * (double)h->drift);
}

static void name_boot(int number, char *text)
{
    snprintf(text, 33, "%02x%030d", number + 1, 0);
}

/* Exchanges of notes with its peer, every ten seconds; some take long. */
static void note_pings(struct kymo_writer *w, const struct host *h)
{
    uint64_t seed = (uint64_t)h->uptime;
    for (int i = 0; h->peer && i < 10; i++) {
        char peer[33], key[32], text[512];
        int64_t sent = LENGTH / 10 * i;
        int64_t seen = sent + (int64_t)(random_next(&seed) % (uint64_t)h->delay);
        int64_t answered = seen + 1000;
        int64_t received = answered + (int64_t)(random_next(&seed) % (uint64_t)h->delay);
        name_boot(h->peer_number, peer);
        snprintf(key, sizeof(key), "clock_ping.%d", i);
        snprintf(text, sizeof(text),
                 "peer=%s sent=%" PRId64 " seen=%" PRId64 " answered=%" PRId64 " received=%" PRId64
                 " raw=%" PRId64 " peer_raw=%" PRId64,
                 peer, monotonic_at(h, sent), monotonic_at(h->peer, seen),
                 monotonic_at(h->peer, answered), monotonic_at(h, received), sent, answered);
        note(w, key, text);
    }
}

/* A host on which one call begins at START and ends with the capture, with shorter ones inside. */
static void make_host(const char *path, int number, const struct host *h)
{
    struct kymo_file_header header = {
        .pid = 100,
        .clock = KYMO_CLOCK_MONOTONIC,
        .ticks_rate = 1000000000,
        .ticks = (uint64_t)h->uptime,
        .monotonic = h->uptime,
        .wall = START + h->off,
    };
    header.boot[0] = (uint8_t)(number + 1);
    struct kymo_writer *w;
    CHECK_OK(kymo__writer_new(path, &header, &w));
    char text[32];
    snprintf(text, sizeof(text), "%d", number);
    note(w, "rank", text);
    snprintf(text, sizeof(text), "host%d", number);
    note(w, "host", text);
    if (h->at_start)
        note(w, "wall_clock.start", h->at_start);
    if (h->at_stop)
        note(w, "wall_clock.stop", h->at_stop);
    note_pings(w, h);
    for (int i = 0; i <= 100; i++) {
        int64_t since = LENGTH / 100 * i;
        uint64_t then = (uint64_t)monotonic_at(h, since);
        int64_t wall = START + h->off + since + h->moved / 100 * i;
        wall += i > 50 && i < 100 ? h->stepped : 0;
        kymo__writer_define(w, &(struct kymo_def){.type = KYMO__DEF_CLOCK,
                                                  .number = {then, then, kymo__zigzag(wall)}});
    }
    uint32_t step =
        kymo__writer_key(w, kymo__writer_string(w, "train_step"), 0, 0, KYMO_CLASS_NAME);
    kymo__writer_define(w, &(struct kymo_def){.type = KYMO__DEF_THREAD, .number = {0, 100}});
    kymo__writer_event(w, 0, (uint64_t)h->uptime, kymo_word(KYMO_ENTER, 0, step), 0);
    uint32_t mark = kymo__writer_key(w, kymo__writer_string(w, "mark"), 0, 0, KYMO_CLASS_NAME);
    for (int i = 0; i < MARKS; i++) {
        uint64_t then = (uint64_t)monotonic_at(h, LENGTH / (MARKS - 1) * i);
        kymo__writer_event(w, 0, then, kymo_word(KYMO_ENTER, 0, mark), 0);
        kymo__writer_event(w, 0, then, kymo_word(KYMO_LEAVE, 0, mark), 0);
    }
    kymo__writer_event(w, 0, (uint64_t)monotonic_at(h, LENGTH), kymo_word(KYMO_LEAVE, 0, step), 0);
    CHECK_OK(kymo__writer_finish(w, true));
}

static struct kymo_part open_host(const char *name, int number, const struct host *h)
{
    struct kymo_part part = {.from = INT64_MIN, .to = INT64_MAX};
    make_host(check_path(name), number, h);
    CHECK_OK(kymo_open(check_path(name), &part.capture));
    return part;
}

static struct kymo_relation relate_hosts(const struct host *first, const struct host *second)
{
    struct kymo_part parts[2] = {open_host("a.kymo", 0, first), open_host("b.kymo", 1, second)};
    struct kymo_alignment alignment;
    CHECK_OK(kymo__align(parts, 2, KYMO__ALIGN_BEST, &alignment));
    CHECK(alignment.wall || alignment.pings);
    kymo_close(parts[0].capture);
    kymo_close(parts[1].capture);
    return parts[1].relation;
}

static const char SYNCED[] = "synchronised=1 max_error_us=4000 est_error_us=50";
static const char WORSE[] = "synchronised=1 max_error_us=6000 est_error_us=50";
static const char UNSYNCED[] = "synchronised=0 max_error_us=16000000 est_error_us=16000000";
static const char FREE[] = "synchronised=0 max_error_us=9000 est_error_us=16000000";

/* How far the moments that all hosts have in common are apart on the clock of the first, at most. */
static int64_t misplaced(const struct kymo_relation *r, const struct host *first,
                         const struct host *h)
{
    int64_t worst = 0;
    for (int i = 0; i < MARKS; i++) {
        int64_t since = LENGTH / (MARKS - 1) * i;
        int64_t wrong =
            llabs(kymo__relation_time(r, monotonic_at(h, since)) - monotonic_at(first, since));
        worst = wrong > worst ? wrong : worst;
    }
    return worst;
}

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

/* ---- notes in a shared folder ---- */

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

/* ---- the command ---- */

/* Make COUNT hosts in a new folder; every other one has the metadata SECOND_ONE. */
static const char *make_folder(const char *name, int count, const char *second_one)
{
    static char folder[4096];
    snprintf(folder, sizeof(folder), "%s", check_path(name));
    CHECK_OK(mkdir(folder, 0700));
    for (int i = 0; i < count; i++) {
        char path[5000];
        const char *text = i % 2 ? second_one : SYNCED;
        const struct host h = {
            .uptime = (i + 1) * SECOND, .off = i * 100000, .at_start = text, .at_stop = text};
        snprintf(path, sizeof(path), "%s/h%02d.kymo", folder, i);
        make_host(path, i, &h);
    }
    return folder;
}

/* Is every one of WORDS, which ends with NULL, in what the command prints? ARGUMENTS are printed
   with FOLDER as their only argument. */
static void prints(const char *folder, const char *arguments, const char *const *words)
{
    char text[65536], out[4096];
    snprintf(out, sizeof(out), "%s", check_path("said"));
    char command[8192];
    snprintf(command, sizeof(command), arguments, folder, folder, folder);
    CHECK_OK(shell("'%s' %s >%s 2>&1", getenv("KYMO_PROGRAM"), command, out));
    FILE *file = fopen(out, "r");
    CHECK(file != NULL);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    for (; *words; words++)
        if (!strstr(text, *words))
            CHECK_FAIL("'%s' is not in:\n%s", *words, text);
}

#define PRINTS(folder, arguments, ...)                                                             \
    prints(folder, arguments, (const char *const[]){__VA_ARGS__, NULL})

static void the_command_shows_the_error_of_every_host(void)
{
    const char *folder = make_folder("good", HOSTS, WORSE);
    PRINTS(folder, "report --step train_step %s", "order between hosts is known within 12.000 ms",
           "6.300 ms", "exact", "8.000 ms");
    PRINTS(folder, "report -j --step train_step %s",
           "\"by\": \"wall\", \"offset_ns\": -62993700000, \"error_ns\": 10000000, "
           "\"synchronised\": true");
    PRINTS(folder, "info %s/h01.kymo", "synchronised, off by 6.000 ms at most");
    PRINTS(folder, "merge %s/h00.kymo %s/h01.kymo -o %s/m.kymo",
           "order between hosts is known within 10.000 ms");
    PRINTS(folder, "info %s/m.kymo",
           "1.merged_clock = by=wall offset_ns=-999900000 error_ns=10000000 synchronised=yes "
           "drift_ppb=0 drift_error_ppb=200000");
}

static void the_command_says_what_is_not_known(void)
{
    const char *folder = make_folder("bad", 4, UNSYNCED);
    PRINTS(folder, "report %s", "unsynchronised clock: order between hosts is unknown\n",
           "unknown");
    PRINTS(folder, "info %s/h01.kymo", "unsynchronised, error unknown");
    folder = make_folder("free", 4, FREE);
    PRINTS(folder, "report %s",
           "unsynchronised clock: order between hosts is unknown within 18.000 ms, perhaps more");
    folder = make_folder("old", 4, NULL);
    PRINTS(folder, "report %s", "the error of some clock was not recorded");
    PRINTS(
        folder, "report -j %s",
        "\"error_ns\": null, \"synchronised\": null, \"drift_ppb\": 0, \"drift_error_ppb\": null");
    PRINTS(folder, "info %s/h01.kymo", "error unknown: it was not recorded");
    PRINTS(folder, "merge %s/h00.kymo %s/h01.kymo -o %s/m.kymo",
           "the error of some clock was not recorded");
}

static void the_command_shows_what_notes_say(void)
{
    const struct host first = {.uptime = SECOND, .at_start = UNSYNCED, .at_stop = UNSYNCED};
    const struct host other = {.uptime = 2 * SECOND,
                               .off = 3 * SECOND,
                               .at_start = UNSYNCED,
                               .at_stop = UNSYNCED,
                               .peer = &first,
                               .delay = 2000000};
    static char folder[4096];
    char path[5000];
    snprintf(folder, sizeof(folder), "%s", check_path("pinged"));
    CHECK_OK(mkdir(folder, 0700));
    snprintf(path, sizeof(path), "%s/h00.kymo", folder);
    make_host(path, 0, &first);
    snprintf(path, sizeof(path), "%s/h01.kymo", folder);
    make_host(path, 1, &other);
    PRINTS(folder, "report %s", "order between hosts is known within ");
    PRINTS(folder, "report -j %s", "\"by\": \"pings\"");
    PRINTS(folder, "info %s/h01.kymo", "10 exchanges with other hosts noted; the fastest took ");
    PRINTS(folder, "merge %s/h00.kymo %s/h01.kymo -o %s/m.kymo",
           "order between hosts is known within ");
    PRINTS(folder, "info %s/m.kymo", "1.merged_clock = by=pings offset_ns=-",
           "aligned by notes in a shared folder");
}

static const struct check_case cases[] = {
    CHECK_CASE(sixty_four_hosts_that_drift_are_related_within_the_stated_error),
    CHECK_CASE(a_merged_capture_is_corrected_for_drift),
    CHECK_CASE(a_wall_clock_that_was_set_makes_the_error_greater),
    CHECK_CASE(captures_of_one_host_have_one_relation),
    CHECK_CASE(an_unsynchronised_clock_is_said_to_be),
    CHECK_CASE(without_an_estimate_the_error_is_unknown),
    CHECK_CASE(the_error_of_a_killed_program_grows_until_its_end),
    CHECK_CASE(hosts_that_exchange_notes_with_the_first_are_related_within_the_error),
    CHECK_CASE(hosts_that_exchange_notes_with_another_are_related_within_the_error),
    CHECK_CASE(wall_clocks_narrow_what_notes_say),
    CHECK_CASE(a_wall_clock_that_contradicts_the_notes_is_left_out),
    CHECK_CASE(the_command_shows_what_notes_say),
    CHECK_CASE(the_command_shows_the_error_of_every_host),
    CHECK_CASE(the_command_says_what_is_not_known),
};

CHECK_MAIN(cases)
