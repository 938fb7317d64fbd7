/* names.c — see names.h. */
#include "names.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "timebase.h"
#include "varint.h"
#include "waits.h"

enum { NOTICES_MOST = 1 << 16 }; /* gaps waiting to be taken */
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

static void place_address(struct kymo_addresses *table, const void *address, uint32_t key)
{
    size_t mask = ((size_t)1 << (64 - table->shift)) - 1;
    size_t i = (size_t)(kymo__hash_word((uintptr_t)address) >> table->shift);
    while (kymo__load_relaxed(&table->slots[i & mask].address))
        i++;
    table->slots[i & mask].key = key;
    kymo__store_release(&table->slots[i & mask].address, address);
    table->count++;
}

/* Remember that the name at ADDRESS has KEY. If memory is short, nothing is remembered and the
   name is looked up by its content again. */
static void remember_address(struct kymo_names *names, const void *address, uint32_t key)
{
    struct kymo_addresses *table = names->addresses;
    size_t slots = (size_t)1 << (64 - table->shift);
    if ((table->count + 1) * 2 > slots) {
        struct kymo_addresses *wider = addresses_new(64 - table->shift + 1);
        if (!wider)
            return;
        for (size_t i = 0; i < slots; i++)
            if (table->slots[i].address)
                place_address(wider, table->slots[i].address, table->slots[i].key);
        wider->older = table; /* another thread may be reading it */
        kymo__store_release(&names->addresses, wider);
        table = wider;
    }
    place_address(table, address, key);
}

int kymo__names_init(struct kymo_names *names, struct kymo_chunk *chunk, int level,
                     kymo_append_fn *append, void *arg, const uint32_t *failing)
{
    *names = (struct kymo_names){
        .chunk = chunk, .append = append, .append_arg = arg, .failing = failing};
    pthread_mutex_init(&names->lock, NULL);
    names->addresses = addresses_new(10);
    names->packer = kymo__packer_new_bytes(level);
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
    kymo__free(names->gaps);
    kymo__buffer_fini(&names->traits);
    kymo__packer_free(names->packer);
    kymo__free(names->snapshots);
    pthread_mutex_destroy(&names->lock);
}

static int flush_chunk(struct kymo_names *names)
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
    /* A kill between these two stores leaves an empty chunk, which is correct. */
    uint32_t used = chunk->used;
    kymo__store_release(&chunk->used, 0u);
    kymo__store_release(&chunk->number, chunk->number + used);
    return 0;
}

static int def_add(struct kymo_names *names, const struct kymo_def *def)
{
    struct kymo_chunk *chunk = names->chunk;
    if (chunk->used + KYMO__DEF_MAX > ROOM) {
        /* Packing it again for every new name would stall the program. */
        int rc = kymo__load_relaxed(names->failing) ? -ENOSPC : flush_chunk(names);
        if (rc < 0)
            return rc;
    }
    uint8_t *begin = (uint8_t *)chunk->records + chunk->used;
    uint8_t *end = kymo__def_put(begin, def);
    /* Released last: a reader of the live file trusts only the bytes up to here. */
    kymo__store_release(&chunk->used, chunk->used + (uint32_t)(end - begin));
    return 0;
}

static int add_text(struct kymo_names *names, uint32_t id, const char *text, size_t len)
{
    struct kymo_def def = {.type = KYMO__DEF_STRING, .number = {id}};
    do {
        def.text = (const uint8_t *)text;
        def.text_len = len < KYMO__DEF_TEXT ? len : KYMO__DEF_TEXT;
        int rc = def_add(names, &def);
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
        kymo__strtab_drop_last(&names->strings); /* so that the next call tries again */
        return 0;
    }
    if (text_out)
        *text_out = kymo__strtab_get(&names->strings, (uint32_t)id)->text;
    return (uint32_t)id;
}

/* Does TEXT match PATTERN, in which * matches any characters and ? one? */
static bool fits(const char *pattern, const char *text)
{
    const char *star = NULL, *from = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            from = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

/* Note the traits of the key defined last. If memory is short, it has none. */
static void note_key(struct kymo_names *names, const struct kymo_function *f)
{
    const uint8_t none = 0;
    uint8_t traits = kymo__class_is_marked(f->kind) ? KYMO__TRAIT_SPAN : 0;
    if (kymo__key_waits(f->kind, f->name, f->file ? f->file : ""))
        traits |= KYMO__TRAIT_WAITS;
    if (names->watched && fits(names->watched, f->name))
        traits |= KYMO__TRAIT_WATCHED;
    while (names->traits.len < names->last_key)
        if (kymo__buffer_add(&names->traits, &none, 1) < 0)
            return;
    kymo__buffer_add(&names->traits, &traits, 1);
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
        if (def_add(names, &def) < 0)
            return 0;
        names->keys[string] = ++names->last_key;
        note_key(names, &(struct kymo_function){.name = name, .kind = KYMO_CLASS_NAME});
    }
    return names->keys[string];
}

uint32_t kymo__names_add(struct kymo_names *names, const char *name)
{
    kymo__lock(&names->lock);
    uint32_t key = kymo__names_find(names, name); /* another thread may have been first */
    if (!key) {
        key = key_of(names, name);
        if (key)
            remember_address(names, name, key);
    }
    kymo__unlock(&names->lock);
    return key;
}

