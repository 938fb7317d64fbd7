/* hostmade.h — captures of simulated hosts, whose clocks are off and drift by known amounts. */
#ifndef KYMO_HOSTMADE_H
#define KYMO_HOSTMADE_H

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "defs.h"
#include "random.h"
#include "rewrite.h"
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
    int64_t delay;   /* which reach the other this long after they were written, at most */
    const char *run; /* NULL, or the run that it belongs to */
    bool child;      /* it is not the run's first process */
};

static inline void note(struct kymo_writer *w, const char *key, const char *value)
{
    uint64_t name = kymo__writer_string(w, key), text = kymo__writer_string(w, value);
    kymo__writer_define(w, &(struct kymo_def){.type = KYMO__DEF_META, .number = {name, text}});
}

/* The monotonic clock of a host, SINCE nanoseconds after START. */
static inline int64_t monotonic_at(const struct host *h, int64_t since)
{
    return h->uptime + since + (int64_t)((double)since / SECOND * (double)h->drift);
}

static inline void name_boot(int number, char *text)
{
    snprintf(text, 33, "%02x%030d", number + 1, 0);
}

/* Exchanges of notes with its peer, every ten seconds; some take long. */
static inline void note_pings(struct kymo_writer *w, const struct host *h)
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
static inline void make_host(const char *path, int number, const struct host *h)
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
    if (h->run)
        note(w, "family", h->run);
    if (h->child)
        note(w, "process.parent", "99");
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

static inline struct kymo_part open_host(const char *name, int number, const struct host *h)
{
    struct kymo_part part = {.from = INT64_MIN, .to = INT64_MAX};
    make_host(check_path(name), number, h);
    CHECK_OK(kymo_open(check_path(name), &part.capture));
    return part;
}

static inline struct kymo_relation relate_hosts(const struct host *first, const struct host *second)
{
    struct kymo_part parts[2] = {open_host("a.kymo", 0, first), open_host("b.kymo", 1, second)};
    struct kymo_alignment alignment;
    CHECK_OK(kymo__align(parts, 2, KYMO__ALIGN_BEST, &alignment));
    CHECK(alignment.wall || alignment.pings);
    kymo_close(parts[0].capture);
    kymo_close(parts[1].capture);
    return parts[1].relation;
}

static const char SYNCED[] __attribute__((unused)) =
    "synchronised=1 max_error_us=4000 est_error_us=50";
static const char WORSE[] __attribute__((unused)) =
    "synchronised=1 max_error_us=6000 est_error_us=50";
static const char UNSYNCED[] __attribute__((unused)) =
    "synchronised=0 max_error_us=16000000 est_error_us=16000000";
static const char FREE[] __attribute__((unused)) =
    "synchronised=0 max_error_us=9000 est_error_us=16000000";

/* How far the moments that all hosts have in common are apart on the clock of the first, at most. */
static inline int64_t misplaced(const struct kymo_relation *r, const struct host *first,
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

#endif
