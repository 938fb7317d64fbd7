/* pairs.c — see pairs.h. */
#include "pairs.h"

#include <errno.h>

#include "alloc.h"

static uint64_t pair_hash(uint64_t a, uint64_t b)
{
    return kymo__hash_word(a) ^ b;
}

uint32_t kymo__pairs_find(const struct kymo_pairs *pairs, uint64_t a, uint64_t b)
{
    uint32_t place;
    for (size_t at = 0; (place = kymo__map_next(&pairs->by_hash, pair_hash(a, b), &at)) != 0;) {
        const struct kymo_pair *pair = &pairs->all[place - 1];
        if (pair->a == a && pair->b == b)
            return pair->id;
    }
    return 0;
}

int kymo__pairs_reserve(struct kymo_pairs *pairs)
{
    if (pairs->count >= UINT32_MAX)
        return -ENOMEM;
    int rc = kymo__map_reserve(&pairs->by_hash);
    return rc < 0
               ? rc
               : kymo__array_grow(&pairs->all, &pairs->capacity, pairs->count, sizeof(*pairs->all));
}

void kymo__pairs_add(struct kymo_pairs *pairs, uint64_t a, uint64_t b, uint32_t id)
{
    pairs->all[pairs->count++] = (struct kymo_pair){a, b, id};
    kymo__map_add(&pairs->by_hash, pair_hash(a, b), (uint32_t)pairs->count);
}

void kymo__pairs_fini(struct kymo_pairs *pairs)
{
    kymo__free(pairs->all);
    kymo__map_fini(&pairs->by_hash);
    *pairs = (struct kymo_pairs){0};
}
