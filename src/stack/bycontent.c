/* bycontent.c — see bycontent.h. */
#include "bycontent.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "atomic.h"

#define ALIVE 0x80000000u /* in holds: it is a stack's */
#define LIMIT_DEFAULT (UINT64_C(64) << 20)
#define LIMIT_LEAST (UINT64_C(1) << 20)
#define BLOCK_FRAMES 7u
#define SLOTS_AT_ONCE 8u   /* a line of the cache */
#define SWEEP_TAKES 64u    /* as many go at once when room is needed */
#define BARREN_TURNS 1024u /* before it is tried again after none could go */

struct entry {
    uint64_t hash;
    uint32_t holds; /* and ALIVE; changed by adding only, but for ALIVE alone to 0 */
    uint32_t count;
    uint32_t block; /* the first, number + 1 */
    uint32_t next;  /* in the list of free ones, number + 1 */
};

struct block {
    uint64_t next; /* of the same stack or of the free ones, number + 1 */
    uint64_t words[BLOCK_FRAMES];
};

/* Numbers + 1 of what is free: a count of changes above, so that a list that has come back to
   the same head is not taken for the one it was. */
struct pile {
    uint64_t head;
    uint32_t fresh, capacity; /* those never used yet */
};

static struct table {
    uint64_t *slots;     /* tag << 32 | entry + 1 */
    uint64_t slot_lines; /* a power of two */
    struct entry *entries;
    struct block *blocks;
    struct pile free_entries, free_blocks;
    uint32_t hand;   /* of the sweep */
    uint32_t barren; /* turns in which nobody need look */
    uint64_t blocks_in_use, entries_in_use, dropped;
} table;

static uint64_t limit = LIMIT_DEFAULT;
static uint32_t state; /* 0: not there, 1: being made, 2: there, 3: cannot be had */

static void *reserve(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* An eighth of the memory for slots, an eighth for entries, the rest for frames: right for
   stacks of some thirty frames. Pages that are not touched cost nothing. */
static KYMO__COLD bool make(void)
{
    uint32_t none = 0;
    if (!kymo__swap_if(&state, &none, 1u))
        return none == 2;
    uint64_t lines = 1;
    while (lines * 2 * 64 <= limit / 8)
        lines *= 2;
    uint64_t entries = limit / 8 / sizeof(struct entry), blocks = limit / 4 * 3 / 64;
    table.slots = reserve(lines * 64);
    table.entries = reserve(entries * sizeof(struct entry));
    table.blocks = reserve(blocks * sizeof(struct block));
    bool made = table.slots && table.entries && table.blocks;
    table.slot_lines = lines;
    table.free_entries.capacity = (uint32_t)entries;
    table.free_blocks.capacity = (uint32_t)blocks;
    kymo__store_release(&state, made ? 2u : 3u);
    return made;
}

static inline bool ready(void)
{
    return kymo__likely(kymo__load_acquire(&state) == 2) || make();
}

/* ---- what is free */

static uint32_t entry_next(uint32_t number)
{
    return kymo__load_relaxed(&table.entries[number - 1].next);
}

static uint32_t block_next(uint32_t number)
{
    return (uint32_t)kymo__load_relaxed(&table.blocks[number - 1].next);
}

/* A free one, number + 1, or 0. */
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
        struct block *b = &table.blocks[block - 1];
        uint32_t next = (uint32_t)kymo__load_relaxed(&b->next);
        pile_give(&table.free_blocks, block, NULL, &b->next);
        kymo__add_relaxed(&table.blocks_in_use, UINT64_C(-1));
        block = next;
    }
}

/* Entry NUMBER is not alive and in no slot; its room is free. */
static void entry_free(uint32_t number)
{
    struct entry *e = &table.entries[number - 1];
    blocks_free(e->block);
    kymo__add_relaxed(&table.entries_in_use, UINT64_C(-1));
    pile_give(&table.free_entries, number, &e->next, NULL);
}

/* ---- slots */

/* The two lines of slots in which a stack with HASH may stand. */
static inline uint64_t *slot_line(uint64_t hash, unsigned which)
{
    uint64_t line = (hash & (table.slot_lines - 1)) ^ which;
    return table.slots + line * SLOTS_AT_ONCE;
}

static inline uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

static inline bool hold(uint32_t number, uint64_t hash)
{
    struct entry *e = &table.entries[number - 1];
    if (kymo__likely((kymo__add_release(&e->holds, 1u) & ALIVE) &&
                     kymo__load_relaxed(&e->hash) == hash))
        return true;
    kymo__add_release(&e->holds, UINT32_MAX);
    return false;
}

/* The same, in a slot other than MINE; 0 when there is none. */
static inline uint32_t find(uint64_t hash, const uint64_t *mine)
{
    uint32_t tag = tag_of(hash);
    for (unsigned which = 0; which < 2; which++) {
        uint64_t *line = slot_line(hash, which);
        for (unsigned i = 0; i < SLOTS_AT_ONCE; i++) {
            uint64_t slot = kymo__load_acquire(&line[i]);
            if (kymo__unlikely((uint32_t)(slot >> 32) == tag && (uint32_t)slot) &&
                &line[i] != mine && hold((uint32_t)slot, hash))
                return (uint32_t)slot;
        }
    }
    return 0;
}

kymo_stack kymo__table_find(uint64_t hash)
{
    return ready() ? find(hash, NULL) : 0;
}

