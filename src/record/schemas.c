/* schemas.c — see schemas.h. */
#include "schemas.h"

#include <errno.h>
#include <string.h>

#include "lock.h"
#include "varint.h"

void kymo__schemas_init(struct kymo_schemas *schemas)
{
    pthread_mutex_init(&schemas->lock, NULL);
}

void kymo__schemas_fini(struct kymo_schemas *schemas)
{
    pthread_mutex_destroy(&schemas->lock);
}

/* The number of the schema that has PLAN and KEYS, or 0. */
static uint32_t find_schema(const struct kymo_schemas *s, const struct kymo_plan *plan,
                            const struct kymo_schema_keys *keys)
{
    for (uint32_t i = 1; i <= s->plans.count; i++)
        if (s->keys[i].name == keys->name && s->plans.plan[i].count == plan->count &&
            memcmp(s->plans.plan[i].type, plan->type, plan->count) == 0 &&
            memcmp(s->keys[i].field, keys->field, plan->count * sizeof(keys->field[0])) == 0)
            return i;
    return 0;
}

static int define_schema(struct kymo_names *names, uint32_t number, const struct kymo_plan *plan,
                         const struct kymo_schema_keys *keys)
{
    uint8_t text[KYMO_FIELDS_MOST * (KYMO__VARINT_MAX + 1)], *end = text;
    for (unsigned i = 0; i < plan->count; i++) {
        end = kymo__varint_put(end, keys->field[i]);
        *end++ = plan->type[i];
    }
    return kymo__names_put(names, &(struct kymo_def){.type = KYMO__DEF_SCHEMA,
                                                     .number = {keys->name, number},
                                                     .text = text,
                                                     .text_len = (size_t)(end - text)});
}

static int add_schema(struct kymo_schemas *s, struct kymo_names *names,
                      const struct kymo_plan *plan, const struct kymo_schema_keys *keys)
{
    uint32_t number = find_schema(s, plan, keys);
    if (number)
        return (int)number;
    number = s->plans.count + 1;
    if (number > KYMO_SCHEMAS_MOST || define_schema(names, number, plan, keys) < 0)
        return -ENOSPC;
    s->plans.plan[number] = *plan;
    s->keys[number] = *keys;
    kymo__store_release(&s->plans.count, number);
    return (int)number;
}

int kymo__schemas_define(struct kymo_schemas *s, struct kymo_names *names, const char *name,
                         const struct kymo_field *fields, size_t count, uint32_t *key)
{
    struct kymo_plan plan = {.count = (uint8_t)count};
    struct kymo_schema_keys keys = {.name = kymo__names_text(names, name)};
    if (count > KYMO_FIELDS_MOST)
        return -EINVAL;
    for (size_t i = 0; i < count; i++) {
        if (fields[i].type < 0 || !kymo__field_valid((unsigned)fields[i].type) || !fields[i].name)
            return -EINVAL;
        plan.type[i] = (uint8_t)fields[i].type;
        keys.field[i] = kymo__names_text(names, fields[i].name);
        if (!keys.field[i])
            return -ENOSPC;
    }
    if (!keys.name)
        return -ENOSPC;
    kymo__lock(&s->lock);
    int rc = add_schema(s, names, &plan, &keys);
    kymo__unlock(&s->lock);
    *key = keys.name;
    return rc;
}
