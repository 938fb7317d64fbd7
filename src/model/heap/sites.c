/* sites.c — see sites.h. */
#include "sites.h"

#include <errno.h>
#include <kymo/heap.h>
#include <string.h>

#include "alloc.h"
#include "fields.h"

const char *kymo_heap_category_word(unsigned category)
{
    static const char *const words[KYMO_HEAP_CATEGORIES] = {
        [KYMO_HEAP_OBJECTS] = "objects",   [KYMO_HEAP_PYTHON] = "python",
        [KYMO_HEAP_TRACKED] = "tracked",   [KYMO_HEAP_NATIVE] = "native",
        [KYMO_HEAP_MAPPINGS] = "mappings", [KYMO_HEAP_ARENAS] = "arenas",
    };
    return category < KYMO_HEAP_CATEGORIES ? words[category] : "unknown";
}

static unsigned category_of(const char *function)
{
    static const struct {
        const char *start;
        unsigned category;
    } known[] = {
        {"PyObject_", KYMO_HEAP_OBJECTS}, {"PyMem_", KYMO_HEAP_PYTHON},
        {"tracked", KYMO_HEAP_TRACKED},   {"arena", KYMO_HEAP_ARENAS},
        {"mmap", KYMO_HEAP_MAPPINGS},     {"mremap", KYMO_HEAP_MAPPINGS},
        {"brk", KYMO_HEAP_MAPPINGS},      {"sbrk", KYMO_HEAP_MAPPINGS},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strncmp(function, known[i].start, strlen(known[i].start)) == 0)
            return known[i].category;
    return KYMO_HEAP_NATIVE;
}

int kymo__sites_init(struct kymo_sites *s, const struct kymo_reader *reader)
{
    *s = (struct kymo_sites){.reader = reader, .keys = reader->key_count};
    s->category_of = kymo__alloc_zeroed(s->keys + 1);
    return s->category_of ? 0 : -ENOMEM;
}

void kymo__sites_fini(struct kymo_sites *s)
{
    kymo__free(s->all);
    kymo__free(s->category_of);
    kymo__map_fini(&s->numbers);
    *s = (struct kymo_sites){0};
}

static unsigned category_of_key(struct kymo_sites *s, uint32_t function)
{
    if (function >= s->keys)
        return KYMO_HEAP_NATIVE;
    if (!s->category_of[function])
        s->category_of[function] = (uint8_t)(1 + category_of(kymo__key_name(s->reader, function)));
    return s->category_of[function] - 1u;
}

/* Does the name of FUNCTION end as those of a loading library's allocations do? */
static bool is_while_loading(const struct kymo_sites *s, uint32_t function)
{
    static const char end[] = " while loading";
    const char *name = function < s->keys ? kymo__key_name(s->reader, function) : "";
    size_t length = strlen(name);
    return length >= sizeof(end) && strcmp(name + length - (sizeof(end) - 1), end) == 0;
}

int64_t kymo__site_add(struct kymo_sites *s, uint32_t stack, uint32_t function, bool mapping)
{
    uint64_t key = (uint64_t)stack << 32 | function;
    if (s->count >= UINT32_MAX - 1 || kymo__map_reserve(&s->numbers) < 0 ||
        kymo__array_grow(&s->all, &s->capacity, s->count, sizeof(*s->all)) < 0)
        return -ENOMEM;
    unsigned category = category_of_key(s, function);
    if (mapping && category != KYMO_HEAP_ARENAS)
        category = KYMO_HEAP_MAPPINGS;
    s->all[s->count] =
        (struct kymo_heap_site){stack, function, (uint16_t)category, is_while_loading(s, function)};
    kymo__map_set(&s->numbers, key, (uint32_t)++s->count);
    return (int64_t)s->count - 1;
}
