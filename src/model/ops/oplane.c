/* oplane.c — see oplane.h. */
#include "oplane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

void kymo__opcall_fini(struct kymo_opcall *op)
{
    kymo__op_values_fini(&op->inputs);
    kymo__op_values_fini(&op->outputs);
    kymo__free(op->attributes);
    kymo__buffer_fini(&op->attribute_texts);
}

void kymo__op_lane_fini(struct kymo_op_lane *lane)
{
    kymo__nest_fini(&lane->nest);
    for (size_t i = 0; i < lane->capacity; i++)
        kymo__opcall_fini(&lane->open[i].op);
    kymo__free(lane->open);
    kymo__op_held_fini(&lane->held);
    kymo__opjoin_fini(&lane->parts);
    for (size_t i = 0; i < lane->carried_count; i++)
        kymo__opcall_fini(&lane->carried[i].open.op);
    kymo__free(lane->carried);
}

struct kymo_op_open *kymo__op_lane_push(struct kymo_op_lane *lane)
{
    size_t had = lane->capacity;
    if (kymo__array_grow(&lane->open, &lane->capacity, lane->count, sizeof(*lane->open)) < 0)
        return NULL;
    memset(lane->open + had, 0, (lane->capacity - had) * sizeof(*lane->open));
    struct kymo_op_open *open = &lane->open[lane->count++];
    struct kymo_opcall kept = open->op;
    *open = (struct kymo_op_open){.op = {
                                      .seq = -1,
                                      .schema = "",
                                      .inputs = kept.inputs,
                                      .outputs = kept.outputs,
                                      .attributes = kept.attributes,
                                      .attribute_capacity = kept.attribute_capacity,
                                      .attribute_texts = kept.attribute_texts,
                                  }};
    kymo__op_values_clear(&open->op.inputs);
    kymo__op_values_clear(&open->op.outputs);
    open->op.attribute_texts.len = 0;
    return open;
}

int kymo__op_lane_carry(struct kymo_op_lane *lane, uint32_t key, struct kymo_op_open *open)
{
    int rc = kymo__array_grow(&lane->carried, &lane->carried_capacity, lane->carried_count,
                              sizeof(*lane->carried));
    if (rc < 0)
        return rc;
    lane->carried[lane->carried_count++] = (struct carried){key, *open};
    *open = (struct kymo_op_open){0}; /* its buffers have moved */
    return 0;
}

bool kymo__op_lane_go_on(struct kymo_op_lane *lane, uint32_t key, struct kymo_op_open *open)
{
    size_t i = lane->carried_count;
    while (i > 0 && lane->carried[i - 1].key != key)
        i--;
    if (i == 0)
        return false;
    uint64_t parent = open->op.parent, number = open->op.number;
    kymo__opcall_fini(&open->op);
    *open = lane->carried[i - 1].open;
    open->op.parent = parent;
    open->op.number = number;
    lane->carried[i - 1] = lane->carried[--lane->carried_count];
    return true;
}

struct kymo_opcall *kymo__op_lane_find(struct kymo_op_lane *lane, uint64_t rf_id)
{
    for (size_t i = lane->count; i-- > 0;)
        if (!rf_id || lane->open[i].op.rf_id == rf_id)
            return &lane->open[i].op;
    return NULL;
}

bool kymo__op_lane_may_return(const struct kymo_op_lane *lane)
{
    for (size_t i = 0; i < lane->count; i++)
        if (lane->open[i].op.scope != KYMO__OP_USER_SCOPE)
            return true;
    return false;
}

bool kymo__op_lane_takes(const struct kymo_op_lane *lane, uint64_t tensor)
{
    for (size_t i = 0; i + 1 < lane->count; i++)
        if (kymo__op_takes_tensor(&lane->open[i].op.inputs, tensor))
            return true;
    return false;
}

void kymo__op_lane_correct(struct kymo_op_lane *lane, const struct kymo_op_mistaken *mistaken)
{
    kymo__op_held_correct(&lane->held, mistaken);
    for (size_t i = lane->count; i-- > 0;)
        if (!kymo__opcall_correct(&lane->open[i].op, mistaken))
            break;
}

