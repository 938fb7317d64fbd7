/* lives.c — see lives.h.

   Entries evicted from the small table are in a larger one. The end of a generator is not tracked,
   so most entries are dead. When the table is full it is emptied: a generator that is still alive
   then gets another number, also unique. */
#include "lives.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST = 1 << 12, MOST = 1 << 20 };

struct life kymo__lives[1 << KYMO_LIVES_BITS];
uint64_t kymo__life_count;

static struct life *others; /* open addressing by frame */
static size_t capacity, used;
KYMO_SECTION(lives_section);

static uint64_t hash_of(const void *frame)
{
    return (uint64_t)(uintptr_t)frame * UINT64_C(0x9e3779b97f4a7c15);
}

static struct life *slot_of(const void *frame)
{
    size_t at = (size_t)(hash_of(frame) >> 20) & (capacity - 1);
    while (others[at].frame && others[at].frame != frame)
        at = (at + 1) & (capacity - 1);
    return &others[at];
}

static bool widen_table(void)
{
    struct life *old = others;
    size_t old_capacity = capacity, wanted = capacity ? capacity * 2 : LEAST;
    if (wanted > MOST) {
        memset(others, 0, capacity * sizeof *others);
        used = 0;
        return true;
    }
    struct life *grown = calloc(wanted, sizeof *grown);
    if (!grown)
        return false;
    others = grown;
    capacity = wanted;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].frame)
            *slot_of(old[i].frame) = old[i];
    free(old);
    return true;
}

static void keep_life(struct life life)
{
    if ((used + 1) * 2 > capacity && !widen_table())
        return;
    struct life *slot = slot_of(life.frame);
    used += !slot->frame;
    *slot = life;
}

/* The slot of FRAME in the small table, filled with what is known about it. */
static struct life *fetch_life(const void *frame)
{
    struct life *life = &kymo__lives[hash_of(frame) >> (64 - KYMO_LIVES_BITS)];
    if (life->frame == frame)
        return life;
    if (life->frame)
        keep_life(*life);
    const struct life *known = capacity ? slot_of(frame) : NULL;
    *life = (struct life){frame, known && known->frame ? known->number : 0};
    return life;
}

uint64_t kymo__life_slow(const void *frame, bool begins)
{
    KYMO_SECTION_LOCK(lives_section);
    struct life *life = fetch_life(frame);
    bool announced = life->number & KYMO_LIFE_ANNOUNCED;
    if (!life->number || (begins && !announced))
        life->number = ++kymo__life_count;
    life->number &= ~KYMO_LIFE_ANNOUNCED;
    uint64_t number = life->number;
    KYMO_SECTION_UNLOCK(lives_section);
    return number;
}

uint64_t kymo__life_announce(const void *frame)
{
    KYMO_SECTION_LOCK(lives_section);
    uint64_t number = ++kymo__life_count;
    fetch_life(frame)->number = number | KYMO_LIFE_ANNOUNCED;
    KYMO_SECTION_UNLOCK(lives_section);
    return number;
}

uint64_t kymo__life_block(uint64_t count)
{
    KYMO_SECTION_LOCK(lives_section);
    uint64_t first = kymo__life_count + 1;
    kymo__life_count += count;
    KYMO_SECTION_UNLOCK(lives_section);
    return first;
}

void kymo__lives_reset(void)
{
    if (!kymo__life_count)
        return; /* a forked child would get a copy of every page */
    memset(kymo__lives, 0, sizeof kymo__lives);
    free(others);
    others = NULL;
    capacity = used = 0;
    kymo__life_count = 0;
}
