/* callables.c — see callables.h. The recorder writes equal strings once, so comparing
   their ids is enough. */
#include "callables.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "hash.h"

static bool equal(const struct kymo_reader_key *a, const struct kymo_reader_key *b)
{
    return a->name == b->name && a->file == b->file && a->line == b->line && a->class == b->class;
}

static uint64_t hash_of(const struct kymo_reader_key *key)
{
    uint64_t names = (uint64_t)key->name << 32 | key->file;
    return kymo__hash_word(kymo__hash_word(names) ^ ((uint64_t)key->line << 32 | key->class));
}

/* The number of the callable that KEY stands for. SLOTS holds the first key of each
   callable, 0 for free; MASK + 1 is their number, more than there are keys. */
static uint32_t number_of(struct kymo_callables *c, const struct kymo_reader *r, uint32_t key,
                          uint32_t *slots, size_t mask)
{
    const struct kymo_reader_key *k = &r->keys[key];
    if (!k->name)
        return 0;
    size_t i = (size_t)(hash_of(k) >> 20) & mask;
    for (; slots[i]; i = (i + 1) & mask)
        if (equal(&r->keys[slots[i]], k))
            return c->of_key[slots[i]];
    slots[i] = key;
    c->all[c->count] = (struct kymo_callable){
        .name = kymo__reader_string(r, k->name),
        .file = kymo__reader_string(r, k->file),
        .line = k->line,
        .class = k->class,
    };
    return (uint32_t)c->count++;
}

int kymo__callables_init(struct kymo_callables *c, const struct kymo_capture *capture)
{
    const struct kymo_reader *r = capture->reader;
    size_t slot_count = 64;
    while (slot_count < 2 * r->key_count)
        slot_count *= 2;
    *c = (struct kymo_callables){.keys = r->key_count};
    uint32_t *slots = kymo__alloc_zeroed(slot_count * sizeof(*slots));
    c->of_key = kymo__alloc_zeroed((c->keys + 1) * sizeof(*c->of_key));
    c->all = kymo__alloc((c->keys + 1) * sizeof(*c->all));
    if (!slots || !c->of_key || !c->all) {
        kymo__free(slots);
        kymo__callables_fini(c);
        return -ENOMEM;
    }
    c->all[c->count++] = (struct kymo_callable){.name = "(unknown)", .file = ""};
    for (size_t key = 1; key < c->keys; key++)
        c->of_key[key] = number_of(c, r, (uint32_t)key, slots, slot_count - 1);
    kymo__free(slots);
    return 0;
}

void kymo__callables_fini(struct kymo_callables *c)
{
    kymo__free(c->of_key);
    kymo__free(c->all);
    *c = (struct kymo_callables){0};
}
