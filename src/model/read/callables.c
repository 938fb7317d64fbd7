/* callables.c — see callables.h. The recorder writes equal strings once, so comparing
   their ids is enough. */
#include "callables.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "map.h"

static bool equal(const struct kymo_reader_key *a, const struct kymo_reader_key *b)
{
    return a->name == b->name && a->file == b->file && a->line == b->line && a->class == b->class;
}

static uint64_t hash_of(const struct kymo_reader_key *key)
{
    uint64_t names = (uint64_t)key->name << 32 | key->file;
    return kymo__hash_word(kymo__hash_word(names) ^ ((uint64_t)key->line << 32 | key->class));
}

/* Return the number of KEY's callable, or -ENOMEM. MAP has the first key of each callable, by
   hash. */
static int64_t number_of(struct kymo_callables *c, const struct kymo_reader *r, uint32_t key,
                         struct kymo_map *map)
{
    const struct kymo_reader_key *k = &r->keys[key];
    if (!k->name)
        return 0;
    uint64_t hash = hash_of(k);
    uint32_t first;
    for (size_t at = 0; (first = kymo__map_next(map, hash, &at)) != 0;)
        if (equal(&r->keys[first], k))
            return c->of_key[first];
    if (kymo__map_add(map, hash, key) < 0)
        return -ENOMEM;
    c->all[c->count] = (struct kymo_callable){
        .name = kymo__reader_string(r, k->name),
        .file = kymo__reader_string(r, k->file),
        .line = k->line,
        .class = k->class,
    };
    return (int64_t)c->count++;
}

int kymo__callables_init(struct kymo_callables *c, const struct kymo_capture *capture)
{
    const struct kymo_reader *r = capture->reader;
    *c = (struct kymo_callables){.keys = r->key_count};
    c->of_key = kymo__alloc_zeroed((c->keys + 1) * sizeof(*c->of_key));
    c->all = kymo__alloc((c->keys + 1) * sizeof(*c->all));
    if (!c->of_key || !c->all) {
        kymo__callables_fini(c);
        return -ENOMEM;
    }
    c->all[c->count++] = (struct kymo_callable){.name = "(unknown)", .file = ""};
    struct kymo_map map = {0};
    int64_t number = 0;
    for (size_t key = 1; number >= 0 && key < c->keys; key++) {
        number = number_of(c, r, (uint32_t)key, &map);
        c->of_key[key] = number < 0 ? 0 : (uint32_t)number;
    }
    kymo__map_fini(&map);
    if (number < 0)
        kymo__callables_fini(c);
    return number < 0 ? (int)number : 0;
}

void kymo__callables_fini(struct kymo_callables *c)
{
    kymo__free(c->of_key);
    kymo__free(c->all);
    *c = (struct kymo_callables){0};
}
