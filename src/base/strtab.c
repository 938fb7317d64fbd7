/* strtab.c — see strtab.h. */
#include "strtab.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"

static uint32_t find_text(const struct kymo_strtab *tab, const char *text, size_t len,
                          uint64_t hash)
{
    uint32_t id;
    for (size_t at = 0; (id = kymo__map_next(&tab->ids, hash, &at)) != 0;) {
        const struct kymo_str *s = &tab->strings[id - 1];
        if (s->len == len && memcmp(s->text, text, len) == 0)
            break;
    }
    return id;
}

uint32_t kymo__strtab_find(const struct kymo_strtab *tab, const char *text, size_t len)
{
    return find_text(tab, text, len, kymo__hash_bytes(text, len));
}

int64_t kymo__strtab_add(struct kymo_strtab *tab, const char *text, size_t len, int *added)
{
    uint64_t hash = kymo__hash_bytes(text, len);
    uint32_t known = find_text(tab, text, len, hash);
    *added = 0;
    if (known)
        return known;
    if (tab->count >= INT32_MAX || kymo__map_reserve(&tab->ids) < 0 ||
        kymo__array_grow(&tab->strings, &tab->capacity, tab->count, sizeof(*tab->strings)) < 0)
        return -ENOMEM;
    char *copy = kymo__alloc_text(text, len);
    if (!copy)
        return -ENOMEM;
    tab->strings[tab->count] = (struct kymo_str){.text = copy, .len = len, .hash = hash};
    uint32_t id = (uint32_t)++tab->count;
    kymo__map_add(&tab->ids, hash, id);
    *added = 1;
    return id;
}

void kymo__strtab_drop_last(struct kymo_strtab *tab)
{
    struct kymo_str *last = &tab->strings[tab->count - 1];
    kymo__map_drop_last(&tab->ids, last->hash, (uint32_t)tab->count);
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
    kymo__map_fini(&tab->ids);
    *tab = (struct kymo_strtab){0};
}
