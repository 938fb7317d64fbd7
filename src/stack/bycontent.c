/* bycontent.c — see bycontent.h. */
#include "bycontent.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "atomic.h"
#include "mapped.h"
#include "stacktree.h"

#define ALIVE 0x80000000u /* in holds: the entry belongs to a stack */
#define LIMIT_DEFAULT (UINT64_C(64) << 20)
#define LIMIT_LEAST (UINT64_C(1) << 20)
#define BLOCK_FRAMES 7u
#define SLOTS_AT_ONCE 8u   /* one cache line */
#define SWEEP_TAKES 64u    /* how many to remove at once when room is needed */
#define BARREN_TURNS 1024u /* attempts to skip after nothing could be removed */

struct entry {
    uint64_t hash;
    uint32_t holds; /* count and ALIVE; only changed by adding, except from ALIVE alone to 0 */
    uint32_t count;
    uint32_t block; /* number + 1 of the first */
    uint32_t next;  /* number + 1 in the free list */
};

struct block {
    uint64_t next; /* number + 1 in the same stack or the free list */
    uint64_t words[BLOCK_FRAMES];
};

/* Number + 1 of the first free item, with a change count in the high half, so that a list whose
   head has come back is not mistaken for the earlier one (ABA). */
struct pile {
    uint64_t head;
    uint32_t fresh, capacity; /* never used yet */
};

struct table {
    uint64_t *slots;     /* tag << 32 | entry + 1 */
    uint64_t slot_lines; /* a power of two */
    struct entry *entries;
    struct block *blocks;
    struct pile free_entries, free_blocks;
    uint32_t hand;   /* position of the sweep */
    uint32_t barren; /* turns for which sweeping is pointless */
    uint64_t blocks_in_use, entries_in_use;
};

static struct table *published; /* made once, complete from the start */
static uint64_t limit = LIMIT_DEFAULT;
static uint64_t dropped;

/* An eighth of the memory for slots, an eighth for entries, the rest for frames: right for stacks
   of about thirty frames. Untouched pages cost nothing. Threads that come at the same time each make
   one, and the first stays: a signal handler cannot wait for the thread it interrupted. */
static KYMO__COLD bool make_table(void)
{
    uint64_t lines = 1;
    while (lines * 2 * 64 <= limit / 8)
        lines *= 2;
    uint64_t entries = limit / 8 / sizeof(struct entry), blocks = limit / 4 * 3 / 64;
    size_t slots_at = (sizeof(struct table) + 63) / 64 * 64;
    size_t blocks_at = slots_at + lines * 64,
           entries_at = blocks_at + blocks * sizeof(struct block);
    size_t size = entries_at + entries * sizeof(struct entry);
    struct table *none = NULL, *made = kymo__pages_new(size);
    if (!made)
        return false;
    made->slots = (uint64_t *)((char *)made + slots_at);
    made->slot_lines = lines;
    made->blocks = (struct block *)((char *)made + blocks_at);
    made->entries = (struct entry *)((char *)made + entries_at);
    made->free_entries.capacity = (uint32_t)entries;
    made->free_blocks.capacity = (uint32_t)blocks;
    if (!kymo__swap_if(&published, &none, made))
        kymo__pages_free(made, size);
    return true;
}

static inline bool ready(void)
{
    return kymo__likely(kymo__load_acquire(&published) != NULL) || make_table();
}

static inline struct table *the_table(void)
{
    return kymo__load_relaxed(&published);
}

/* Ids are even, for those of stacktree.h are odd. */
static inline kymo_stack id_of(uint32_t number)
{
    return number << 1;
}

static inline uint32_t number_of(kymo_stack stack)
{
    return stack >> 1;
}

/* ---- free lists */

static uint32_t entry_next(uint32_t number)
{
    return kymo__load_relaxed(&the_table()->entries[number - 1].next);
}

static uint32_t block_next(uint32_t number)
{
    return (uint32_t)kymo__load_relaxed(&the_table()->blocks[number - 1].next);
}

/* Take a free one: number + 1, or 0. */
static uint32_t pile_take(struct pile *pile, uint32_t (*next)(uint32_t))
{
    uint64_t head = kymo__load_acquire(&pile->head);
    while ((uint32_t)head) {
        uint64_t after = ((head >> 32) + 1) << 32 | next((uint32_t)head);
        if (kymo__swap_if(&pile->head, &head, after))
            return (uint32_t)head;
    }
    uint32_t fresh = kymo__load_relaxed(&pile->fresh);
    while (fresh < pile->capacity)
        if (kymo__swap_if(&pile->fresh, &fresh, fresh + 1))
            return fresh + 1;
    return 0;
}

