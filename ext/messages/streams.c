/* streams.c — see streams.h. Nothing here is kept in this process but the mapping: a forked child
   continues with it, and descriptors may be closed and reused at any time. */
#include "streams.h"

#include <errno.h>
#include <fcntl.h>
#include <kymo/memory.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    STREAMS = 2048,   /* a power of two */
    TRIED = 64,       /* slots that are looked at for one stream */
    HEADER = 4,       /* bytes of a length; one that does not fit is -1, and 8 more follow */
    LONG_HEADER = 12, /* both */
    TOGETHER = 16384, /* up to this length, header and message are written together */
    COMPARED = 1024,  /* bytes of such a message that its id depends on */
};

/* One end: how far, and the message in which it is. Whoever has set `busy` may touch the others. */
struct end {
    uint64_t at;     /* bytes before; the other end reads it, too */
    uint64_t began;  /* where the message begins */
    uint64_t left;   /* bytes of it that are still to come, after its header */
    uint64_t sum;    /* of its first bytes */
    uint32_t taken;  /* how many those are */
    uint32_t length; /* the first four bytes of the header */
    uint8_t have;    /* bytes of the header */
    uint8_t size;    /* which the header has, 0 if unknown */
    uint8_t busy;    /* somebody is writing, or reading */
    uint8_t header[LONG_HEADER + 1];
};

struct stream {
    uint64_t key;      /* which pipe, or which end of a socket; 0: free */
    uint64_t peer;     /* key of the other end of a socket; 0 for pipes */
    uint64_t promised; /* bytes that readers may find: `written.at` as soon as the write ends */
    uint32_t is_pipe;
    uint32_t lost; /* its counts may be wrong */
    struct end written, read;
};

struct table {
    uint64_t seed; /* of ids; 0 until somebody chose one */
    uint64_t over; /* the run has ended */
    struct stream streams[STREAMS];
};

static struct {
    char *path;
    pid_t owner; /* 0: another process makes the file */
    struct table *table;
    bool failed;
} shared;

#define load(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

/* ---- the table */

int kymo__streams_init(const char *path, bool owned)
{
    shared.path = strdup(path);
    shared.owner = owned ? getpid() : 0;
    return shared.path ? 0 : -ENOMEM;
}

