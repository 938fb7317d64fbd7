/* heapschemas.h — recognises memory events among the payloads of a capture.

   Schemas and fields are found by name, so that a recorder may add fields and reorder them. */
#ifndef KYMO_HEAPSCHEMAS_H
#define KYMO_HEAPSCHEMAS_H

#include "replay.h"

/* The members of an event that a payload fills. */
enum kymo_heap_member {
    KYMO__HEAP_ADDRESS,
    KYMO__HEAP_BYTES,
    KYMO__HEAP_FROM,
    KYMO__HEAP_STACK,
    KYMO__HEAP_FUNCTION,
    KYMO__HEAP_TEXT,
    KYMO__HEAP_OWNED,
    KYMO__HEAP_MEMBERS,
};

struct kymo_heap_schema {
    uint8_t kind;                   /* enum kymo_heap_kind */
    uint8_t fields;                 /* that the payload must have at least */
    uint8_t at[KYMO__HEAP_MEMBERS]; /* the field's position; KYMO_FIELDS_MOST: there is none */
    const struct kymo_plan *plan;
};

struct kymo_heap_schemas {
    uint8_t *of_key; /* position in `all`, plus 1 */
    size_t keys;
    struct kymo_heap_schema *all;
    size_t count, capacity;
};

/* The kind of events whose schema is called NAME, or 0. */
unsigned kymo__heap_kind_of(const char *name);

/* Returns 0 or -ENOMEM; call fini in either case. */
int kymo__heap_schemas_init(struct kymo_heap_schemas *schemas, const struct kymo_reader *reader);
void kymo__heap_schemas_fini(struct kymo_heap_schemas *schemas);

static inline const struct kymo_heap_schema *
kymo__heap_schema_of(const struct kymo_heap_schemas *schemas, uint32_t key)
{
    return key < schemas->keys && schemas->of_key[key] ? &schemas->all[schemas->of_key[key] - 1]
                                                       : NULL;
}

#endif