static_assert(KYMO__OP_FIELDS - KYMO__OP_KINDS == KYMO__COLUMNS &&
                  KYMO__OP_INTS - KYMO__OP_KINDS == KYMO__COLUMN_INTS &&
                  KYMO__OP_NAMES - KYMO__OP_KINDS == KYMO__COLUMN_NAMES,
              "fields and columns have the same order");

void kymo__op_lane_join(struct kymo_op_lane *lane, struct kymo_op_fields *fields)
{
    struct kymo_opcolumn columns[KYMO__COLUMNS];
    uint64_t *flags = &fields->at[KYMO__OP_FLAGS].number;
    if (kymo__likely(!(*flags & KYMO_OP_PARTS)))
        return;
    *flags = kymo__opjoin_take(&lane->parts, *flags, columns);
    for (unsigned i = 0; i < KYMO__COLUMNS; i++)
        fields->at[KYMO__OP_KINDS + i] =
            columns[i].count ? (struct kymo_op_found){.number = columns[i].count,
                                                      .bytes = columns[i].bytes,
                                                      .end = columns[i].bytes + columns[i].length,
                                                      .there = true}
                             : (struct kymo_op_found){.there = true};
}

int kymo__op_take_in(struct kymo_opcall *op, const struct kymo_op_fields *fields,
                     const struct kymo_reader *reader)
{
    const struct kymo_op_found *at = fields->at;
    if (at[KYMO__OP_RF_ID].number)
        op->rf_id = at[KYMO__OP_RF_ID].number;
    if (at[KYMO__OP_SEQ].there)
        op->seq = (int64_t)at[KYMO__OP_SEQ].number;
    op->scope = (uint32_t)at[KYMO__OP_SCOPE].number;
    op->tid = at[KYMO__OP_THREAD].number ? at[KYMO__OP_THREAD].number : op->tid;
    op->fw_tid = at[KYMO__OP_FW_THREAD].number;
    if (at[KYMO__OP_SCHEMA].number)
        op->schema = kymo__key_name(reader, at[KYMO__OP_SCHEMA].number);
    return kymo__op_values_read(&op->inputs, fields, reader);
}

/* Attributes refer to their texts, which may move: first keep all texts, then point to them. */
static void point_to_texts(struct kymo_opcall *op)
{
    const char *at = (const char *)op->attribute_texts.bytes;
    for (size_t i = 0; i < op->attribute_count; i++) {
        op->attributes[i].text = at;
        at += op->attributes[i].length;
    }
}

int kymo__op_take_attributes(struct kymo_opcall *op, const struct kymo_op_fields *fields,
                             const struct kymo_reader *reader)
{
    struct kymo_op_list names = kymo__op_list(fields, KYMO__OP_NAMES),
                        texts = kymo__op_list(fields, KYMO__OP_TEXTS),
                        kinds = kymo__op_list(fields, KYMO__OP_KINDS);
    while (names.left) {
        struct kymo_opattribute one = {0};
        uint64_t key = kymo__op_list_uint(&names);
        one.text = kymo__op_list_text(&texts, &one.length);
        one.kind = (uint8_t)kymo__op_list_uint(&kinds);
        one.name = kymo__key_name(reader, key);
        int rc = kymo__array_grow(&op->attributes, &op->attribute_capacity, op->attribute_count,
                                  sizeof(*op->attributes));
        if (rc == 0)
            rc = kymo__buffer_reserve(&op->attribute_texts, one.length + 1); /* never NULL */
        if (rc == 0)
            rc = kymo__buffer_add(&op->attribute_texts, one.text, one.length);
        if (rc < 0)
            return rc;
        op->attributes[op->attribute_count++] = one;
    }
    point_to_texts(op);
    return 0;
}

bool kymo__op_attribute_integer(const struct kymo_opattribute *attribute, int64_t *value)
{
    char text[24], *end;
    if (attribute->kind != KYMO_OP_ATTRIBUTE_INTEGER || !attribute->length ||
        attribute->length >= sizeof(text))
        return false;
    memcpy(text, attribute->text, attribute->length);
    text[attribute->length] = '\0';
    if (strspn(text, "-0123456789") != attribute->length)
        return false;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return !errno && !*end;
}
