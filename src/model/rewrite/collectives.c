/* collectives.c — see collectives.h. */
#include "collectives.h"

#include <kymo/exports.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "hash.h"
#include "operators.h"

/* If there are more, half of them are left out: the same half in every capture. */
enum { MOST = 4096 };

/* Times further from zero are damaged. */
#define TIME_MOST (INT64_C(1) << 60)

/* Every rank waits for every other. In others, such as broadcast, some only send. */
static const char *const waiting[] = {
    "all_reduce",      "allreduce",      "all_gather",           "allgather",
    "_allgather_base", "reduce_scatter", "_reduce_scatter_base", "all_to_all",
    "alltoall",        "barrier",
};

static const struct kymo_opattribute *attribute_of(const struct kymo_opcall *op, const char *name)
{
    for (size_t i = 0; i < op->attribute_count; i++)
        if (strcmp(op->attributes[i].name, name) == 0)
            return &op->attributes[i];
    return NULL;
}

static bool integer_of(const struct kymo_opcall *op, const char *name, int64_t *value)
{
    const struct kymo_opattribute *attribute = attribute_of(op, name);
    return attribute && kymo__op_attribute_integer(attribute, value);
}

static bool is_waiting(const struct kymo_opattribute *name)
{
    for (size_t i = 0; i < sizeof(waiting) / sizeof(*waiting); i++)
        if (strlen(waiting[i]) == name->length && memcmp(waiting[i], name->text, name->length) == 0)
            return true;
    return false;
}

static int by_id(const void *a, const void *b)
{
    const struct kymo_collective *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void thin_out(struct kymo_collectives *c)
{
    while (c->count > MOST) {
        c->skipped = c->skipped >> 1 | UINT64_C(1) << 63;
        size_t kept = 0;
        for (size_t i = 0; i < c->count; i++)
            if (!(c->all[i].id & c->skipped))
                c->all[kept++] = c->all[i];
        c->count = kept;
    }
}

static int add_one(struct kymo_collectives *c, const struct kymo_collective *one)
{
    if (one->id & c->skipped)
        return 0;
    int rc = kymo__array_grow(&c->all, &c->room, c->count, sizeof(*c->all));
    if (rc < 0)
        return rc;
    c->all[c->count++] = *one;
    thin_out(c);
    return 0;
}

static int take_operator(void *arg, struct kymo_opcall *op)
{
    const struct kymo_opattribute *name = attribute_of(op, "collective_name");
    const struct kymo_opattribute *group = attribute_of(op, "pg_name");
    int64_t ranks, number, blocking;
    if (!name || !group || !is_waiting(name) || !integer_of(op, "pg_size", &ranks) || ranks < 2 ||
        !integer_of(op, "seq", &number) || !integer_of(op, "blocking", &blocking) ||
        blocking != 1 || op->flags || op->start < 0 || op->end < op->start || op->end > TIME_MOST)
        return 0;
    const struct kymo_opattribute *listed = attribute_of(op, "pg_ranks");
    const uint64_t parts[] = {kymo__hash_bytes(name->text, name->length),
                              kymo__hash_bytes(group->text, group->length), (uint64_t)number,
                              (uint64_t)ranks,
                              listed ? kymo__hash_bytes(listed->text, listed->length) : 0};
    return add_one(arg, &(struct kymo_collective){.id = kymo__hash_bytes(parts, sizeof(parts)),
                                                  .ranks = listed ? 0 : (uint64_t)ranks,
                                                  .count = 1,
                                                  .start = op->start,
                                                  .end = op->end});
}

/* Is there a name that all of them have? Most captures need not be read again. */
static bool has_any(const struct kymo_reader *r)
{
    for (uint32_t i = 1; i < r->string_count; i++)
        if (r->strings[i].text && strcmp(kymo__reader_string(r, i), "collective_name") == 0)
            return true;
    return false;
}

/* Sort, and leave out what is there more than once: the number is not what it seems. */
static void drop_ambiguous(struct kymo_collectives *c)
{
    if (c->count)
        qsort(c->all, c->count, sizeof(*c->all), by_id);
    size_t kept = 0;
    for (size_t i = 0; i < c->count;) {
        size_t same = 1;
        while (i + same < c->count && c->all[i + same].id == c->all[i].id)
            same++;
        if (same == 1)
            c->all[kept++] = c->all[i];
        i += same;
    }
    c->count = kept;
}

int kymo__collectives_read(struct kymo_collectives *collectives, struct kymo_capture *capture)
{
    const struct kymo_export_options all = {
        .size = sizeof(all), .from = INT64_MIN, .to = INT64_MAX, .thread = -1};
    const struct kymo_ops_visitor visitor = {.arg = collectives, .end = take_operator};
    if (!has_any(capture->reader))
        return 0;
    int rc = kymo__operators_read(capture, &all, &visitor);
    drop_ambiguous(collectives);
    return rc;
}

int kymo__collectives_add(struct kymo_collectives *c, const struct kymo_collectives *more)
{
    int rc = 0;
    for (size_t i = 0; i < more->count && rc == 0; i++)
        rc = add_one(c, &more->all[i]);
    if (c->count)
        qsort(c->all, c->count, sizeof(*c->all), by_id);
    /* Several ranks of a host: all of them were in it from the last start to the first end. */
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        struct kymo_collective *one = &c->all[i], *last = kept ? &c->all[kept - 1] : NULL;
        if (!last || last->id != one->id) {
            c->all[kept++] = *one;
            continue;
        }
        last->count += one->count;
        last->start = one->start > last->start ? one->start : last->start;
        last->end = one->end < last->end ? one->end : last->end;
    }
    c->count = kept;
    return rc;
}

const struct kymo_collective *kymo__collectives_find(const struct kymo_collectives *c, uint64_t id)
{
    const struct kymo_collective wanted = {.id = id};
    return c->count ? bsearch(&wanted, c->all, c->count, sizeof(*c->all), by_id) : NULL;
}

void kymo__collectives_fini(struct kymo_collectives *collectives)
{
    kymo__free(collectives->all);
    *collectives = (struct kymo_collectives){0};
}
