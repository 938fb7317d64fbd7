/* opdata.c — see opdata.h. */
#include "opdata.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"

/* The columns of a payload, each read from its start. */
struct columns {
    const struct kymo_reader *reader;
    struct kymo_op_list kinds, ints, floats, texts, names, tensors, storages, offsets, numels,
        itemsizes, dtypes, devices, marks, shapes, strides;
};

static const char *name_of(const struct kymo_reader *r, uint64_t key)
{
    return key ? kymo__key_name(r, key) : "";
}

/* Copy a column whose bytes the values refer to. There is room. */
static struct kymo_op_list keep_list(struct kymo_buffer *bytes, struct kymo_op_list list)
{
    size_t length = (size_t)(list.end - list.at);
    if (!list.at)
        return list;
    uint8_t *to = bytes->bytes + bytes->len;
    memcpy(to, list.at, length);
    bytes->len += length;
    return (struct kymo_op_list){to, to + length, list.left};
}

static int keep_columns(struct kymo_opdata *values, struct columns *c)
{
    size_t length = 1; /* never NULL */
    struct kymo_op_list *const kept[] = {&c->texts, &c->shapes, &c->strides};
    for (size_t i = 0; i < 3; i++)
        length += kept[i]->at ? (size_t)(kept[i]->end - kept[i]->at) : 0;
    values->bytes.len = 0;
    int rc = kymo__buffer_reserve(&values->bytes, length);
    for (size_t i = 0; rc == 0 && i < 3; i++)
        *kept[i] = keep_list(&values->bytes, *kept[i]);
    return rc;
}

static void read_tensor(struct kymo_opdatum *value, struct columns *c)
{
    value->tensor = kymo__op_list_uint(&c->tensors);
    value->storage = kymo__op_list_uint(&c->storages);
    value->offset = kymo__op_list_int(&c->offsets);
    value->numel = kymo__op_list_uint(&c->numels);
    value->itemsize = kymo__op_list_uint(&c->itemsizes);
    value->dtype = name_of(c->reader, kymo__op_list_uint(&c->dtypes));
    value->device = name_of(c->reader, kymo__op_list_uint(&c->devices));
    value->marks = (uint8_t)kymo__op_list_uint(&c->marks);
    value->shape = kymo__op_list_inner(&c->shapes);
    value->strides = kymo__op_list_inner(&c->strides);
}

/* VALUE is all zero. */
static void read_value(struct kymo_opdatum *value, struct columns *c)
{
    value->kind = (uint8_t)kymo__op_list_uint(&c->kinds);
    value->text = value->dtype = value->device = "";
    switch (value->kind) {
    case KYMO_OP_TENSOR:
        read_tensor(value, c);
        break;
    case KYMO_OP_INT:
    case KYMO_OP_BOOL:
    case KYMO_OP_LIST:
    case KYMO_OP_TUPLE:
        value->integer = kymo__op_list_int(&c->ints);
        break;
    case KYMO_OP_COMPLEX:
        value->real = kymo__op_list_float(&c->floats);
        value->imaginary = kymo__op_list_float(&c->floats);
        break;
    case KYMO_OP_FLOAT:
        value->real = kymo__op_list_float(&c->floats);
        break;
    case KYMO_OP_TEXT:
    case KYMO_OP_DEVICE:
    case KYMO_OP_OTHER:
        value->text = kymo__op_list_text(&c->texts, &value->length);
        break;
    default:
        break;
    }
}

/* Count the elements that each list really has: of one that was cut, the last ones are missing. */
static void count_elements(struct kymo_opdata *values)
{
    /* Going backwards, elements are known before their list. */
    for (size_t i = values->count; i-- > 0;) {
        struct kymo_opdatum *list = &values->all[i];
        size_t at = i + 1;
        while (kymo__op_is_many(list) && at < values->count &&
               (int64_t)list->count < list->integer) {
            at = values->all[at].after;
            list->count++;
        }
        list->after = (uint32_t)at;
    }
}

/* Empty the lists that are nested too deep. */
static void limit_depth(struct kymo_opdata *values)
{
    size_t ends[KYMO__OP_DEEPEST], depth = 0;
    for (size_t i = 0; i < values->count;) {
        struct kymo_opdatum *value = &values->all[i];
        while (depth && i >= ends[depth - 1])
            depth--;
        if (value->count && depth == KYMO__OP_DEEPEST)
            value->count = 0;
        i = value->count ? i + 1 : value->after;
        if (value->count)
            ends[depth++] = value->after;
    }
}

static void name_values(struct kymo_opdata *values, struct columns *c)
{
    for (size_t at = 0; at < values->count; at = values->all[at].after) {
        uint64_t key = kymo__op_list_uint(&c->names);
        values->all[at].name = key ? kymo__key_name(c->reader, key) : NULL;
        values->top++;
    }
}

/* Make room for COUNT values, all zero. */
static int make_room(struct kymo_opdata *values, size_t count)
{
    int rc = 0;
    while (rc == 0 && values->capacity < count)
        rc = kymo__array_grow(&values->all, &values->capacity, values->capacity,
                              sizeof(*values->all));
    if (rc == 0 && count)
        memset(values->all, 0, count * sizeof(*values->all));
    return rc;
}

int kymo__op_values_read(struct kymo_opdata *values, const struct kymo_op_fields *fields,
                         const struct kymo_reader *reader)
{
    struct columns c = {
        .reader = reader,
        .kinds = kymo__op_list(fields, KYMO__OP_KINDS),
        .ints = kymo__op_list(fields, KYMO__OP_INTS),
        .floats = kymo__op_list(fields, KYMO__OP_FLOATS),
        .texts = kymo__op_list(fields, KYMO__OP_TEXTS),
        .names = kymo__op_list(fields, KYMO__OP_NAMES),
        .tensors = kymo__op_list(fields, KYMO__OP_TENSORS),
        .storages = kymo__op_list(fields, KYMO__OP_STORAGES),
        .offsets = kymo__op_list(fields, KYMO__OP_OFFSETS),
        .numels = kymo__op_list(fields, KYMO__OP_NUMELS),
        .itemsizes = kymo__op_list(fields, KYMO__OP_ITEMSIZES),
        .dtypes = kymo__op_list(fields, KYMO__OP_DTYPES),
        .devices = kymo__op_list(fields, KYMO__OP_DEVICES),
        .marks = kymo__op_list(fields, KYMO__OP_MARKS),
        .shapes = kymo__op_list(fields, KYMO__OP_SHAPES),
        .strides = kymo__op_list(fields, KYMO__OP_STRIDES),
    };
    kymo__op_values_clear(values);
    int rc = keep_columns(values, &c);
    if (rc == 0)
        rc = make_room(values, c.kinds.left);
    if (rc < 0)
        return rc;
    while (c.kinds.left)
        read_value(&values->all[values->count++], &c);
    values->recorded = !(fields->at[KYMO__OP_FLAGS].number & KYMO_OP_NAMES);
    values->cut = fields->at[KYMO__OP_FLAGS].number & KYMO_OP_CUT;
    count_elements(values);
    limit_depth(values);
    name_values(values, &c);
    return 0;
}

void kymo__op_values_clear(struct kymo_opdata *values)
{
    values->count = values->top = 0;
    values->recorded = values->cut = false;
}

void kymo__op_values_fini(struct kymo_opdata *values)
{
    kymo__free(values->all);
    kymo__buffer_fini(&values->bytes);
    *values = (struct kymo_opdata){0};
}
