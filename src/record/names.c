/* names.c — see names.h. */
#include "names.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "varint.h"

#define ROOM (KYMO__CHUNK_BYTES - offsetof(struct kymo_chunk, records))
static_assert(KYMO__DEF_MAX < ROOM, "a definition fits into the chunk");

static struct kymo_addresses *addresses_new(unsigned bits)
{
    size_t slots = (size_t)1 << bits;
    struct kymo_addresses *table =
        kymo__alloc_zeroed(sizeof(*table) + slots * sizeof(table->slots[0]));
    if (table)
        table->shift = 64 - bits;
    return table;
}

static void place(struct kymo_addresses *table, const void *address, uint32_t key)
{
    size_t mask = ((size_t)1 << (64 - table->shift)) - 1;
    size_t i = (size_t)(kymo__hash_word((uintptr_t)address) >> table->shift);
    while (kymo__load_relaxed(&table->slots[i & mask].address))
        i++;
    table->slots[i & mask].key = key;
    kymo__store_release(&table->slots[i & mask].address, address);
    table->count++;
}

/* Remember that the name at ADDRESS has KEY. Without memory it is not remembered, and
   will be looked up by its content again. */
static void remember(struct kymo_names *names, const void *address, uint32_t key)
{
    struct kymo_addresses *table = names->addresses;
    size_t slots = (size_t)1 << (64 - table->shift);
    if ((table->count + 1) * 2 > slots) {
        struct kymo_addresses *wider = addresses_new(64 - table->shift + 1);
        if (!wider)
            return;
        for (size_t i = 0; i < slots; i++)
            if (table->slots[i].address)
                place(wider, table->slots[i].address, table->slots[i].key);
        wider->older = table; /* somebody may be reading it */
        kymo__store_release(&names->addresses, wider);
        table = wider;
    }
    place(table, address, key);
}

int kymo__names_init(struct kymo_names *names, struct kymo_chunk *chunk, int level,
                     kymo_append_fn *append, void *arg, const uint32_t *failing)
{
    *names = (struct kymo_names){
        .chunk = chunk, .append = append, .append_arg = arg, .failing = failing};
    pthread_mutex_init(&names->lock, NULL);
    names->addresses = addresses_new(10);
    names->packer = kymo__packer_new(level);
    if (!names->addresses || !names->packer)
        return -ENOMEM;
    chunk->type = KYMO__BLOCK_DEFS;
    chunk->thread = KYMO__NO_THREAD;
    kymo__store_release(&chunk->state, (uint32_t)KYMO__CHUNK_OPEN);
    return 0;
}

void kymo__names_fini(struct kymo_names *names)
{
    for (struct kymo_addresses *table = names->addresses; table;) {
        struct kymo_addresses *older = table->older;
        kymo__free(table);
        table = older;
    }
    kymo__strtab_fini(&names->strings);
    kymo__free(names->keys);
    kymo__packer_free(names->packer);
    pthread_mutex_destroy(&names->lock);
}

static int flush(struct kymo_names *names)
{
    struct kymo_chunk *chunk = names->chunk;
    if (!chunk->used)
        return 0;
    struct kymo_packed packed;
    int rc = kymo__pack_bytes(names->packer, KYMO__BLOCK_DEFS, chunk->number, chunk->records,
                              chunk->used, &packed);
    if (rc == 0)
        rc = names->append(names->append_arg, &packed);
    if (rc < 0)
        return rc;
    /* A kill between these two stores leaves an empty chunk, which is right. */
    uint32_t used = chunk->used;
    kymo__store_release(&chunk->used, 0u);
    kymo__store_release(&chunk->number, chunk->number + used);
    return 0;
}

static int add(struct kymo_names *names, const struct kymo_def *def)
{
    struct kymo_chunk *chunk = names->chunk;
    if (chunk->used + KYMO__DEF_MAX > ROOM) {
        /* Packing it again for every name that comes up would stall the program. */
        int rc = kymo__load_relaxed(names->failing) ? -ENOSPC : flush(names);
        if (rc < 0)
            return rc;
    }
    uint8_t *begin = (uint8_t *)chunk->records + chunk->used;
    uint8_t *end = kymo__def_put(begin, def);
    /* Released last: a reader of the live file believes only what is before it. */
    kymo__store_release(&chunk->used, chunk->used + (uint32_t)(end - begin));
    return 0;
}

