/* pairs.c — see pairs.h. Open addressing, never more than two thirds full. */
#include "pairs.h"

#include <errno.h>

#include "alloc.h"
#include "hash.h"

static struct kymo_pair *place(const struct kymo_pairs *pairs, uint64_t a, uint64_t b)
{
    size_t mask = ((size_t)1 << pairs->bits) - 1;
    size_t i = (size_t)(kymo__hash_word(kymo__hash_word(a) ^ b) >> (64 - pairs->bits));
    struct kymo_pair *slot = &pairs->slots[i & mask];
    while (slot->id && (slot->a != a || slot->b != b))
        slot = &pairs->slots[++i & mask];
    return slot;
}

uint32_t kymo__pairs_find(const struct kymo_pairs *pairs, uint64_t a, uint64_t b)
{
    return pairs->bits ? place(pairs, a, b)->id : 0;
}

int kymo__pairs_reserve(struct kymo_pairs *pairs)
{
    size_t slots = pairs->bits ? (size_t)1 << pairs->bits : 0;
    if ((pairs->count + 1) * 3 <= slots * 2)
        return 0;
    struct kymo_pairs wider = {.bits = pairs->bits ? pairs->bits + 1 : 8, .count = pairs->count};
    wider.slots = kymo__alloc_zeroed(((size_t)1 << wider.bits) * sizeof(*wider.slots));
    if (!wider.slots)
        return -ENOMEM;
    for (size_t i = 0; i < slots; i++)
        if (pairs->slots[i].id)
            *place(&wider, pairs->slots[i].a, pairs->slots[i].b) = pairs->slots[i];
    kymo__free(pairs->slots);
    *pairs = wider;
    return 0;
}

void kymo__pairs_add(struct kymo_pairs *pairs, uint64_t a, uint64_t b, uint32_t id)
{
    *place(pairs, a, b) = (struct kymo_pair){a, b, id};
    pairs->count++;
}

void kymo__pairs_fini(struct kymo_pairs *pairs)
{
    kymo__free(pairs->slots);
    *pairs = (struct kymo_pairs){0};
}
