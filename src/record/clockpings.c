/* clockpings.c — see clockpings.h. */
#include "clockpings.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "clock.h"
#include "clocknote.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

#define FOLDER_NAME ".kymograph-clocks"

enum {
    NAME = 32, /* characters: a boot id */
    MEMBERS_MOST = 1024,
    SWEEP = 16,        /* notes that the hub reads at a time */
    SLOTS = 32,        /* exchanges kept before they become rarer */
    FAILURES_MOST = 5, /* then the folder is left alone */
    QUICK_MOST = 3,    /* exchanges in a row, while both are awake */
    EARLY = 8,         /* rounds of exchanges that follow each other soon */
};

/* Another host that has a note in the folder. */
struct member {
    char name[NAME + 1];
    uint64_t sequence;    /* of its note when it was read last; 0: never */
    int64_t active_until; /* it may answer at once */
    bool stale;           /* it does not write any more, as far as is known */
    bool found;           /* by the last list */
};

struct kymo_pinger {
    struct kymo_pinger_clocks clocks;
    char *folder;
    char name[NAME + 1];
    struct kymo_clocknote note, read; /* ours, and the one read last */
    int64_t next;                     /* when something is due */
    uint64_t random;
    uint32_t failures; /* in a row */
    bool off;
    bool owns; /* our note is ours, not that of another process of the host */

    uint64_t seen_sequence; /* of the other process's note */
    uint64_t seen_exchanges;
    int64_t changed_at;

    struct member *members;
    size_t count, room, at; /* at: the one to be read next */
    int64_t list_at, list_gap, sweep_at, written_at;

    char hub[NAME + 1]; /* our own name if that is us */
    bool waiting;       /* for an answer */
    uint32_t quick, rounds;
    uint64_t hub_sequence; /* of its note, when waiting began */
    int64_t since, exchange_at;

    struct kymo_exchange best; /* since the last one taken */
    bool any;
    uint32_t kept;
    int64_t window, window_end;
};

static int64_t system_now(void *arg)
{
    (void)arg;
    return kymo__clock_ns(CLOCK_MONOTONIC);
}

static int64_t system_raw(void *arg)
{
    (void)arg;
    return kymo__clock_ns(CLOCK_MONOTONIC_RAW);
}

static int64_t now_of(const struct kymo_pinger *p)
{
    return p->clocks.now(p->clocks.arg);
}

/* A time up to MOST, so that hosts that started together do not stay in step. */
static int64_t dither(struct kymo_pinger *p, int64_t most)
{
    p->random = p->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((p->random >> 33) % (uint64_t)most);
}

static void path_of(const struct kymo_pinger *p, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/" FOLDER_NAME "%s%s", p->folder, *name ? "/" : "", name);
}

/* ---- our note ---- */

static int write_note(struct kymo_pinger *p, bool create)
{
    char path[4096];
    path_of(p, p->name, path, sizeof(path));
    p->note.sequence++;
    p->note.raw = p->clocks.raw(p->clocks.arg);
    p->note.sent = p->written_at = now_of(p);
    int rc = kymo__clocknote_write(path, &p->note, create);
    if (rc < 0 && rc != -EEXIST)
        p->failures++;
    else
        p->failures = 0;
    if (rc < 0)
        p->owns = false;
    return rc;
}

static int read_note(struct kymo_pinger *p, const char *name)
{
    char path[4096];
    path_of(p, name, path, sizeof(path));
    return kymo__clocknote_read(path, &p->read);
}

/* ---- exchanges ---- */

static int64_t round_trip(const struct kymo_exchange *e)
{
    return (e->received - e->sent) - (e->answered - e->seen);
}

static void keep_exchange(struct kymo_pinger *p, const struct kymo_exchange *e)
{
    if (!p->any || round_trip(e) < round_trip(&p->best))
        p->best = *e;
    p->any = true;
}

