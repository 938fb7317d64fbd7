/* heapdiff.c — see heapdiff.h. */
#include "heapdiff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "nearfile.h"

/* A place of one capture that has no partner in the other yet. */
struct waiting {
    const char *file; /* the part of its path compared now */
    size_t change;    /* position in the diff */
    int side;
};

/* The change of the place of GROUP in the capture SIDE. A place may have several groups: functions
   of one name in a file. */
static int64_t change_of(struct kymo_heap_diff *d, const struct kymo_heap_group *group, int side)
{
    struct kymo_buffer key = {0};
    int added = 0;
    int64_t id = kymo__buffer_add(&key, group->name, strlen(group->name) + 1) < 0 ||
                         kymo__buffer_add(&key, group->file, strlen(group->file) + 1) < 0 ||
                         kymo__buffer_add_varint(&key, group->line) < 0 ||
                         kymo__buffer_add_varint(&key, (uint64_t)side) < 0
                     ? -ENOMEM
                     : kymo__strtab_add(&d->keys, (const char *)key.bytes, key.len, &added);
    kymo__buffer_fini(&key);
    if (id < 0)
        return id;
    if (added) {
        if (kymo__array_grow(&d->all, &d->capacity, d->count, sizeof(*d->all)) < 0)
            return -ENOMEM;
        d->all[d->count++] = (struct kymo_heap_change){.group = group};
    }
    return id - 1;
}

/* Make a change of every place of the capture SIDE, as if the other had none of them. */
static int add_places(struct kymo_heap_diff *d, const struct kymo_heap_groups *groups, int side)
{
    for (size_t i = 0; i < groups->count; i++) {
        const struct kymo_heap_group *group = &groups->all[i];
        int64_t change = change_of(d, group, side);
        if (change < 0)
            return (int)change;
        for (unsigned set = 0; set < KYMO_HEAP_SETS; set++)
            kymo__amount_add(&d->all[change].amount[side][set], &group->amount[set]);
    }
    return 0;
}

/* Returns 0 if the two may be the same place. */
static int compare_waiting(const struct kymo_heap_diff *d, const struct waiting *a,
                           const struct waiting *b)
{
    const struct kymo_heap_group *x = d->all[a->change].group, *y = d->all[b->change].group;
    int order = strcmp(x->name, y->name);
    order = order ? order : strcmp(a->file, b->file);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static int by_place(const void *a, const void *b, void *arg)
{
    const struct kymo_heap_diff *d = arg;
    const struct waiting *x = a, *y = b;
    int order = compare_waiting(d, x, y);
    if (order || x->side != y->side)
        return order ? order : x->side - y->side;
    /* A stable order for files that now look alike. */
    return strcmp(d->all[x->change].group->file, d->all[y->change].group->file);
}

/* The places of A and B are the same: A gets the figures of B, which is left without a group. */
static void join_changes(struct kymo_heap_change *a, struct kymo_heap_change *b)
{
    a->group = b->group;
    memcpy(a->amount[1], b->amount[1], sizeof(a->amount[1]));
    b->group = NULL;
}

/* Move the places from FROM up to TO behind the first KEPT; returns how many there are then. */
static size_t keep_waiting(struct waiting *waiting, size_t kept, size_t from, size_t to)
{
    memmove(&waiting[kept], &waiting[from], (to - from) * sizeof(*waiting));
    return kept + (to - from);
}

/* Pair what looks alike at NEARNESS, in the order of the paths. Returns how many are left: they
   are the first ones of WAITING. */
static size_t pair_all(struct kymo_heap_diff *d, struct waiting *waiting, size_t count,
                       enum kymo_nearness nearness)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        waiting[i].file = kymo__near_part(d->all[waiting[i].change].group->file, nearness);
    qsort_r(waiting, count, sizeof(*waiting), by_place, d);
    for (size_t from = 0, to = 0; from < count; from = to) {
        size_t second = from; /* where the places of the second capture begin */
        for (to = from; to < count && !compare_waiting(d, &waiting[from], &waiting[to]); to++)
            second += waiting[to].side == 0;
        size_t pairs = second - from < to - second ? second - from : to - second;
        for (size_t i = 0; i < pairs; i++)
            join_changes(&d->all[waiting[from + i].change], &d->all[waiting[second + i].change]);
        kept = keep_waiting(waiting, kept, from + pairs, second);
        kept = keep_waiting(waiting, kept, second + pairs, to);
    }
    return kept;
}

/* Pair the places of the two captures; the first BEFORE changes are those of the first one. */
static int match_places(struct kymo_heap_diff *d, size_t before)
{
    struct waiting *waiting = kymo__alloc((d->count + 1) * sizeof(*waiting));
    if (!waiting)
        return -ENOMEM;
    size_t count = d->count, kept = 0;
    for (size_t i = 0; i < count; i++)
        waiting[i] = (struct waiting){.change = i, .side = i >= before};
    for (int nearness = KYMO__NEAR_WHOLE; nearness < KYMO__NEAR_STEPS; nearness++)
        count = pair_all(d, waiting, count, nearness);
    kymo__free(waiting);
    for (size_t i = 0; i < d->count; i++)
        if (d->all[i].group)
            d->all[kept++] = d->all[i];
    d->count = kept;
    return 0;
}

int kymo__heap_diff(struct kymo_heap_diff *d, const struct kymo_heap_groups *before,
                    const struct kymo_heap_groups *after)
{
    *d = (struct kymo_heap_diff){0};
    int rc = add_places(d, before, 0);
    size_t count = d->count;
    if (rc == 0)
        rc = add_places(d, after, 1);
    return rc < 0 ? rc : match_places(d, count);
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
