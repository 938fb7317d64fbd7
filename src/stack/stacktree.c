/* stacktree.c — see stacktree.h. The first child of a node is found through its parent: most nodes of native
   frames have no other. The others are found through tables by hash, from the smallest on: a larger one is
   made when the last is three quarters full, so that little memory is touched for few stacks. Most lookups are
   of new nodes, and what they take is waiting for memory: frames of neighbouring instructions of a function
   that were called from the same node are in one line of the cache. */
#include "stacktree.h"

#include <assert.h>

#include "atomic.h"
#include "hash.h"
#include "mapped.h"

enum { TABLES = 4, LINE = 16, NEIGHBOURS = 64 }; /* words whose nodes begin in one line */
#define NODES_MOST (UINT32_C(1) << 22)

uint32_t kymo__stacktree_most = NODES_MOST;

/* In slots, as powers of two, and how many slots are looked at. A node for which there is no free one goes
   to the next table; the last has enough for all. */
static const unsigned table_bits[TABLES] = {18, 20, 22, 23};
static const unsigned table_probes[TABLES] = {2 * LINE, 2 * LINE, 2 * LINE, 64 * LINE};

struct node {
    uint64_t word;   /* set last; 0: being added */
    uint32_t parent; /* a stack */
    uint32_t next;   /* among those used and not yet taken: number + 1; 0: never used */
    uint32_t first;  /* the child that was added first: number + 1; 0: there is none */
};

static struct node *nodes;       /* by number; made once */
static uint32_t *tables[TABLES]; /* slots; made once each */
static uint32_t filled[TABLES];  /* slots in use */

#define END UINT32_MAX /* the last in the list of used ones */
static uint32_t count, used = END, dropped;

static inline uint32_t number_of(kymo_stack stack)
{
    return stack >> 1;
}

static inline kymo_stack stack_of(uint32_t number)
{
    return number << 1 | 1;
}

/* A slot holds a node's number + 1 and, above that, bits of the hash that are used for nothing else.
   They rule out most other nodes without reading them; nodes are seldom in the cache. */
enum { SLOT_NUMBER_BITS = 23 };
static_assert(NODES_MOST < 1 << SLOT_NUMBER_BITS, "numbers + 1 fit into a slot");

static inline uint32_t slot_tag(uint64_t hash, uint64_t word)
{
    return ((uint32_t)(hash >> 32) ^ (uint32_t)word) << SLOT_NUMBER_BITS;
}

static inline uint32_t slot_number(uint32_t slot)
{
    return (slot & ((1u << SLOT_NUMBER_BITS) - 1)) - 1;
}

static size_t table_bytes(int i)
{
    return sizeof(uint32_t) << table_bits[i];
}

void kymo__stacktree_begin(void)
{
    if (nodes)
        kymo__pages_drop(nodes, sizeof(*nodes) * NODES_MOST);
    for (int i = 0; i < TABLES; i++) {
        if (tables[i])
            kymo__pages_drop(tables[i], table_bytes(i));
        filled[i] = 0;
    }
    count = dropped = 0;
    used = END;
}

/* Make *PLACE, of SIZE bytes, unless somebody has. SOON: all of it will be used. */
static KYMO__COLD void *make_pages(void *place, size_t size, bool soon)
{
    void **at = place, *none = NULL, *fresh = kymo__pages_new(size);
    if (fresh && soon)
        kymo__pages_back(fresh, size);
    if (fresh && !kymo__swap_if(at, &none, fresh))
        kymo__pages_free(fresh, size);
    return kymo__load_acquire(at);
}

static inline bool is_node(uint32_t slot, uint32_t tag, kymo_stack parent, uint64_t word)
{
    uint32_t number = slot_number(slot);
    if (slot >> SLOT_NUMBER_BITS != tag >> SLOT_NUMBER_BITS)
        return false;
    return kymo__load_acquire(&nodes[number].word) == word && nodes[number].parent == parent;
}

/* Add a node that no table leads to yet. Returns its number + 1, or 0. */
static uint32_t add_node(kymo_stack parent, uint64_t word)
{
    uint32_t number = kymo__load_relaxed(&count);
    do
        if (number >= kymo__stacktree_most)
            return 0;
    while (!kymo__swap_if(&count, &number, number + 1));
    nodes[number].parent = parent;
    kymo__store_release(&nodes[number].word, word);
    return number + 1;
}