static int add_text(struct kymo_names *names, uint32_t id, const char *text, size_t len)
{
    struct kymo_def def = {.type = KYMO__DEF_STRING, .number = {id}};
    do {
        def.text = (const uint8_t *)text;
        def.text_len = len < KYMO__DEF_TEXT ? len : KYMO__DEF_TEXT;
        int rc = add(names, &def);
        if (rc < 0)
            return rc;
        def.type = KYMO__DEF_MORE;
        text += def.text_len;
        len -= def.text_len;
    } while (len);
    return 0;
}

static uint32_t string_of(struct kymo_names *names, const char *text, const char **text_out)
{
    int added;
    size_t len = strlen(text);
    int64_t id = kymo__strtab_add(&names->strings, text, len, &added);
    if (id < 0)
        return 0;
    if (added && add_text(names, (uint32_t)id, text, len) < 0) {
        kymo__strtab_drop_last(&names->strings); /* so that it is tried again */
        return 0;
    }
    if (text_out)
        *text_out = kymo__strtab_get(&names->strings, (uint32_t)id)->text;
    return (uint32_t)id;
}

static uint32_t key_of(struct kymo_names *names, const char *name)
{
    uint32_t string = string_of(names, name, NULL);
    if (!string)
        return 0;
    if (string >= names->key_capacity) {
        size_t wanted = names->key_capacity ? names->key_capacity * 2 : 64;
        wanted = wanted > string ? wanted : (size_t)string + 1;
        uint32_t *keys = kymo__realloc(names->keys, wanted * sizeof(*keys));
        if (!keys)
            return 0;
        memset(keys + names->key_capacity, 0, (wanted - names->key_capacity) * sizeof(*keys));
        names->keys = keys;
        names->key_capacity = wanted;
    }
    if (!names->keys[string]) {
        struct kymo_def def = {.type = KYMO__DEF_KEY, .number = {names->last_key + 1, string}};
        if (add(names, &def) < 0)
            return 0;
        names->keys[string] = ++names->last_key;
    }
    return names->keys[string];
}

uint32_t kymo__names_add(struct kymo_names *names, const char *name)
{
    pthread_mutex_lock(&names->lock);
    uint32_t key = kymo__names_find(names, name); /* another thread may have been first */
    if (!key) {
        key = key_of(names, name);
        if (key)
            remember(names, name, key);
    }
    pthread_mutex_unlock(&names->lock);
    return key;
}

uint32_t kymo__names_function(struct kymo_names *names, const struct kymo_function *f)
{
    pthread_mutex_lock(&names->lock);
    uint32_t key = 0, name = string_of(names, f->name, NULL);
    uint32_t file = f->file ? string_of(names, f->file, NULL) : 0;
    struct kymo_def def = {.type = KYMO__DEF_KEY,
                           .number = {names->last_key + 1, name, file, f->line, f->kind}};
    if (name && add(names, &def) == 0)
        key = ++names->last_key;
    pthread_mutex_unlock(&names->lock);
    return key;
}

uint32_t kymo__names_string(struct kymo_names *names, const char *text, const char **text_out)
{
    pthread_mutex_lock(&names->lock);
    uint32_t id = string_of(names, text, text_out);
    pthread_mutex_unlock(&names->lock);
    return id;
}

int kymo__names_define(struct kymo_names *names, int type, const uint64_t *numbers)
{
    struct kymo_def def = {.type = type};
    memcpy(def.number, numbers, kymo__def_numbers(type) * sizeof(*numbers));
    pthread_mutex_lock(&names->lock);
    int rc = add(names, &def);
    pthread_mutex_unlock(&names->lock);
    return rc;
}

void kymo__names_meta(struct kymo_names *names, const char *key, const char *value)
{
    const uint64_t numbers[] = {kymo__names_string(names, key, NULL),
                                kymo__names_string(names, value, NULL)};
    if (numbers[0] && numbers[1])
        kymo__names_define(names, KYMO__DEF_META, numbers);
}

int kymo__names_snapshot(struct kymo_names *names, const struct kymo_snapshot *snapshot)
{
    return kymo__names_define(names, KYMO__DEF_CLOCK,
                              (const uint64_t[]){snapshot->ticks, (uint64_t)snapshot->monotonic,
                                                 kymo__zigzag(snapshot->wall)});
}

int kymo__names_flush(struct kymo_names *names)
{
    pthread_mutex_lock(&names->lock);
    int rc = flush(names);
    pthread_mutex_unlock(&names->lock);
    return rc;
}