static void pile_give(struct pile *pile, uint32_t number, uint32_t *next32, uint64_t *next64)
{
    uint64_t head = kymo__load_relaxed(&pile->head), after;
    do {
        if (next32)
            kymo__store_relaxed(next32, (uint32_t)head);
        else
            kymo__store_relaxed(next64, (uint64_t)(uint32_t)head);
        after = ((head >> 32) + 1) << 32 | number;
    } while (!kymo__swap_if(&pile->head, &head, after));
}

static void blocks_free(uint32_t block)
{
    while (block) {
        struct block *b = &the_table()->blocks[block - 1];
        uint32_t next = (uint32_t)kymo__load_relaxed(&b->next);
        pile_give(&the_table()->free_blocks, block, NULL, &b->next);
        kymo__add_relaxed(&the_table()->blocks_in_use, UINT64_C(-1));
        block = next;
    }
}

/* Entry NUMBER is not alive and in no slot; free it. */
static void entry_free(uint32_t number)
{
    struct entry *e = &the_table()->entries[number - 1];
    blocks_free(e->block);
    kymo__add_relaxed(&the_table()->entries_in_use, UINT64_C(-1));
    pile_give(&the_table()->free_entries, number, &e->next, NULL);
}

/* ---- slots */

/* The two lines of slots that may hold a stack with HASH. */
static inline uint64_t *slot_line(uint64_t hash, unsigned which)
{
    uint64_t line = (hash & (the_table()->slot_lines - 1)) ^ which;
    return the_table()->slots + line * SLOTS_AT_ONCE;
}

static inline uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

static inline bool hold_entry(uint32_t number, uint64_t hash)
{
    struct entry *e = &the_table()->entries[number - 1];
    if (kymo__likely((kymo__add_release(&e->holds, 1u) & ALIVE) &&
                     kymo__load_relaxed(&e->hash) == hash))
        return true;
    kymo__add_release(&e->holds, UINT32_MAX);
    return false;
}

/* The same, in a slot other than MINE; 0 if there is none. */
static inline uint32_t find_stack(uint64_t hash, const uint64_t *mine)
{
    uint32_t tag = tag_of(hash);
    for (unsigned which = 0; which < 2; which++) {
        uint64_t *line = slot_line(hash, which);
        for (unsigned i = 0; i < SLOTS_AT_ONCE; i++) {
            uint64_t slot = kymo__load_acquire(&line[i]);
            if (kymo__unlikely((uint32_t)(slot >> 32) == tag && (uint32_t)slot) &&
                &line[i] != mine && hold_entry((uint32_t)slot, hash))
                return (uint32_t)slot;
        }
    }
    return 0;
}

kymo_stack kymo__table_find(uint64_t hash)
{
    return ready() ? id_of(find_stack(hash, NULL)) : 0;
}

/* Remove entry NUMBER if nobody holds it. */
static bool take_away(uint32_t number)
{
    struct entry *e = &the_table()->entries[number - 1];
    uint32_t nobody = ALIVE;
    if (kymo__load_relaxed(&e->holds) != ALIVE || !kymo__swap_if(&e->holds, &nobody, 0u))
        return false;
    uint64_t slot = (uint64_t)tag_of(e->hash) << 32 | number;
    for (unsigned which = 0; which < 2; which++)
        for (unsigned i = 0; i < SLOTS_AT_ONCE; i++) {
            uint64_t expected = slot;
            if (kymo__swap_if(&slot_line(e->hash, which)[i], &expected, UINT64_C(0)))
                break;
        }
    entry_free(number);
    return true;
}

/* Make room: remove some entries that nobody holds. False if there are none. */
static KYMO__COLD bool sweep_entries(void)
{
    uint32_t barren = kymo__load_relaxed(&the_table()->barren);
    if (barren) {
        kymo__store_relaxed(&the_table()->barren, barren - 1);
        return false;
    }
    uint32_t used = kymo__load_relaxed(&the_table()->free_entries.fresh), taken = 0;
    for (uint32_t i = 0; i < used && taken < SWEEP_TAKES; i++)
        taken += take_away(kymo__add_relaxed(&the_table()->hand, 1u) % used + 1);
    if (!taken)
        kymo__store_relaxed(&the_table()->barren, BARREN_TURNS);
    return taken;
}

static uint32_t take_slot(struct pile *pile, uint32_t (*next)(uint32_t), uint64_t *in_use)
{
    uint32_t number = pile_take(pile, next);
    if (!number && sweep_entries())
        number = pile_take(pile, next);
    if (number)
        kymo__add_relaxed(in_use, UINT64_C(1));
    return number;
}

