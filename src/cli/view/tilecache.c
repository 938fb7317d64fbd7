/* tilecache.c — see tilecache.h. A table of slots; each slot holds the tile that was kept there last,
   and a hand goes round to make room. */
#include "tilecache.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "alloc.h"

enum { SLOTS = 8192, PROBES = 4 };

struct slot {
    struct view_tile_key key;
    uint8_t *bytes; /* NULL: empty */
    size_t length;
    bool used; /* since the hand came by */
};

struct view_tile_cache {
    pthread_mutex_t lock;
    size_t total, hand;
    struct slot slots[SLOTS];
};

struct view_tile_cache *kymo__tile_cache_new(void)
{
    struct view_tile_cache *cache = kymo__alloc_zeroed(sizeof(*cache));
    if (cache)
        pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

static void empty_slot(struct view_tile_cache *cache, struct slot *slot)
{
    cache->total -= slot->length;
    kymo__free(slot->bytes);
    *slot = (struct slot){0};
}

void kymo__tile_cache_free(struct view_tile_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        kymo__free(cache->slots[i].bytes);
    pthread_mutex_destroy(&cache->lock);
    kymo__free(cache);
}

static bool is_same(const struct view_tile_key *a, const struct view_tile_key *b)
{
    return a->generation == b->generation && a->index == b->index && a->capture == b->capture &&
           a->thread == b->thread && a->level == b->level && a->kind == b->kind;
}

/* The first of the PROBES slots in which KEY may be. */
static size_t first_slot(const struct view_tile_key *key)
{
    uint64_t mixed = key->index * 0x9e3779b97f4a7c15u + key->generation;
    mixed = (mixed ^ key->thread) * 0xff51afd7ed558ccdu + key->capture;
    mixed = (mixed ^ key->level ^ key->kind << 8) * 0xc4ceb9fe1a85ec53u;
    return (size_t)(mixed >> 40);
}

static struct slot *find_slot(struct view_tile_cache *cache, const struct view_tile_key *key)
{
    size_t first = first_slot(key);
    for (size_t i = 0; i < PROBES; i++) {
        struct slot *slot = &cache->slots[(first + i) % SLOTS];
        if (slot->bytes && is_same(&slot->key, key))
            return slot;
    }
    return NULL;
}

int kymo__tile_cache_find(struct view_tile_cache *cache, const struct view_tile_key *key,
                          struct kymo_buffer *out)
{
    pthread_mutex_lock(&cache->lock);
    struct slot *slot = find_slot(cache, key);
    int rc = slot ? kymo__buffer_add(out, slot->bytes, slot->length) : 0;
    if (slot && rc == 0) {
        slot->used = true;
        rc = 1;
    }
    pthread_mutex_unlock(&cache->lock);
    return rc;
}

/* A slot for KEY: an empty one, or one that has not been used since the hand came by. */
static struct slot *choose_slot(struct view_tile_cache *cache, const struct view_tile_key *key)
{
    size_t first = first_slot(key);
    struct slot *chosen = &cache->slots[first % SLOTS];
    for (size_t i = 0; i < PROBES; i++) {
        struct slot *slot = &cache->slots[(first + i) % SLOTS];
        if (!slot->bytes)
            return slot;
        if (!slot->used)
            chosen = slot;
    }
    return chosen;
}

void kymo__tile_cache_keep(struct view_tile_cache *cache, const struct view_tile_key *key,
                           const void *bytes, size_t length)
{
    uint8_t *copy = length > VIEW_TILE_BYTES / 4 ? NULL : kymo__alloc(length + 1);
    if (!copy)
        return;
    memcpy(copy, bytes, length);
    pthread_mutex_lock(&cache->lock);
    struct slot *slot = find_slot(cache, key);
    slot = slot ? slot : choose_slot(cache, key);
    empty_slot(cache, slot);
    while (cache->total + length > VIEW_TILE_BYTES) {
        struct slot *old = &cache->slots[cache->hand++ % SLOTS];
        if (old->bytes && !old->used)
            empty_slot(cache, old);
        old->used = false;
    }
    *slot = (struct slot){.key = *key, .bytes = copy, .length = length, .used = true};
    cache->total += length;
    pthread_mutex_unlock(&cache->lock);
}
