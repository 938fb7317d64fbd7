/* schemas.h — the payload schemas that sources have defined in a session. */
#ifndef KYMO_SCHEMAS_H
#define KYMO_SCHEMAS_H

#include <pthread.h>

#include "names.h"
#include "values.h"

struct kymo_schemas {
    pthread_mutex_t lock;    /* for everything except plans.count, which packers read */
    struct kymo_plans plans; /* by number */
    struct kymo_schema_keys {
        uint32_t name, field[KYMO_FIELDS_MOST];
    } keys[KYMO_SCHEMAS_MOST + 1];
};

void kymo__schemas_init(struct kymo_schemas *schemas);
void kymo__schemas_fini(struct kymo_schemas *schemas);

/* Define a schema, or find it. Returns its number and sets *KEY; or -EINVAL, -ENOSPC. Inside a
   claim. */
int kymo__schemas_define(struct kymo_schemas *schemas, struct kymo_names *names, const char *name,
                         const struct kymo_field *fields, size_t count, uint32_t *key);

#endif