bool kymo__pinger_take(struct kymo_pinger *p, bool ending, char *text, size_t size)
{
    if (!p->any)
        return false;
    int64_t now = now_of(p);
    if (!ending && now < p->window_end)
        return false;
    const struct kymo_exchange *e = &p->best;
    char peer[NAME + 1];
    for (int i = 0; i < 16; i++)
        snprintf(peer + 2 * i, 3, "%02x", e->peer[i]);
    snprintf(text, size,
             "peer=%s sent=%" PRId64 " seen=%" PRId64 " answered=%" PRId64 " received=%" PRId64
             " raw=%" PRId64 " peer_raw=%" PRId64,
             peer, e->sent, e->seen, e->answered, e->received, e->raw, e->peer_raw);
    p->any = false;
    if (++p->kept % SLOTS == 0)
        p->window *= 2;
    p->window_end = now + p->window;
    return true;
}

/* ---- who is there ---- */

static bool is_name(const char *name)
{
    return strlen(name) == NAME && strspn(name, "0123456789abcdef") == NAME;
}

static void note_member(struct kymo_pinger *p, const char *name)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->members[i].name, name) == 0) {
            p->members[i].found = true;
            return;
        }
    if (p->count == MEMBERS_MOST ||
        kymo__array_grow(&p->members, &p->room, p->count, sizeof(*p->members)) < 0)
        return;
    struct member *new = &p->members[p->count++];
    *new = (struct member){.found = true};
    memcpy(new->name, name, NAME + 1);
}

static struct member *member_of(struct kymo_pinger *p, const char *name)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->members[i].name, name) == 0)
            return &p->members[i];
    return NULL;
}

static void choose_hub(struct kymo_pinger *p)
{
    const char *least = p->name;
    for (size_t i = 0; i < p->count; i++)
        if (!p->members[i].stale && strcmp(p->members[i].name, least) < 0)
            least = p->members[i].name;
    if (strcmp(p->hub, least) != 0) {
        memcpy(p->hub, least, NAME + 1);
        p->waiting = false;
        p->note.count = 0;
    }
}

static void list_members(struct kymo_pinger *p)
{
    char path[4096];
    path_of(p, "", path, sizeof(path));
    DIR *open = opendir(path);
    if (!open) {
        p->failures++;
        return;
    }
    for (size_t i = 0; i < p->count; i++)
        p->members[i].found = false;
    for (struct dirent *entry; (entry = readdir(open));)
        if (is_name(entry->d_name) && strcmp(entry->d_name, p->name) != 0)
            note_member(p, entry->d_name);
    closedir(open);
    size_t kept = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->members[i].found)
            p->members[kept++] = p->members[i];
    p->count = kept;
    choose_hub(p);
}

/* ---- the hub ---- */

static void put_answer(struct kymo_pinger *p, const uint8_t *boot, uint64_t sequence, int64_t seen)
{
    struct kymo_clocknote *note = &p->note;
    size_t at = 0, oldest = 0;
    while (at < note->count && memcmp(note->answers[at].boot, boot, 16) != 0) {
        if (note->answers[at].seen < note->answers[oldest].seen)
            oldest = at;
        at++;
    }
    if (at == note->count && at < KYMO__ANSWERS)
        note->count++;
    else if (at == note->count)
        at = oldest;
    note->answers[at] = (struct kymo_answer){.sequence = sequence, .seen = seen};
    memcpy(note->answers[at].boot, boot, 16);
}

/* Read the note of MEMBER. True if it is a new one. */
static bool look_at(struct kymo_pinger *p, struct member *member)
{
    if (read_note(p, member->name) < 0 || p->read.sequence == member->sequence)
        return false;
    int64_t seen = now_of(p);
    member->sequence = p->read.sequence;
    member->stale = false;
    member->active_until = seen + 60 * MS;
    put_answer(p, p->read.boot, p->read.sequence, seen);
    return true;
}