uint32_t kymo__names_function(struct kymo_names *names, const struct kymo_function *f)
{
    kymo__lock(&names->lock);
    uint32_t key = 0, name = string_of(names, f->name, NULL);
    uint32_t file = f->file ? string_of(names, f->file, NULL) : 0;
    struct kymo_def def = {.type = KYMO__DEF_KEY,
                           .number = {names->last_key + 1, name, file, f->line, f->kind}};
    if (name && def_add(names, &def) == 0) {
        key = ++names->last_key;
        note_key(names, f);
    }
    kymo__unlock(&names->lock);
    return key;
}

uint32_t kymo__names_string(struct kymo_names *names, const char *text, const char **text_out)
{
    kymo__lock(&names->lock);
    uint32_t id = string_of(names, text, text_out);
    kymo__unlock(&names->lock);
    return id;
}

uint32_t kymo__names_text(struct kymo_names *names, const char *text)
{
    kymo__lock(&names->lock);
    uint32_t key = key_of(names, text);
    kymo__unlock(&names->lock);
    return key;
}

int kymo__names_put(struct kymo_names *names, const struct kymo_def *def)
{
    kymo__lock(&names->lock);
    int rc = def_add(names, def);
    /* A lost notice costs the lane its summaries, nothing else. */
    if (rc == 0 && def->type == KYMO__DEF_GAP && names->gap_count < NOTICES_MOST &&
        kymo__array_grow(&names->gaps, &names->gap_capacity, names->gap_count,
                         sizeof(*names->gaps)) == 0)
        names->gaps[names->gap_count++] =
            (struct kymo_gap_notice){(uint32_t)def->number[0], def->number[3]};
    kymo__unlock(&names->lock);
    return rc;
}

int kymo__names_define(struct kymo_names *names, int type, const uint64_t *numbers)
{
    struct kymo_def def = {.type = type};
    memcpy(def.number, numbers, kymo__def_numbers(type) * sizeof(*numbers));
    return kymo__names_put(names, &def);
}

void kymo__names_traits(struct kymo_names *names, struct kymo_buffer *traits)
{
    kymo__lock(&names->lock);
    if (names->traits.len > traits->len)
        kymo__buffer_add(traits, names->traits.bytes + traits->len,
                         names->traits.len - traits->len);
    kymo__unlock(&names->lock);
}

bool kymo__names_is_span(struct kymo_names *names, uint32_t key)
{
    kymo__lock(&names->lock);
    bool span = key < names->traits.len && names->traits.bytes[key] & KYMO__TRAIT_SPAN;
    kymo__unlock(&names->lock);
    return span;
}

struct kymo_gap_notice *kymo__names_take_gaps(struct kymo_names *names, size_t *count)
{
    kymo__lock(&names->lock);
    struct kymo_gap_notice *gaps = names->gap_count ? names->gaps : NULL;
    *count = names->gap_count;
    if (gaps) {
        names->gaps = NULL;
        names->gap_count = names->gap_capacity = 0;
    }
    kymo__unlock(&names->lock);
    return gaps;
}

void kymo__names_meta(struct kymo_names *names, const char *key, const char *value)
{
    const uint64_t numbers[] = {kymo__names_string(names, key, NULL),
                                kymo__names_string(names, value, NULL)};
    if (numbers[0] && numbers[1])
        kymo__names_define(names, KYMO__DEF_META, numbers);
}

/* In a very long recording, every other old snapshot is dropped: they serve to convert recent
   times. */
static void remember_snapshot(struct kymo_names *names, const struct kymo_snapshot *snapshot)
{
    enum { MOST = 1 << 16 };
    if (names->snapshot_count == MOST) {
        for (size_t i = 1; i < MOST / 4; i++)
            names->snapshots[i] = names->snapshots[2 * i];
        memmove(names->snapshots + MOST / 4, names->snapshots + MOST / 2,
                MOST / 2 * sizeof(*names->snapshots));
        names->snapshot_count -= MOST / 4;
    }
    if (kymo__array_grow(&names->snapshots, &names->snapshot_capacity, names->snapshot_count,
                         sizeof(*names->snapshots)) == 0)
        names->snapshots[names->snapshot_count++] = *snapshot;
}

int kymo__names_timebase(struct kymo_names *names, struct kymo_timebase *base)
{
    kymo__lock(&names->lock);
    int rc = kymo__timebase_init(base, names->snapshots, names->snapshot_count, 0);
    kymo__unlock(&names->lock);
    return rc;
}

int kymo__names_snapshot(struct kymo_names *names, const struct kymo_snapshot *snapshot)
{
    kymo__lock(&names->lock);
    remember_snapshot(names, snapshot);
    kymo__unlock(&names->lock);
    return kymo__names_define(names, KYMO__DEF_CLOCK,
                              (const uint64_t[]){snapshot->ticks, (uint64_t)snapshot->monotonic,
                                                 kymo__zigzag(snapshot->wall)});
}

int kymo__names_flush(struct kymo_names *names)
{
    kymo__lock(&names->lock);
    int rc = flush_chunk(names);
    kymo__unlock(&names->lock);
    return rc;
}