/* Take entry NUMBER away if nobody holds it. */
static bool take_away(uint32_t number)
{
    struct entry *e = &table.entries[number - 1];
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

/* Make room: take away some of what nobody holds. False when there is nothing. */
static KYMO__COLD bool sweep(void)
{
    uint32_t barren = kymo__load_relaxed(&table.barren);
    if (barren) {
        kymo__store_relaxed(&table.barren, barren - 1);
        return false;
    }
    uint32_t used = kymo__load_relaxed(&table.free_entries.fresh), taken = 0;
    for (uint32_t i = 0; i < used && taken < SWEEP_TAKES; i++)
        taken += take_away(kymo__add_relaxed(&table.hand, 1u) % used + 1);
    if (!taken)
        kymo__store_relaxed(&table.barren, BARREN_TURNS);
    return taken;
}

static uint32_t take(struct pile *pile, uint32_t (*next)(uint32_t), uint64_t *in_use)
{
    uint32_t number = pile_take(pile, next);
    if (!number && sweep())
        number = pile_take(pile, next);
    if (number)
        kymo__add_relaxed(in_use, UINT64_C(1));
    return number;
}

/* Blocks with WORDS in them; the first, number + 1, or 0. */
static uint32_t blocks_fill(const uint64_t *words, size_t count)
{
    uint32_t first = 0;
    /* From the end, so that each one knows the next. */
    size_t at = count ? (count - 1) / BLOCK_FRAMES * BLOCK_FRAMES : 0;
    for (;; at -= BLOCK_FRAMES) {
        uint32_t number = take(&table.free_blocks, block_next, &table.blocks_in_use);
        if (!number) {
            blocks_free(first);
            return 0;
        }
        struct block *b = &table.blocks[number - 1];
        size_t here = count - at < BLOCK_FRAMES ? count - at : BLOCK_FRAMES;
        for (size_t i = 0; i < here; i++)
            kymo__store_relaxed(&b->words[i], words[at + i]);
        kymo__store_relaxed(&b->next, (uint64_t)first);
        first = number;
        if (!at)
            return first;
    }
}

/* A slot for entry NUMBER, or NULL. */
static uint64_t *slot_take(uint64_t hash, uint32_t number)
{
    uint64_t slot = (uint64_t)tag_of(hash) << 32 | number;
    for (unsigned attempt = 0; attempt < 2; attempt++) {
        for (unsigned i = 0; i < 2 * SLOTS_AT_ONCE; i++) {
            uint64_t *at = &slot_line(hash, i / SLOTS_AT_ONCE)[i % SLOTS_AT_ONCE];
            uint64_t old = kymo__load_relaxed(at);
            /* The second time round those that nobody holds make way. */
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
    kymo__add_relaxed(&table.dropped, UINT64_C(1));
    return 0;
}

kymo_stack kymo__table_add(uint64_t hash, const uint64_t *words, size_t count)
{
    if (!ready())
        return no_room();
    uint32_t number = take(&table.free_entries, entry_next, &table.entries_in_use);
    if (!number)
        return no_room();
    struct entry *e = &table.entries[number - 1];
    kymo__store_relaxed(&e->hash, hash);
    e->count = (uint32_t)count;
    e->block = blocks_fill(words, count);
    if (!e->block) {
        entry_free(number);
        return no_room();
    }
    /* Added, not stored: threads that looked at it too late, when it was another stack's, may
       be about to take their holds back. */
    kymo__add_release(&e->holds, ALIVE + 1u);
    uint64_t *slot = slot_take(hash, number);
    /* Somebody may have added the same stack since it was looked for. Two threads that see each
       other here at the same moment swap theirs: then the stack has two ids for a while. */
    uint32_t other = slot ? find(hash, slot) : 0;
    if (slot && !other)
        return number;
    kymo_stack_release(number);
    take_away(number);
    return other ? other : no_room();
}

size_t kymo__table_words(kymo_stack stack, uint64_t *words, size_t count)
{
    const struct entry *e = &table.entries[stack - 1];
    uint32_t block = e->block;
    size_t at = 0, wanted = count < e->count ? count : e->count;
    while (at < wanted && block) {
        const struct block *b = &table.blocks[block - 1];
        for (unsigned i = 0; i < BLOCK_FRAMES && at < wanted; i++)
            words[at++] = kymo__load_relaxed(&b->words[i]);
        block = (uint32_t)kymo__load_relaxed(&b->next);
    }
    return e->count;
}

void kymo_stack_keep(kymo_stack stack)
{
    if (stack)
        kymo__add_relaxed(&table.entries[stack - 1].holds, 1u);
}

void kymo_stack_release(kymo_stack stack)
{
    if (!stack)
        return;
    uint32_t before = kymo__add_release(&table.entries[stack - 1].holds, UINT32_MAX);
    if (before == (ALIVE | 1) && kymo__unlikely(kymo__load_relaxed(&table.barren)))
        kymo__store_relaxed(&table.barren, 0u);
}

void kymo__table_stats(struct kymo_stack_stats *stats)
{
    stats->stacks = kymo__load_relaxed(&table.entries_in_use);
    stats->bytes = stats->stacks * (sizeof(struct entry) + sizeof(uint64_t)) +
                   kymo__load_relaxed(&table.blocks_in_use) * sizeof(struct block);
    stats->limit = limit;
    stats->dropped = kymo__load_relaxed(&table.dropped);
}

int kymo_stack_limit(uint64_t bytes)
{
    if (kymo__load_acquire(&state))
        return -EBUSY;
    if (bytes < LIMIT_LEAST || bytes > UINT64_C(64) << 30)
        return -EINVAL;
    limit = bytes;
    return 0;
}