static int64_t serve_hub(struct kymo_pinger *p, int64_t now)
{
    bool news = false, active = false;
    bool sweep = now >= p->sweep_at;
    if (!p->count)
        return p->list_at;
    for (size_t i = 0; sweep && i < SWEEP && i < p->count; i++) {
        p->at = p->at + 1 < p->count ? p->at + 1 : 0;
        news |= look_at(p, &p->members[p->at]);
    }
    if (sweep)
        p->sweep_at = now + 70 * MS + dither(p, 60 * MS);
    for (size_t i = 0; !sweep && i < p->count; i++)
        if (p->members[i].active_until > now)
            news |= look_at(p, &p->members[i]);
    for (size_t i = 0; i < p->count; i++)
        active |= p->members[i].active_until > now;
    if (news || now - p->written_at > 3 * SECOND)
        write_note(p, false);
    return active ? now + 2 * MS : p->sweep_at;
}

/* ---- the others ---- */

static const struct kymo_answer *answer_in(const struct kymo_clocknote *note, const uint8_t *boot,
                                           uint64_t sequence)
{
    for (size_t i = 0; i < note->count; i++)
        if (memcmp(note->answers[i].boot, boot, 16) == 0 && note->answers[i].sequence == sequence)
            return &note->answers[i];
    return NULL;
}

static int64_t end_round(struct kymo_pinger *p, int64_t now)
{
    p->waiting = false;
    p->rounds++;
    p->exchange_at = now + (p->rounds < EARLY ? SECOND : 4 * SECOND) + dither(p, SECOND);
    return p->exchange_at < p->list_at ? p->exchange_at : p->list_at;
}

/* Nobody answered. If the hub did not write anything meanwhile, it is gone; otherwise it may follow
   another one, which was thought to be, and is back. */
static int64_t give_up(struct kymo_pinger *p, int64_t now, bool silent)
{
    struct member *hub = member_of(p, p->hub);
    for (size_t i = 0; i < p->count && !silent; i++)
        if (p->members[i].stale && read_note(p, p->members[i].name) == 0 &&
            p->read.sequence != p->members[i].sequence)
            p->members[i].stale = false;
    if (hub && silent) {
        hub->stale = true;
        hub->sequence = p->hub_sequence;
    }
    choose_hub(p);
    end_round(p, now);
    p->exchange_at = now + dither(p, SECOND);
    return p->exchange_at;
}

static int64_t begin_wait(struct kymo_pinger *p)
{
    p->waiting = write_note(p, false) == 0;
    p->since = p->note.sent;
    return p->since + (p->quick ? 2 : 10) * MS;
}

static int64_t serve_peer(struct kymo_pinger *p, int64_t now)
{
    if (!p->waiting) {
        if (now < p->exchange_at)
            return p->exchange_at < p->list_at ? p->exchange_at : p->list_at;
        p->quick = 0;
        p->hub_sequence = read_note(p, p->hub) == 0 ? p->read.sequence : 0;
        return begin_wait(p);
    }
    int rc = read_note(p, p->hub);
    int64_t received = now_of(p), age = received - p->since;
    const struct kymo_answer *answer =
        rc == 0 ? answer_in(&p->read, p->note.boot, p->note.sequence) : NULL;
    if (answer) {
        struct kymo_exchange e = {.sent = p->note.sent,
                                  .seen = answer->seen,
                                  .answered = p->read.sent,
                                  .received = received,
                                  .raw = p->note.raw,
                                  .peer_raw = p->read.raw};
        memcpy(e.peer, p->read.boot, 16);
        keep_exchange(p, &e);
        p->note.last = p->best;
        p->note.exchanges++;
        return p->quick++ < QUICK_MOST ? begin_wait(p) : end_round(p, received);
    }
    if (p->quick)
        return age < 60 * MS ? received + 2 * MS : end_round(p, received);
    if (age < SECOND)
        return received + 10 * MS;
    if (age < 8 * SECOND)
        return received + 70 * MS + dither(p, 60 * MS);
    return give_up(p, received, rc < 0 || p->read.sequence == p->hub_sequence);
}

/* ---- both ---- */

