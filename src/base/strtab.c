/* strtab.c — see strtab.h. Open addressing over ids, at most half full. */
#include "strtab.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "hash.h"

static size_t slot_of(const struct kymo_strtab *tab, uint64_t hash)
{
    return (size_t)(hash >> 32) & (tab->slot_count - 1);
}

static uint32_t find(const struct kymo_strtab *tab, const char *text, size_t len, uint64_t hash)
{
    if (!tab->slot_count)
        return 0;
    for (size_t i = slot_of(tab, hash); tab->slots[i]; i = (i + 1) & (tab->slot_count - 1)) {
        const struct kymo_str *s = &tab->strings[tab->slots[i] - 1];
        if (s->hash == hash && s->len == len && memcmp(s->text, text, len) == 0)
            return tab->slots[i];
    }
    return 0;
}

static void place(struct kymo_strtab *tab, uint32_t id)
{
    size_t i = slot_of(tab, tab->strings[id - 1].hash);
    while (tab->slots[i])
        i = (i + 1) & (tab->slot_count - 1);
    tab->slots[i] = id;
}

static int widen(struct kymo_strtab *tab)
{
    if ((tab->count + 1) * 2 <= tab->slot_count)
        return 0;
    size_t wanted = tab->slot_count ? tab->slot_count * 2 : 64;
    uint32_t *slots = kymo__alloc_zeroed(wanted * sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    kymo__free(tab->slots);
    tab->slots = slots;
    tab->slot_count = wanted;
    for (uint32_t id = 1; id <= tab->count; id++)
        place(tab, id);
    return 0;
}

uint32_t kymo__strtab_find(const struct kymo_strtab *tab, const char *text, size_t len)
{
    return find(tab, text, len, kymo__hash_bytes(text, len));
}

int64_t kymo__strtab_add(struct kymo_strtab *tab, const char *text, size_t len, int *added)
{
    uint64_t hash = kymo__hash_bytes(text, len);
    uint32_t known = find(tab, text, len, hash);
    *added = 0;
    if (known)
        return known;
    if (tab->count >= INT32_MAX || widen(tab) < 0 ||
        kymo__array_grow(&tab->strings, &tab->capacity, tab->count, sizeof(*tab->strings)) < 0)
        return -ENOMEM;
    char *copy = kymo__alloc_text(text, len);
    if (!copy)
        return -ENOMEM;
    tab->strings[tab->count] = (struct kymo_str){.text = copy, .len = len, .hash = hash};
    uint32_t id = (uint32_t)++tab->count;
    place(tab, id);
    *added = 1;
    return id;
}

void kymo__strtab_drop_last(struct kymo_strtab *tab)
{
    struct kymo_str *last = &tab->strings[tab->count - 1];
    size_t i = slot_of(tab, last->hash);
    while (tab->slots[i] != tab->count)
        i = (i + 1) & (tab->slot_count - 1);
    tab->slots[i] = 0; /* nothing was placed behind it yet */
    kymo__free(last->text);
    tab->count--;
}

const struct kymo_str *kymo__strtab_get(const struct kymo_strtab *tab, uint32_t id)
{
    return id && id <= tab->count ? &tab->strings[id - 1] : NULL;
}

void kymo__strtab_fini(struct kymo_strtab *tab)
{
    for (size_t i = 0; i < tab->count; i++)
        kymo__free(tab->strings[i].text);
    kymo__free(tab->strings);
    kymo__free(tab->slots);
    *tab = (struct kymo_strtab){0};
}
