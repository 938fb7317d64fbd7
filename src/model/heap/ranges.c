/* ranges.c — see ranges.h. */
#include "ranges.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"

size_t kymo__ranges_find(const struct kymo_mapped_ranges *r, uint64_t address)
{
    size_t low = 0, high = r->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->all[middle].to <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int insert_range(struct kymo_mapped_ranges *r, size_t at,
                        const struct kymo_mapped_range *range)
{
    int rc = kymo__array_grow(&r->all, &r->capacity, r->count, sizeof(*r->all));
    if (rc < 0)
        return rc;
    memmove(&r->all[at + 1], &r->all[at], (r->count++ - at) * sizeof(*r->all));
    r->all[at] = *range;
    return 0;
}

/* A piece of MAPPING has gone. Returns 1 if it was the last, 0, or -ENOMEM. */
static int piece_gone(struct kymo_mapped_ranges *r, uint32_t mapping)
{
    if (--r->pieces[mapping])
        return 0;
    int rc = kymo__array_grow(&r->spare, &r->spare_capacity, r->spare_count, sizeof(*r->spare));
    if (rc < 0)
        return rc;
    r->spare[r->spare_count++] = mapping;
    return 1;
}

/* Remove the part of range AT from FROM up to TO, which overlap it. Returns how many pieces of the
   range are left, or a negative code. */
static int cut_one(struct kymo_mapped_ranges *r, size_t at, uint64_t from, uint64_t to,
                   kymo_range_gone gone, void *arg)
{
    struct kymo_mapped_range *range = &r->all[at], part = *range;
    part.from = from > part.from ? from : part.from;
    part.to = to < part.to ? to : part.to;
    int before = range->from<part.from, after = range->to> part.to, rc = 0;
    if (before && after) {
        struct kymo_mapped_range rest = *range;
        rest.from = part.to;
        range->to = part.from;
        r->pieces[rest.mapping]++;
        rc = insert_range(r, at + 1, &rest);
    } else if (before) {
        range->to = part.from;
    } else if (after) {
        range->from = part.to;
    } else {
        memmove(range, range + 1, (--r->count - at) * sizeof(*range));
        rc = piece_gone(r, part.mapping);
    }
    if (rc >= 0)
        rc = gone(arg, &part, rc);
    return rc < 0 ? rc : before + after;
}

int kymo__ranges_cut(struct kymo_mapped_ranges *r, uint64_t from, uint64_t to, kymo_range_gone gone,
                     void *arg)
{
    for (size_t at = kymo__ranges_find(r, from); at < r->count && r->all[at].from < to;) {
        int rc = cut_one(r, at, from, to, gone, arg);
        if (rc < 0)
            return rc;
        at += (size_t)rc;
    }
    return 0;
}

int kymo__ranges_add(struct kymo_mapped_ranges *r, const struct kymo_mapped_range *range)
{
    struct kymo_mapped_range added = *range;
    if (r->spare_count) {
        added.mapping = r->spare[--r->spare_count];
    } else {
        int rc = kymo__array_grow(&r->pieces, &r->mapping_capacity, r->mapping_count,
                                  sizeof(*r->pieces));
        if (rc < 0)
            return rc;
        added.mapping = (uint32_t)r->mapping_count++;
    }
    r->pieces[added.mapping] = 1;
    return insert_range(r, kymo__ranges_find(r, added.from), &added);
}

void kymo__ranges_fini(struct kymo_mapped_ranges *r)
{
    kymo__free(r->all);
    kymo__free(r->pieces);
    kymo__free(r->spare);
    *r = (struct kymo_mapped_ranges){0};
}
