/* opjoin.c — see opjoin.h. */
#include "opjoin.h"

#include <string.h>

#include "values.h"
#include "varint.h"

enum { COUNT_SHIFT = 8 }; /* of the number of values in the flags */

void kymo__opjoin_fini(struct kymo_opjoin *join)
{
    for (size_t i = 0; i < KYMO__COLUMNS; i++)
        kymo__buffer_fini(&join->columns[i].bytes);
    *join = (struct kymo_opjoin){0};
}

static bool is_list(unsigned type)
{
    return type & (KYMO_FIELD_LIST | KYMO_FIELD_LISTS);
}

bool kymo__opjoin_columns(const struct kymo_reader *reader, const struct kymo_event *event,
                          struct kymo_opcolumn columns[KYMO__COLUMNS], size_t *head)
{
    uint32_t schema = event->key < reader->key_count ? reader->keys[event->key].schema : 0;
    if (!schema || !event->payload)
        return false;
    const struct kymo_plan *plan = &reader->schemas[schema - 1].plan;
    const uint8_t *bytes = event->payload, *at = bytes, *end = bytes + event->payload_bytes;
    unsigned before = plan->count >= KYMO__COLUMNS ? plan->count - KYMO__COLUMNS : plan->count;
    for (unsigned i = 0; at && i < before; i++)
        at = kymo__field_end(plan->type[i], at, end);
    if (!at || before == plan->count)
        return false;
    *head = (size_t)(at - bytes);
    for (unsigned i = before; i < plan->count; i++) {
        struct kymo_opcolumn *column = &columns[i - before];
        const uint8_t *next = kymo__field_end(plan->type[i], at, end);
        if (!next || !is_list(plan->type[i]))
            return false;
        column->bytes = kymo__varint_get(at, end, &column->count);
        column->length = (size_t)(next - column->bytes);
        at = next;
    }
    return at == end;
}

/* Every value of a part has a name, or none has. */
static int add_names(struct kymo_opjoined *names, const struct kymo_opcolumn *column,
                     uint64_t values)
{
    names->count += values;
    if (column->count == values)
        return kymo__buffer_add(&names->bytes, column->bytes, column->length);
    int rc = kymo__buffer_reserve(&names->bytes, (size_t)values);
    if (rc == 0 && values) {
        memset(names->bytes.bytes + names->bytes.len, 0, (size_t)values);
        names->bytes.len += (size_t)values;
    }
    return rc;
}

int kymo__opjoin_add(struct kymo_opjoin *join, uint64_t first,
                     const struct kymo_opcolumn columns[KYMO__COLUMNS])
{
    for (size_t i = 0; !first && i < KYMO__COLUMNS; i++)
        join->columns[i].count = join->columns[i].bytes.len = 0;
    join->lost &= first != 0;
    if (join->lost || first != join->columns[KYMO__COLUMN_KINDS].count) {
        join->lost = true;
        return 0;
    }
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < KYMO__COLUMNS; i++) {
        struct kymo_opjoined *to = &join->columns[i];
        if (i == KYMO__COLUMN_NAMES) {
            rc = add_names(to, &columns[i], columns[KYMO__COLUMN_KINDS].count);
            continue;
        }
        rc = kymo__buffer_add(&to->bytes, columns[i].bytes, columns[i].length);
        to->count += columns[i].count;
    }
    return rc;
}

/* A list of numbers, read from its start; 0 after its end. */
static uint64_t next_number(const uint8_t **at, const uint8_t *end)
{
    uint64_t number = 0;
    if (*at && *at < end)
        *at = kymo__varint_get(*at, end, &number);
    return number;
}

/* Keep the names of arguments only, as other notes have them. */
static void drop_names_of_elements(struct kymo_opjoin *join)
{
    struct kymo_opjoined *columns = join->columns, *names = &columns[KYMO__COLUMN_NAMES];
    const struct kymo_buffer *k = &columns[KYMO__COLUMN_KINDS].bytes,
                             *n = &columns[KYMO__COLUMN_INTS].bytes;
    const uint8_t *kinds = k->bytes, *ints = n->bytes, *from = names->bytes.bytes;
    const uint8_t *end = from + names->bytes.len;
    uint8_t *to = names->bytes.bytes;
    uint64_t missing = 0, arguments = 0, any = 0;
    for (uint64_t i = 0; i < columns[KYMO__COLUMN_KINDS].count && from; i++) {
        uint64_t kind = next_number(&kinds, k->bytes + k->len), name = next_number(&from, end);
        bool list = kind == KYMO_OP_LIST || kind == KYMO_OP_TUPLE;
        uint64_t number = list || kind == KYMO_OP_INT || kind == KYMO_OP_BOOL
                              ? next_number(&ints, n->bytes + n->len)
                              : 0;
        if (!missing) { /* it is not longer than what was read */
            to = kymo__varint_put(to, name);
            arguments++;
            any |= name;
        }
        missing -= missing > 0;
        number = (uint64_t)kymo__unzigzag(number);
        if (list)
            missing = number < UINT64_MAX - missing ? missing + number : UINT64_MAX;
    }
    names->count = any ? arguments : 0;
    names->bytes.len = any ? (size_t)(to - names->bytes.bytes) : 0;
}

uint64_t kymo__opjoin_take(struct kymo_opjoin *join, uint64_t flags,
                           struct kymo_opcolumn columns[KYMO__COLUMNS])
{
    struct kymo_opjoined *kinds = &join->columns[KYMO__COLUMN_KINDS];
    bool cut = join->lost || kinds->count != (uint32_t)flags >> COUNT_SHIFT;
    if (kinds->count)
        drop_names_of_elements(join);
    for (size_t i = 0; i < KYMO__COLUMNS; i++) {
        struct kymo_opjoined *from = &join->columns[i];
        columns[i] = (struct kymo_opcolumn){from->count, from->bytes.bytes, from->bytes.len};
        from->count = 0; /* the bytes stay until the next part */
    }
    join->lost = true; /* only a first part is expected now */
    return flags | (cut ? KYMO_OP_CUT : 0);
}
