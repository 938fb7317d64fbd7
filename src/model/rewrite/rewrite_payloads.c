/* rewrite_payloads.c — see rewrite_payloads.h. */
#include "rewrite_payloads.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "varint.h"
#include "writer.h"

enum { BASE = 0x0f };

int kymo__payload_copy_init(struct kymo_payload_copy *c)
{
    c->number_of = kymo__alloc_zeroed((c->reader->schema_count + 1) * sizeof(*c->number_of));
    return c->number_of ? 0 : -ENOMEM;
}

void kymo__payload_copy_fini(struct kymo_payload_copy *c)
{
    kymo__free(c->number_of);
    kymo__buffer_fini(&c->copy);
}

/* Return the schema that the part's KEY names, and its number in the result; NULL if there is
   none. */
static const struct kymo_reader_schema *schema_of(struct kymo_payload_copy *c, uint32_t key,
                                                  uint32_t *number)
{
    uint32_t index = key < c->reader->key_count ? c->reader->keys[key].schema : 0;
    if (!index)
        return NULL;
    const struct kymo_reader_schema *schema = &c->reader->schemas[index - 1];
    if (!c->number_of[index]) {
        uint32_t fields[KYMO_FIELDS_MOST];
        for (unsigned i = 0; i < schema->plan.count; i++)
            fields[i] = c->key(c->arg, schema->field[i]);
        c->number_of[index] =
            kymo__writer_schema(c->writer, c->key(c->arg, key), &schema->plan, fields);
    }
    *number = c->number_of[index];
    return *number ? schema : NULL;
}

static uint64_t translated(struct kymo_payload_copy *c, unsigned base, uint64_t value)
{
    switch (base) {
    case KYMO_FIELD_NAME:
        return value <= UINT32_MAX ? c->key(c->arg, (uint32_t)value) : value;
    case KYMO_FIELD_STACK:
        return value && value <= UINT32_MAX ? (uint32_t)kymo__stack_copy_sample(c->stacks, value)
                                            : 0;
    case KYMO_FIELD_TASK:
    case KYMO_FIELD_ID:
        return c->id(c->arg, value);
    }
    return value;
}

/* Copy the complete value of TYPE at AT. Returns the byte after it. */
static const uint8_t *copy_value(struct kymo_payload_copy *c, unsigned type, const uint8_t *at,
                                 const uint8_t *end, int *rc)
{
    const uint8_t *next = kymo__field_end(type, at, end);
    unsigned base = type & BASE;
    bool as_it_is = base <= KYMO_FIELD_ADDRESS || base == KYMO_FIELD_THREAD;
    if (as_it_is) {
        *rc |= kymo__buffer_add(&c->copy, at, (size_t)(next - at));
        return next;
    }
    uint64_t value = 0;
    at = kymo__varint_get(at, end, &value);
    if (type == base) {
        *rc |= kymo__buffer_add_varint(&c->copy, translated(c, base, value));
        return next;
    }
    *rc |= kymo__buffer_add_varint(&c->copy, value);
    unsigned inner = type & KYMO_FIELD_LISTS ? base | KYMO_FIELD_LIST : base;
    while (value--)
        at = copy_value(c, inner, at, end, rc);
    return next;
}

void kymo__payload_copy(struct kymo_payload_copy *c, uint32_t thread, uint32_t key,
                        const uint8_t *bytes, size_t len)
{
    uint32_t number;
    const struct kymo_reader_schema *schema = schema_of(c, key, &number);
    if (!schema || !kymo__plan_fits(&schema->plan, bytes, len))
        return;
    int rc = 0;
    const uint8_t *at = bytes;
    c->copy.len = 0;
    for (unsigned i = 0; i < schema->plan.count; i++)
        at = copy_value(c, schema->plan.type[i], at, bytes + len, &rc);
    if (rc == 0 && c->copy.len <= KYMO_PAYLOAD_MOST)
        kymo__writer_payload(c->writer, thread, c->key(c->arg, key), number, c->copy.bytes,
                             c->copy.len);
}
