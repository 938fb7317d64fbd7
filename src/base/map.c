/* map.c — see map.h. */
#include "map.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"

enum { SLOTS_FIRST = 64 };

/* The slot of KEY and VALUE, of KEY alone if VALUE is 0, or the free one where it belongs. */
static struct kymo_map_slot *map_slot(const struct kymo_map *map, uint64_t key, uint32_t value)
{
    size_t mask = map->slot_count - 1;
    for (size_t i = (size_t)(kymo__hash_word(key) >> 24);; i++) {
        struct kymo_map_slot *slot = &map->slots[i & mask];
        if (!slot->value || (slot->key == key && (!value || slot->value == value)))
            return slot;
    }
}

int kymo__map_reserve(struct kymo_map *map)
{
    if (2 * (map->count + 1) <= map->slot_count)
        return 0;
    struct kymo_map wider = {
        .count = map->count,
        .slot_count = map->slot_count ? 2 * map->slot_count : SLOTS_FIRST,
    };
    wider.slots = kymo__alloc(wider.slot_count * sizeof(*wider.slots));
    if (!wider.slots)
        return -ENOMEM;
    /* Nearly every page of it will be written to now, and one that is read first is mapped twice. */
    memset(wider.slots, 0, wider.slot_count * sizeof(*wider.slots));
    for (size_t i = 0; i < map->slot_count; i++)
        if (map->slots[i].value)
            *map_slot(&wider, map->slots[i].key, map->slots[i].value) = map->slots[i];
    kymo__free(map->slots);
    *map = wider;
    return 0;
}

static int map_put(struct kymo_map *map, uint64_t key, uint32_t value, uint32_t instead_of)
{
    int rc = kymo__map_reserve(map);
    if (rc < 0)
        return rc;
    struct kymo_map_slot *slot = map_slot(map, key, instead_of);
    map->count += !slot->value;
    *slot = (struct kymo_map_slot){key, value};
    return 0;
}

int kymo__map_set(struct kymo_map *map, uint64_t key, uint32_t value)
{
    return map_put(map, key, value, 0);
}

int kymo__map_add(struct kymo_map *map, uint64_t key, uint32_t value)
{
    return map_put(map, key, value, value);
}

void kymo__map_drop_last(struct kymo_map *map, uint64_t key, uint32_t value)
{
    struct kymo_map_slot *slot = map_slot(map, key, value);
    map->count -= slot->value != 0;
    *slot = (struct kymo_map_slot){0}; /* last of its run: nothing was placed after it */
}

void kymo__map_fini(struct kymo_map *map)
{
    kymo__free(map->slots);
    *map = (struct kymo_map){0};
}
