/* arena.c — see arena.h.

   Each piece is preceded by its capacity. Up to 128 bytes there is a class for every 16; above
   that, four per doubling, so that at most a fifth of a piece is wasted. */
#include "arena.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lock.h"
#include "mapped.h"

struct piece {
    size_t room;
    struct piece *next; /* next free piece of its class */
};

enum {
    HEAD = 16, /* bytes before a piece */
    FINE = 8,  /* classes of 16, 32, … 128 bytes */
    CLASSES = FINE + 4 * 11,
    LARGEST = 256 << 10, /* of the last class */
    SLAB = 4 << 20,      /* untouched pages cost nothing */
};
static_assert(sizeof(struct piece) <= HEAD, "the head fits before a piece");

__thread uint32_t kymo__inside __attribute__((tls_model("initial-exec")));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece *spare[CLASSES]; /* under the lock, like the current slab: */
static char *slab, *slab_end;

static unsigned class_of(size_t size)
{
    if (size <= 16 * FINE)
        return size ? (unsigned)(size - 1) / 16 : 0;
    unsigned power = 63u - (unsigned)__builtin_clzll(size - 1); /* 2^power < size */
    return FINE + (power - 7) * 4 + (unsigned)((size - 1) >> (power - 2) & 3);
}

static size_t room_of(unsigned class)
{
    if (class < FINE)
        return 16 * ((size_t) class + 1);
    unsigned power = 7 + (class - FINE) / 4;
    return ((size_t)1 << power) + ((size_t)((class - FINE) % 4 + 1) << (power - 2));
}

static struct piece *head_of(void *body)
{
    return (struct piece *)(void *)((char *)body - HEAD);
}

static void *body_of(struct piece *piece)
{
    return (char *)piece + HEAD;
}

/* ---- large pieces ---- */

static size_t mapped_bytes(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return size > SIZE_MAX / 2 ? 0 : (size + HEAD + page - 1) / page * page;
}

static void *large_new(size_t size)
{
    size_t bytes = mapped_bytes(size);
    struct piece *piece = bytes ? kymo__pages_new(bytes) : NULL;
    if (!piece)
        return NULL;
    piece->room = bytes - HEAD;
    return body_of(piece);
}

static void *large_resize(struct piece *piece, size_t size)
{
    size_t bytes = mapped_bytes(size);
    struct piece *moved =
        bytes ? mremap(piece, piece->room + HEAD, bytes, MREMAP_MAYMOVE) : MAP_FAILED;
    if (moved == MAP_FAILED)
        return NULL;
    moved->room = bytes - HEAD;
    return body_of(moved);
}

/* ---- small ones; under the lock ---- */

static struct piece *cut_pieces(unsigned class)
{
    size_t bytes = HEAD + room_of(class);
    if ((size_t)(slab_end - slab) < bytes) {
        char *fresh = kymo__pages_new(SLAB);
        if (!fresh)
            return NULL;
        slab = fresh;
        slab_end = fresh + SLAB;
    }
    struct piece *piece = (struct piece *)(void *)slab;
    slab += bytes;
    piece->room = room_of(class);
    return piece;
}

/* *FRESH: nobody has used it, so it is zero. */
static struct piece *small_new(unsigned class, bool *fresh)
{
    struct piece *piece = spare[class];
    *fresh = !piece;
    if (!piece)
        return cut_pieces(class);
    spare[class] = piece->next;
    return piece;
}

/* ---- all of them ---- */

static void *take_piece(size_t size, bool *fresh)
{
    *fresh = true;
    if (size > LARGEST)
        return large_new(size);
    kymo__lock(&lock);
    struct piece *piece = small_new(class_of(size), fresh);
    kymo__unlock(&lock);
    return piece ? body_of(piece) : NULL;
}

void *kymo__arena_take(size_t size)
{
    bool fresh;
    return take_piece(size, &fresh);
}

void *kymo__arena_take_zeroed(size_t size)
{
    bool fresh;
    void *body = take_piece(size, &fresh);
    if (body && !fresh) /* else each of its pages would be touched now, not when it is needed */
        memset(body, 0, size);
    return body;
}

void kymo__arena_give(void *body)
{
    if (!body)
        return;
    struct piece *piece = head_of(body);
    if (piece->room > LARGEST) {
        kymo__pages_free(piece, piece->room + HEAD);
        return;
    }
    unsigned class = class_of(piece->room);
    kymo__lock(&lock);
    piece->next = spare[class];
    spare[class] = piece;
    kymo__unlock(&lock);
}

void *kymo__arena_resize(void *old, size_t size)
{
    if (!old)
        return kymo__arena_take(size);
    struct piece *piece = head_of(old);
    if (piece->room > LARGEST && size > LARGEST)
        return large_resize(piece, size);
    if (size <= piece->room && size > piece->room / 2)
        return old;
    void *body = kymo__arena_take(size);
    if (!body)
        return NULL;
    memcpy(body, old, size < piece->room ? size : piece->room);
    kymo__arena_give(old);
    return body;
}

void kymo__arena_forked(void)
{
    pthread_mutex_init(&lock, NULL);
    memset(spare, 0, sizeof(spare));
    slab = slab_end = NULL;
}

static void before_fork(void)
{
    kymo__lock(&lock);
}

static void after_fork(void)
{
    kymo__unlock(&lock);
}

/* Forking becomes safe as soon as there is anything to protect. */
__attribute__((constructor(101))) static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}
