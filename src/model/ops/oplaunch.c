/* oplaunch.c — see oplaunch.h. Launches are kept in two generations: when the newer one is full, the
   older one is forgotten. */
#include "oplaunch.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "fields.h"

/* The field of SCHEMA that is a correlation id, counted from 1, or 0. */
static unsigned carrier_in(const struct kymo_reader *r, const struct kymo_reader_schema *schema)
{
    for (unsigned i = 0; i < schema->plan.count; i++)
        if (schema->plan.type[i] == KYMO_FIELD_ID &&
            strcmp(kymo__key_name(r, schema->field[i]), "correlation") == 0)
            return i + 1;
    return 0;
}

int kymo__op_launches_init(struct kymo_op_launches *l, const struct kymo_reader *r)
{
    *l = (struct kymo_op_launches){.carriers = kymo__alloc_zeroed(r->key_count + 1),
                                   .carrier_count = r->key_count};
    if (!l->carriers)
        return -ENOMEM;
    for (size_t key = 0; key < r->key_count; key++)
        if (r->keys[key].schema)
            l->carriers[key] = (uint8_t)carrier_in(r, &r->schemas[r->keys[key].schema - 1]);
    return 0;
}

static void generation_fini(struct kymo_launch_generation *g)
{
    kymo__free(g->all);
    kymo__map_fini(&g->map);
    *g = (struct kymo_launch_generation){0};
}

void kymo__op_launches_fini(struct kymo_op_launches *l)
{
    generation_fini(&l->now);
    generation_fini(&l->before);
    kymo__free(l->carriers);
    *l = (struct kymo_op_launches){0};
}

uint64_t kymo__op_correlation(const struct kymo_op_launches *l, const struct kymo_reader *r,
                              const struct kymo_event *event)
{
    struct kymo_fields fields;
    struct kymo_call_arg arg = {0};
    unsigned left = event->key < l->carrier_count ? l->carriers[event->key] : 0;
    if (!left)
        return 0;
    kymo__fields_begin(&fields, r, event);
    while (left && kymo__fields_next(&fields, &arg))
        left--;
    return left ? 0 : arg.value;
}

static uint64_t key_of(uint32_t process, uint64_t correlation)
{
    return correlation ^ (uint64_t)process << 40;
}

static struct kymo_op_launch *find_in(const struct kymo_launch_generation *g, uint32_t process,
                                      uint64_t correlation)
{
    size_t at = 0;
    uint32_t found;
    while ((found = kymo__map_next(&g->map, key_of(process, correlation), &at))) {
        struct kymo_op_launch *launch = &g->all[found - 1];
        if (launch->correlation == correlation && launch->process == process)
            return launch;
    }
    return NULL;
}

static int keep_launch(struct kymo_op_launches *l, const struct kymo_op_launch *launch)
{
    struct kymo_op_launch *old = find_in(&l->now, launch->process, launch->correlation);
    if (old) {
        *old = *launch;
        return 0;
    }
    if (l->now.count == KYMO__LAUNCHES_MOST) {
        generation_fini(&l->before);
        l->before = l->now;
        l->now = (struct kymo_launch_generation){0};
    }
    struct kymo_launch_generation *g = &l->now;
    if (kymo__array_grow(&g->all, &g->capacity, g->count, sizeof(*g->all)) < 0 ||
        kymo__map_add(&g->map, key_of(launch->process, launch->correlation),
                      (uint32_t)g->count + 1) < 0)
        return -ENOMEM;
    g->all[g->count++] = *launch;
    return 0;
}

static uint64_t bytes_of(const struct kymo_opdata *values)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < values->count; i++)
        if (values->all[i].kind == KYMO_OP_TENSOR)
            bytes += values->all[i].numel * values->all[i].itemsize;
    return bytes;
}

int kymo__op_launch_set(struct kymo_op_launches *l, const struct kymo_op_lane *lane,
                        uint64_t correlation, uint64_t threads)
{
    if (!lane->count)
        return 0;
    const struct kymo_op_open *open = &lane->open[lane->count - 1];
    const struct kymo_opcall *op = &open->op;
    bool says_little = lane->count > 1 && strcmp(op->name, "record_param_comms") == 0;
    const struct kymo_op_launch launch = {
        .correlation = correlation,
        .process = lane->process,
        .reported = open->reported,
        .by = {.id = op->id,
               .rf_id = op->rf_id ? op->rf_id : kymo__op_own_rf_id(op->number, op->thread, threads),
               .tid = op->tid,
               .bytes = bytes_of(&op->inputs),
               .name = says_little ? open[-1].op.name : op->name},
    };
    return keep_launch(l, &launch);
}

const struct kymo_op_launch *kymo__op_launch_find(const struct kymo_op_launches *l,
                                                  uint32_t process, uint64_t correlation)
{
    const struct kymo_op_launch *found = find_in(&l->now, process, correlation);
    return found ? found : find_in(&l->before, process, correlation);
}