/* Fill blocks with WORDS; returns number + 1 of the first, or 0. */
static uint32_t blocks_fill(const uint64_t *words, size_t count)
{
    uint32_t first = 0;
    /* From the end, so that each block knows the next. */
    size_t at = count ? (count - 1) / BLOCK_FRAMES * BLOCK_FRAMES : 0;
    for (;; at -= BLOCK_FRAMES) {
        uint32_t number =
            take_slot(&the_table()->free_blocks, block_next, &the_table()->blocks_in_use);
        if (!number) {
            blocks_free(first);
            return 0;
        }
        struct block *b = &the_table()->blocks[number - 1];
        size_t here = count - at < BLOCK_FRAMES ? count - at : BLOCK_FRAMES;
        for (size_t i = 0; i < here; i++)
            kymo__store_relaxed(&b->words[i], words[at + i]);
        kymo__store_relaxed(&b->next, (uint64_t)first);
        first = number;
        if (!at)
            return first;
    }
}

/* Take a slot for entry NUMBER, or return NULL. */
static uint64_t *slot_take(uint64_t hash, uint32_t number)
{
    uint64_t slot = (uint64_t)tag_of(hash) << 32 | number;
    for (unsigned attempt = 0; attempt < 2; attempt++) {
        for (unsigned i = 0; i < 2 * SLOTS_AT_ONCE; i++) {
            uint64_t *at = &slot_line(hash, i / SLOTS_AT_ONCE)[i % SLOTS_AT_ONCE];
            uint64_t old = kymo__load_relaxed(at);
            /* The second time round, replace entries that nobody holds. */
            if (old && attempt && take_away((uint32_t)old))
                old = kymo__load_relaxed(at);
            if (!old && kymo__swap_if(at, &old, slot))
                return at;
        }
    }
    return NULL;
}

static kymo_stack no_room(void)
{
    kymo__add_relaxed(&dropped, UINT64_C(1));
    return 0;
}

kymo_stack kymo__table_add(uint64_t hash, const uint64_t *words, size_t count)
{
    if (!ready())
        return no_room();
    uint32_t number =
        take_slot(&the_table()->free_entries, entry_next, &the_table()->entries_in_use);
    if (!number)
        return no_room();
    struct entry *e = &the_table()->entries[number - 1];
    kymo__store_relaxed(&e->hash, hash);
    e->count = (uint32_t)count;
    e->block = blocks_fill(words, count);
    if (!e->block) {
        entry_free(number);
        return no_room();
    }
    /* Add, do not store: threads that looked too late, when it was another stack's, may be about to
       drop their holds. */
    kymo__add_release(&e->holds, ALIVE + 1u);
    uint64_t *slot = slot_take(hash, number);
    /* Someone may have added the same stack meanwhile. Two threads that see each other here at the
       same moment swap theirs; then the stack has two ids for a while. */
    uint32_t other = slot ? find_stack(hash, slot) : 0;
    if (slot && !other)
        return id_of(number);
    kymo_stack_release(id_of(number));
    take_away(number);
    return other ? id_of(other) : no_room();
}

size_t kymo__table_words(kymo_stack stack, uint64_t *words, size_t count)
{
    const struct entry *e = &the_table()->entries[number_of(stack) - 1];
    uint32_t block = e->block;
    size_t at = 0, wanted = count < e->count ? count : e->count;
    while (at < wanted && block) {
        const struct block *b = &the_table()->blocks[block - 1];
        for (unsigned i = 0; i < BLOCK_FRAMES && at < wanted; i++)
            words[at++] = kymo__load_relaxed(&b->words[i]);
        block = (uint32_t)kymo__load_relaxed(&b->next);
    }
    return e->count;
}

void kymo_stack_keep(kymo_stack stack)
{
    if (stack && !kymo__stacktree_has(stack))
        kymo__add_relaxed(&the_table()->entries[number_of(stack) - 1].holds, 1u);
}

void kymo_stack_release(kymo_stack stack)
{
    if (!stack || kymo__stacktree_has(stack))
        return;
    uint32_t before =
        kymo__add_release(&the_table()->entries[number_of(stack) - 1].holds, UINT32_MAX);
    if (before == (ALIVE | 1) && kymo__unlikely(kymo__load_relaxed(&the_table()->barren)))
        kymo__store_relaxed(&the_table()->barren, 0u);
}

void kymo__table_stats(struct kymo_stack_stats *stats)
{
    if (kymo__load_acquire(&published)) {
        stats->stacks = kymo__load_relaxed(&the_table()->entries_in_use);
        stats->bytes = stats->stacks * (sizeof(struct entry) + sizeof(uint64_t)) +
                       kymo__load_relaxed(&the_table()->blocks_in_use) * sizeof(struct block);
    }
    stats->limit = limit;
    stats->dropped = kymo__load_relaxed(&dropped);
}

int kymo_stack_limit(uint64_t bytes)
{
    if (kymo__load_acquire(&published))
        return -EBUSY;
    if (bytes < LIMIT_LEAST || bytes > UINT64_C(64) << 30)
        return -EINVAL;
    limit = bytes;
    return 0;
}