/* The slot of the node in table I, or 0. A node that is not in it is added if there is a free slot and
   the table is not full. */
static uint32_t look_in(int i, uint64_t hash, kymo_stack parent, uint64_t word)
{
    uint32_t *table = kymo__load_acquire(&tables[i]);
    uint64_t mask = (UINT64_C(1) << table_bits[i]) - 1;
    uint64_t line = hash >> (64 - table_bits[i]) & ~(uint64_t)(LINE - 1);
    uint64_t at = line | word % NEIGHBOURS / (NEIGHBOURS / LINE);
    uint32_t tag = slot_tag(hash, word);
    for (unsigned probe = 0; probe < table_probes[i]; probe++) {
        uint32_t *slot = &table[(at + probe) & mask], held = kymo__load_acquire(slot);
        if (!held) {
            if (kymo__load_relaxed(&filled[i]) > mask / 4 * 3)
                return 0;
            uint32_t fresh = add_node(parent, word);
            if (!fresh)
                return 0;
            fresh |= tag;
            if (kymo__swap_if(slot, &held, fresh))
                kymo__add_relaxed(&filled[i], 1u);
            else if (is_node(held, tag, parent, word))
                return held;
            return fresh; /* if another frame took the slot, this node is not found again */
        }
        if (is_node(held, tag, parent, word))
            return held;
    }
    return 0;
}

/* The node of WORD if it is the first child of PARENT, else 0. It is added if there is no child yet. */
static inline kymo_stack first_child(kymo_stack parent, uint64_t word)
{
    uint32_t *first = &nodes[number_of(parent)].first, held = kymo__load_acquire(first);
    if (!held) {
        uint32_t fresh = add_node(parent, word);
        if (fresh && kymo__swap_if(first, &held, fresh))
            return stack_of(fresh - 1);
    }
    return held && kymo__load_acquire(&nodes[held - 1].word) == word ? stack_of(held - 1) : 0;
}

kymo_stack kymo__stacktree_child(kymo_stack parent, uint64_t word)
{
    kymo_stack first = parent ? first_child(parent, word) : 0;
    if (first)
        return first;
    uint64_t hash = kymo__hash_word(kymo__hash_word(word / NEIGHBOURS) ^ parent);
    if (kymo__unlikely(!kymo__load_acquire(&nodes)) &&
        !make_pages(&nodes, sizeof(*nodes) * NODES_MOST, false))
        return 0;
    for (int i = 0; i < TABLES; i++) {
        if (kymo__unlikely(!kymo__load_acquire(&tables[i])) &&
            !make_pages(&tables[i], table_bytes(i), i > 0))
            break;
        uint32_t held = look_in(i, hash, parent, word);
        if (held)
            return stack_of(slot_number(held));
    }
    kymo__add_relaxed(&dropped, 1u);
    return 0;
}

uint64_t kymo__stacktree_word(kymo_stack node)
{
    return kymo__load_acquire(&nodes[number_of(node)].word);
}

kymo_stack kymo__stacktree_parent(kymo_stack node)
{
    return nodes[number_of(node)].parent;
}

bool kymo__stacktree_use(kymo_stack node)
{
    uint32_t *next = &nodes[number_of(node)].next, never = 0;
    if (kymo__load_relaxed(next) || !kymo__swap_if(next, &never, (uint32_t)END))
        return false;
    uint32_t head = kymo__load_relaxed(&used);
    do
        kymo__store_relaxed(next, head);
    while (!kymo__swap_if(&used, &head, number_of(node) + 1));
    return true;
}

bool kymo__stacktree_has_used(void)
{
    return kymo__load_relaxed(&used) != END;
}

kymo_stack kymo__stacktree_used(void)
{
    uint32_t head = kymo__load_acquire(&used);
    while (head != END)
        if (kymo__swap_if(&used, &head, kymo__load_relaxed(&nodes[head - 1].next)))
            return stack_of(head - 1);
    return 0;
}

kymo_stack kymo__stacktree_last(void)
{
    uint32_t last = kymo__load_acquire(&count);
    return last ? stack_of(last - 1) : 0;
}

void kymo__stacktree_stats(struct kymo_stack_stats *stats)
{
    stats->bytes += kymo__load_relaxed(&count) * (sizeof(struct node) + 2 * sizeof(uint32_t));
    stats->dropped += kymo__load_relaxed(&dropped);
}
