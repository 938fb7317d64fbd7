/* map.h — the hash map used throughout the tree: 64-bit keys to 32-bit values that are not 0,
   usually positions in an array of the caller, counted from 1.

   A key that fits into 64 bits is used directly: kymo__map_find and kymo__map_set. For longer keys
   use their hash, kymo__map_add, and compare what kymo__map_next finds. Open addressing, at most
   half full; an all-zero map is empty. One thread at a time.

   Tables that recording threads read without a lock do not use this: names.c, bycontent.c and the
   tables of the Python tracer publish each entry with a release store and never move one. */
#ifndef KYMO_MAP_H
#define KYMO_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "hash.h"

struct kymo_map {
    struct kymo_map_slot {
        uint64_t key;
        uint32_t value; /* 0: free */
    } * slots;
    size_t count, slot_count; /* a power of two, or 0 */
};

/* The next value stored under KEY, or 0 if there are no more. *AT is 0 for the first call and kept
   by the caller. */
static inline uint32_t kymo__map_next(const struct kymo_map *map, uint64_t key, size_t *at)
{
    if (!map->slot_count)
        return 0;
    size_t mask = map->slot_count - 1;
    for (size_t i = (size_t)(kymo__hash_word(key) >> 24) + *at;; i++) {
        const struct kymo_map_slot *slot = &map->slots[i & mask];
        ++*at;
        if (!slot->value || slot->key == key)
            return slot->value;
    }
}

/* The value of KEY, or 0. */
static inline uint32_t kymo__map_find(const struct kymo_map *map, uint64_t key)
{
    size_t at = 0;
    return kymo__map_next(map, key, &at);
}

/* Make room for one more, so that the next set or add cannot fail. 0 or -ENOMEM. */
int kymo__map_reserve(struct kymo_map *map);

/* Set KEY to VALUE, replacing any other. Returns 0 or -ENOMEM. */
int kymo__map_set(struct kymo_map *map, uint64_t key, uint32_t value);

/* Store VALUE under KEY in addition to existing ones. Returns 0 or -ENOMEM. */
int kymo__map_add(struct kymo_map *map, uint64_t key, uint32_t value);

/* Remove VALUE under KEY, which must be the last one added to the map. */
void kymo__map_drop_last(struct kymo_map *map, uint64_t key, uint32_t value);
void kymo__map_fini(struct kymo_map *map);

#endif