/* Map the file. Space is allocated for it, because touching a page for which there is none kills. */
static struct table *map_table(bool create)
{
    int fd = open(shared.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0), 0600);
    if (fd < 0 && create && errno == ENOENT) {
        char *folder = strdup(shared.path), *slash = folder ? strrchr(folder, '/') : NULL;
        if (slash) {
            *slash = 0;
            (void)mkdir(folder, 0777);
            fd = open(shared.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT, 0600);
        }
        free(folder);
    }
    struct stat st;
    void *memory = MAP_FAILED;
    if (fd >= 0 && (!create || posix_fallocate(fd, 0, sizeof(struct table)) == 0) &&
        fstat(fd, &st) == 0 && st.st_size == (off_t)sizeof(struct table))
        memory = mmap(NULL, sizeof(struct table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Threads may meet here: the last mapping wins, and all are of the same file. */
static struct table *get_table(void)
{
    struct table *t = load(&shared.table);
    if (!t && shared.path && !load(&shared.failed)) {
        int error = errno;
        bool apart = kymo_memory_enter(); /* it is no memory of the program's */
        t = map_table(shared.owner == getpid());
        uint64_t none = 0, seed = 0;
        if (t && load(&t->seed) == 0 && getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed)
            __atomic_compare_exchange_n(&t->seed, &none, seed | 1, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE);
        store(&shared.table, t);
        store(&shared.failed, !t);
        if (apart)
            kymo_memory_leave();
        errno = error;
    }
    return t && load(&t->over) == 0 && load(&t->seed) != 0 ? t : NULL;
}

void kymo__streams_ready(void)
{
    if (shared.owner == getpid())
        (void)get_table();
}

void kymo__streams_end(void)
{
    struct table *t = load(&shared.table);
    if (shared.owner != getpid())
        return;
    shared.owner = 0;
    store(&shared.failed, true);
    if (t) {
        store(&t->over, 1);
        (void)unlink(shared.path);
    }
}

static uint64_t key_of(const struct stat *st)
{
    return mix(mix(1, st->st_dev), st->st_ino) | 1;
}

/* The stream KEY, which is added if it is not there. NULL: there is no room. */
static struct stream *slot_of(struct table *t, uint64_t key, bool add)
{
    for (unsigned i = 0; i < TRIED; i++) {
        struct stream *s = &t->streams[((key >> 32 ^ key) + i) & (STREAMS - 1)];
        uint64_t found = load(&s->key);
        if (found == 0 && !add)
            return NULL;
        if (found == key ||
            (found == 0 && (__atomic_compare_exchange_n(&s->key, &found, key, false,
                                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
                            found == key)))
            return s;
    }
    return NULL;
}

void kymo__streams_pair(int a, int b)
{
    struct table *t = get_table();
    struct stat one, two;
    if (!t || fstat(a, &one) < 0 || fstat(b, &two) < 0)
        return;
    struct stream *first = slot_of(t, key_of(&one), true);
    struct stream *second = slot_of(t, key_of(&two), true);
    if (!first || !second || first == second)
        return;
    store(&first->peer, second->key);
    store(&second->peer, first->key);
}

/* The stream that is written to FD, or read from it. */
static struct stream *stream_of(int fd, bool reads)
{
    struct table *t = get_table();
    struct stat st;
    if (!t || fstat(fd, &st) < 0)
        return NULL;
    struct stream *s = NULL;
    if (S_ISFIFO(st.st_mode)) {
        s = slot_of(t, key_of(&st), true);
        if (s)
            store(&s->is_pipe, 1u);
    } else if (S_ISSOCK(st.st_mode)) {
        s = slot_of(t, key_of(&st), false);
        uint64_t peer = s ? load(&s->peer) : 0;
        if (!peer)
            s = NULL; /* nobody knows where it leads */
        else if (reads)
            s = slot_of(t, peer, false);
    }
    return s && !load(&s->lost) ? s : NULL;
}

/* ---- messages */

static uint64_t id_of(const struct stream *s, const struct end *e)
{
    uint64_t id = mix(shared.table->seed, s->key);
    id = mix(mix(id, e->began), e->length);
    id = mix(e->length <= TOGETHER ? mix(id, e->sum) : id, id >> 32);
    return id ? id : 1;
}

static uint32_t number_of(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* The header of the message is complete. False if it is none. */
static bool take_header(struct end *e)
{
    e->length = number_of(e->header);
    if (e->length <= INT32_MAX) {
        e->left = e->length;
        return true;
    }
    if (e->length != UINT32_MAX)
        return false;
    if (e->size == HEADER)
        e->size = LONG_HEADER;
    else
        e->left = (uint64_t)number_of(e->header + 4) << 32 | number_of(e->header + 8);
    return e->size == LONG_HEADER;
}

static void add_to_sum(struct end *e, const uint8_t *bytes, size_t count)
{
    for (; count && e->taken < COMPARED; count--, e->taken++)
        e->sum = (e->sum ^ *bytes++) * UINT64_C(0x100000001b3);
}

static bool is_between(const struct end *e)
{
    return e->size == 0;
}

/* COUNT BYTES pass. Returns 1 if a message ends with them, 0 if not, -1 if they are no messages. */
static int pass_bytes(struct end *e, const uint8_t *bytes, size_t count)
{
    if (count && is_between(e)) {
        e->began = e->at;
        e->size = HEADER;
        e->have = 0;
        e->left = e->sum = e->taken = 0;
    }
    store(&e->at, e->at + count);
    while (count && e->have < e->size) {
        e->header[e->have++] = *bytes++;
        count--;
        if (e->have == e->size && !take_header(e))
            return -1;
    }
    if (count > e->left)
        return -1;
    if (e->length <= TOGETHER)
        add_to_sum(e, bytes, count);
    e->left -= count;
    if (is_between(e) || e->have < e->size || e->left)
        return 0;
    e->size = 0;
    return 1;
}

/* Begin to write or read. If somebody else does, too, nobody knows the order. */
static bool enter_end(struct stream *s, struct end *e)
{
    if (!__atomic_exchange_n(&e->busy, 1, __ATOMIC_ACQ_REL))
        return true;
    store(&s->lost, 1u);
    return false;
}

static void leave_end(struct end *e)
{
    store(&e->busy, 0);
}

/* Is more in the pipe than was written by those who count? */
static bool has_more(const struct stream *s, int fd)
{
    int queued = 0;
    uint64_t read = load(&s->read.at); /* before the question: it only grows */
    return s->is_pipe && ioctl(fd, FIONREAD, &queued) == 0 &&
           (uint64_t)queued + read > s->written.at;
}

/* Is less in it, so that somebody reads who does not count? */
static bool has_less(const struct stream *s, int fd)
{
    int queued = 0;
    uint64_t written = load(&s->written.at); /* before the question: it only grows */
    return ioctl(fd, FIONREAD, &queued) == 0 && s->read.at + (uint64_t)queued < written;
}

uint64_t kymo__stream_write(struct passage *p, int fd, const void *bytes, size_t len)
{
    int error = errno;
    uint64_t id = 0;
    struct stream *s = p->stream = stream_of(fd, false);
    if (s && !enter_end(s, &s->written))
        s = p->stream = NULL;
    if (s) {
        bool good = !has_more(s, fd);
        if (good && is_between(&s->written)) {
            /* What the id will be: the reader learns it from the same bytes. */
            struct end next = s->written;
            int ends = pass_bytes(&next, bytes, len);
            good = len >= HEADER && ends >= 0 && (next.length > TOGETHER || ends == 1);
            id = good ? id_of(s, &next) : 0;
        }
        if (good) {
            store(&s->promised, s->written.at + len);
        } else {
            store(&s->lost, 1u);
            leave_end(&s->written);
            p->stream = NULL;
        }
    }
    errno = error;
    return id;
}

void kymo__stream_wrote(struct passage *p, const void *bytes, size_t count)
{
    struct stream *s = p->stream;
    if (!s)
        return;
    if (pass_bytes(&s->written, bytes, count) < 0)
        store(&s->lost, 1u);
    store(&s->promised, s->written.at);
    leave_end(&s->written);
}

void kymo__stream_read(struct passage *p, int fd)
{
    int error = errno;
    struct stream *s = p->stream = stream_of(fd, true);
    p->fd = fd;
    if (s && !enter_end(s, &s->read))
        p->stream = NULL;
    errno = error;
}

uint64_t kymo__stream_got(struct passage *p, const void *bytes, size_t count)
{
    struct stream *s = p->stream;
    if (!s)
        return 0;
    int error = errno, ends = pass_bytes(&s->read, bytes, count);
    if (ends < 0 || s->read.at > load(&s->promised) || (ends == 1 && has_less(s, p->fd)))
        store(&s->lost, 1u);
    uint64_t id = ends == 1 && !load(&s->lost) ? id_of(s, &s->read) : 0;
    leave_end(&s->read);
    errno = error;
    return id;
}
