/* heapschemas.c — see heapschemas.h. */
#include "heapschemas.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "fields.h"

/* The field for each member of an event; NULL: this kind has none. */
static const struct {
    const char *name;
    const char *field[KYMO__HEAP_MEMBERS];
} known[KYMO__HEAP_KINDS] = {
    [KYMO__HEAP_ALLOC] = {"memory.alloc", {"address", "size", NULL, "stack", "function", NULL}},
    [KYMO__HEAP_FREE] = {"memory.free", {"address", NULL, NULL, NULL, NULL, NULL}},
    [KYMO__HEAP_REALLOC] = {"memory.realloc",
                            {"address", "size", "from", "stack", "function", NULL}},
    [KYMO__HEAP_MAP] = {"memory.map", {"address", "size", NULL, "stack", "function", NULL}},
    [KYMO__HEAP_UNMAP] = {"memory.unmap", {"address", "size", NULL, NULL, NULL, NULL}},
    [KYMO__HEAP_RESIDENT] = {"memory.resident", {"mapped", "resident", "peak", NULL, NULL, NULL}},
    [KYMO__HEAP_HELD] = {"memory.held", {"snapshot", "bytes", "count", "stack", "function", NULL}},
    [KYMO__HEAP_SNAPSHOT] = {"memory.snapshot", {"number", NULL, NULL, NULL, NULL, "reason"}},
    [KYMO__HEAP_OBJECT] = {"memory.object",
                           {"snapshot", "bytes", "count", "stack", "type", "path", "owned"}},
};

static bool is_text(unsigned type)
{
    return type == KYMO_FIELD_TEXT;
}

/* Is a field of TYPE usable as MEMBER? */
static bool usable(unsigned type, unsigned member)
{
    if (member == KYMO__HEAP_TEXT)
        return is_text(type);
    return type <= KYMO_FIELD_NAME && !is_text(type) && type != KYMO_FIELD_BYTES &&
           type != KYMO_FIELD_FLOAT && type != KYMO_FIELD_INT;
}

static bool place_fields(struct kymo_heap_schema *found, const struct kymo_reader *r,
                         const struct kymo_reader_schema *schema, unsigned kind)
{
    *found = (struct kymo_heap_schema){.kind = (uint8_t)kind, .plan = &schema->plan};
    for (unsigned member = 0; member < KYMO__HEAP_MEMBERS; member++) {
        const char *wanted = known[kind].field[member];
        found->at[member] = KYMO_FIELDS_MOST;
        for (unsigned i = 0; wanted && i < schema->plan.count; i++)
            if (strcmp(kymo__key_name(r, schema->field[i]), wanted) == 0 &&
                usable(schema->plan.type[i], member))
                found->at[member] = (uint8_t)i;
        if (found->at[member] < KYMO_FIELDS_MOST && found->at[member] >= found->fields)
            found->fields = (uint8_t)(found->at[member] + 1);
    }
    return found->at[KYMO__HEAP_ADDRESS] < KYMO_FIELDS_MOST;
}

unsigned kymo__heap_kind_of(const char *name)
{
    for (unsigned kind = 1; kind < KYMO__HEAP_KINDS; kind++)
        if (strcmp(name, known[kind].name) == 0)
            return kind;
    return 0;
}

int kymo__heap_schemas_init(struct kymo_heap_schemas *s, const struct kymo_reader *r)
{
    *s = (struct kymo_heap_schemas){.keys = r->key_count};
    s->of_key = kymo__alloc_zeroed(s->keys + 1);
    if (!s->of_key)
        return -ENOMEM;
    for (uint32_t key = 1; key < s->keys; key++) {
        if (!r->keys[key].schema)
            continue;
        struct kymo_heap_schema found;
        unsigned kind = kymo__heap_kind_of(kymo__key_name(r, key));
        if (!kind || s->count >= UINT8_MAX ||
            !place_fields(&found, r, &r->schemas[r->keys[key].schema - 1], kind))
            continue;
        int rc = kymo__array_grow(&s->all, &s->capacity, s->count, sizeof(*s->all));
        if (rc < 0)
            return rc;
        s->all[s->count++] = found;
        s->of_key[key] = (uint8_t)s->count;
    }
    return 0;
}

void kymo__heap_schemas_fini(struct kymo_heap_schemas *s)
{
    kymo__free(s->of_key);
    kymo__free(s->all);
    *s = (struct kymo_heap_schemas){0};
}
