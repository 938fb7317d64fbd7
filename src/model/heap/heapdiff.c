/* heapdiff.c — see heapdiff.h. */
#include "heapdiff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

static int64_t change_of(struct kymo_heap_diff *d, const struct kymo_heap_group *group)
{
    const char *slash = strrchr(group->file, '/');
    struct kymo_buffer key = {0};
    const char *file = slash ? slash + 1 : group->file;
    int added = 0;
    int64_t id = kymo__buffer_add(&key, group->name, strlen(group->name) + 1) < 0 ||
                         kymo__buffer_add(&key, file, strlen(file) + 1) < 0 ||
                         kymo__buffer_add_varint(&key, group->line) < 0
                     ? -ENOMEM
                     : kymo__strtab_add(&d->keys, (const char *)key.bytes, key.len, &added);
    kymo__buffer_fini(&key);
    if (id < 0)
        return id;
    if (added) {
        if (kymo__array_grow(&d->all, &d->capacity, d->count, sizeof(*d->all)) < 0)
            return -ENOMEM;
        d->all[d->count++] = (struct kymo_heap_change){0};
    }
    return id - 1;
}

int kymo__heap_diff(struct kymo_heap_diff *d, const struct kymo_heap_groups *before,
                    const struct kymo_heap_groups *after)
{
    const struct kymo_heap_groups *sides[] = {before, after};
    *d = (struct kymo_heap_diff){0};
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < sides[side]->count; i++) {
            const struct kymo_heap_group *group = &sides[side]->all[i];
            int64_t change = change_of(d, group);
            if (change < 0)
                return (int)change;
            d->all[change].group = group;
            for (unsigned set = 0; set < KYMO_HEAP_SETS; set++)
                kymo__amount_add(&d->all[change].amount[side][set], &group->amount[set]);
        }
    return 0;
}

void kymo__heap_diff_fini(struct kymo_heap_diff *d)
{
    kymo__free(d->all);
    kymo__strtab_fini(&d->keys);
    *d = (struct kymo_heap_diff){0};
}

static int by_growth(const void *a, const void *b, void *arg)
{
    unsigned set = *(const unsigned *)arg;
    const struct kymo_heap_change *x = a, *y = b;
    int64_t left = (int64_t)(x->amount[1][set].bytes - x->amount[0][set].bytes);
    int64_t right = (int64_t)(y->amount[1][set].bytes - y->amount[0][set].bytes);
    if (left != right)
        return left > right ? -1 : 1;
    if (x->amount[1][set].bytes != y->amount[1][set].bytes)
        return x->amount[1][set].bytes > y->amount[1][set].bytes ? -1 : 1;
    return strcmp(x->group->name, y->group->name);
}

void kymo__heap_diff_sort(struct kymo_heap_diff *d, unsigned set)
{
    if (d->count)
        qsort_r(d->all, d->count, sizeof(*d->all), by_growth, &set);
}
