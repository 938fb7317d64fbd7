/* tilecache.h — tiles that were made recently, up to a number of bytes. Any thread. */
#ifndef KYMO_CLI_TILECACHE_H
#define KYMO_CLI_TILECACHE_H

#include "buffer.h"

enum { VIEW_TILE_BYTES = 48 << 20 }; /* kept at most */

struct view_tile_key {
    uint64_t generation, index;
    uint32_t capture, thread, level;
    uint32_t kind; /* 'c' calls, 's' samples, 'm' memory */
};

struct view_tile_cache;

/* Create an empty one, or return NULL. */
struct view_tile_cache *kymo__tile_cache_new(void);
void kymo__tile_cache_free(struct view_tile_cache *cache);

/* Append the tile at KEY to OUT. Returns 1, 0 if it is not there, or -ENOMEM. */
int kymo__tile_cache_find(struct view_tile_cache *cache, const struct view_tile_key *key,
                          struct kymo_buffer *out);

/* Keep a copy of LENGTH BYTES, and forget the tiles that were not used for the longest time. */
void kymo__tile_cache_keep(struct view_tile_cache *cache, const struct view_tile_key *key,
                           const void *bytes, size_t length);

#endif