static int64_t serve_owner(struct kymo_pinger *p, int64_t now)
{
    if (now >= p->list_at) {
        /* Another process of this host may have thought that we are gone. */
        if (read_note(p, p->name) < 0 || p->read.owner != p->note.owner) {
            p->owns = false;
            return now + dither(p, SECOND);
        }
        list_members(p);
        /* Hosts of one job begin at about the same time. */
        p->list_gap = p->list_gap * 2 < 4 * SECOND ? p->list_gap * 2 : 4 * SECOND;
        p->list_at = now + p->list_gap + dither(p, p->list_gap / 2);
        if (!p->waiting)
            write_note(p, false); /* says that we are alive */
    }
    return strcmp(p->hub, p->name) == 0 ? serve_hub(p, now) : serve_peer(p, now);
}

/* Become the one that writes, or read what the one that does has found out. */
static int64_t serve_guest(struct kymo_pinger *p, int64_t now)
{
    char path[4096];
    path_of(p, "", path, sizeof(path));
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        p->failures++;
    int rc = write_note(p, true);
    if (rc == 0) {
        p->owns = true;
        p->list_at = now;
        return now;
    }
    rc = rc == -EEXIST ? read_note(p, p->name) : rc;
    if (rc == 0 && p->read.sequence != p->seen_sequence) {
        p->changed_at = now;
        p->seen_sequence = p->read.sequence;
        if (p->read.exchanges > p->seen_exchanges)
            keep_exchange(p, &p->read.last);
        p->seen_exchanges = p->read.exchanges;
    } else if (rc == 0 || rc == -EAGAIN) {
        if (!p->changed_at)
            p->changed_at = now;
        path_of(p, p->name, path, sizeof(path));
        if (now - p->changed_at > 20 * SECOND) {
            unlink(path);
            p->changed_at = 0;
            return now + dither(p, SECOND);
        }
    }
    return now + 4 * SECOND + dither(p, 2 * SECOND);
}

int64_t kymo__pinger_serve(struct kymo_pinger *p)
{
    if (p->off)
        return INT64_MAX;
    int64_t now = now_of(p);
    if (now >= p->next)
        p->next = p->owns ? serve_owner(p, now) : serve_guest(p, now);
    p->off = p->failures >= FAILURES_MOST;
    return p->off ? INT64_MAX : p->next;
}

struct kymo_pinger *kymo__pinger_new(const char *folder, const uint8_t boot[16],
                                     const struct kymo_pinger_clocks *clocks)
{
    static const uint8_t unknown[16];
    static const struct kymo_pinger_clocks system = {system_now, system_raw, NULL};
    struct kymo_pinger *p = kymo__alloc_zeroed(sizeof(*p));
    uint64_t chosen[3] = {0};
    if (p)
        p->folder = kymo__alloc_text(folder, strlen(folder));
    /* Numbers that were used before would make an old answer look like a new one. */
    if (!p || !p->folder || memcmp(boot, unknown, 16) == 0 || strlen(folder) > 3900 ||
        getrandom(chosen, sizeof(chosen), GRND_NONBLOCK) != (ssize_t)sizeof(chosen)) {
        kymo__pinger_free(p);
        return NULL;
    }
    p->clocks = clocks ? *clocks : system;
    p->note.owner = chosen[0];
    p->note.sequence = chosen[1] >> 1;
    p->random = chosen[2];
    p->window = SECOND;
    p->list_gap = 250 * MS;
    memcpy(p->note.boot, boot, 16);
    for (int i = 0; i < 16; i++)
        snprintf(p->name + 2 * i, 3, "%02x", boot[i]);
    p->next = now_of(p) + 100 * MS; /* programs that end at once pay nothing */
    return p;
}

void kymo__pinger_free(struct kymo_pinger *p)
{
    if (!p)
        return;
    if (p->owns) {
        char path[4096];
        path_of(p, p->name, path, sizeof(path));
        unlink(path);
        path_of(p, "", path, sizeof(path));
        rmdir(path); /* by the last one */
    }
    kymo__free(p->members);
    kymo__free(p->folder);
    kymo__free(p);
}
