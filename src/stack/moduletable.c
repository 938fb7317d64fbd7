/* moduletable.c — see moduletable.h.

   Tables are never freed, because someone may be reading them: they take turns. The next table is
   written over the one made longest ago. A reader that is so slow that this happens to the table it
   reads notices by the table's turn, and starts again with the current one. */
#include "moduletable.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "atomic.h"
#include "mapped.h"
#include "modules.h"

enum {
    TABLES = 16, /* a reader would have to sleep through as many loads to have to start again */
    WORDS = sizeof(struct kymo_loaded) / sizeof(uint64_t),
};
static_assert(sizeof(struct kymo_loaded) == WORDS * sizeof(uint64_t), "copied word by word");

struct table {
    uint64_t turn;  /* odd while it is being written */
    uint64_t count; /* entries */
    uint64_t room;
    uint64_t words[]; /* struct kymo_loaded, `low` first */
};

static struct table *current;
static uint64_t known = UINT64_MAX; /* stored after `current`, and read before it */

/* Only for the thread that publishes. */
static struct table *tables[TABLES];
static unsigned next_table;

uint64_t kymo__modules_known(void)
{
    return kymo__load_acquire(&known);
}

/* Find the entry for PC. What it copies is right only if the table's turn is the same afterwards;
   with acquire, the words are read before that turn. */
static bool find_in(const struct table *table, uint64_t pc, struct kymo_loaded *loaded)
{
    uint64_t from = 0, count = kymo__load_acquire(&table->count), words[WORDS];
    if (!count)
        return false;
    while (count > 1) {
        uint64_t half = count / 2;
        if (kymo__load_acquire(&table->words[(from + half) * WORDS]) <= pc)
            from += half;
        count -= half;
    }
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = kymo__load_acquire(&table->words[from * WORDS + i]);
    memcpy(loaded, words, sizeof(words));
    return pc >= loaded->low && pc < loaded->high;
}

bool kymo__module_at(uint64_t pc, struct kymo_loaded *loaded)
{
    const struct table *table;
    while ((table = kymo__load_acquire(&current))) {
        uint64_t turn = kymo__load_acquire(&table->turn);
        bool found = find_in(table, pc, loaded);
        if (kymo__likely(!(turn & 1) && kymo__load_relaxed(&table->turn) == turn))
            return found;
    }
    return false;
}

/* A program that loads and unloads the same libraries again and again gets the same tables
   again. */
static struct table *made_before(const uint64_t *words, size_t count)
{
    for (unsigned i = 0; i < TABLES; i++)
        if (tables[i] && tables[i]->count == count &&
            memcmp(tables[i]->words, words, count * sizeof(struct kymo_loaded)) == 0)
            return tables[i];
    return NULL;
}

/* The table whose turn it is, with room for COUNT entries; or NULL. One that is too small stays
   allocated: its successor is at least twice as large, so these add up to less than the last. */
static struct table *take_table(size_t count)
{
    unsigned at = next_table++ % TABLES;
    if (tables[at] && tables[at] == current)
        at = next_table++ % TABLES;
    if (tables[at] && tables[at]->room >= count)
        return tables[at];
    size_t room = tables[at] ? tables[at]->room : 32;
    while (room < count)
        room *= 2;
    struct table *table = kymo__pages_new(sizeof(*table) + room * sizeof(struct kymo_loaded));
    if (!table)
        return NULL;
    table->room = room;
    return tables[at] = table;
}

int kymo__moduletable_publish(const struct kymo_loaded *loaded, size_t count, uint64_t version)
{
    const uint64_t *words = (const uint64_t *)loaded;
    struct table *table = made_before(words, count);
    if (!table) {
        if (!(table = take_table(count)))
            return -ENOMEM;
        uint64_t turn = table->turn | 1;
        kymo__store_relaxed(&table->turn, turn);
        for (size_t i = 0; i < count * WORDS; i++)
            kymo__store_release(&table->words[i], words[i]); /* not before the turn */
        kymo__store_release(&table->count, (uint64_t)count);
        kymo__store_release(&table->turn, turn + 1);
    }
    kymo__store_release(&current, table);
    kymo__store_release(&known, version);
    return 0;
}
