/* opargs.c — see opargs.h. The names and forms are those that Kineto writes for PyTorch. */
#include "opargs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fields.h"
#include "jsontext.h"

enum { LIST_MOST = 30 }; /* of a longer list, PyTorch does not write what is in it */

struct out {
    int (*emit)(void *arg, const struct kymo_op_arg *value);
    void *arg;
    struct kymo_buffer text;
};

static int emit_int(struct out *o, const char *name, uint64_t value)
{
    const struct kymo_op_arg one = {
        .name = name, .type = KYMO__OP_ARG_INT, .integer = (int64_t)value};
    return o->emit(o->arg, &one);
}

static int emit_text(struct out *o, const char *name, const char *text, size_t length)
{
    const struct kymo_op_arg one = {
        .name = name, .type = KYMO__OP_ARG_TEXT, .text = text, .length = length};
    return o->emit(o->arg, &one);
}

static int emit_json(struct out *o, const char *name)
{
    const struct kymo_op_arg one = {.name = name,
                                    .type = KYMO__OP_ARG_JSON,
                                    .text = (const char *)o->text.bytes,
                                    .length = o->text.len};
    return o->emit(o->arg, &one);
}

/* ---- what a value is ---- */

static bool is_scalar(const struct kymo_opdatum *value)
{
    return value->kind == KYMO_OP_INT || value->kind == KYMO_OP_FLOAT ||
           value->kind == KYMO_OP_BOOL || value->kind == KYMO_OP_COMPLEX;
}

/* Do all elements of the list at AT pass TEST? */
static bool all_are(const struct kymo_opdata *values, size_t at,
                    bool (*test)(const struct kymo_opdatum *))
{
    const struct kymo_opdatum *list = &values->all[at++];
    for (uint32_t i = 0; i < list->count; i++, at = values->all[at].after)
        if (!test(&values->all[at]))
            return false;
    return true;
}

static bool is_scalar_list(const struct kymo_opdata *values, size_t at)
{
    const struct kymo_opdatum *value = &values->all[at];
    return value->kind == KYMO_OP_LIST && value->count <= LIST_MOST &&
           all_are(values, at, is_scalar);
}

static const char *type_of(const struct kymo_opdata *values, size_t at)
{
    const struct kymo_opdatum *value = &values->all[at];
    if (value->kind == KYMO_OP_TENSOR)
        return value->marks & KYMO_OP_OPAQUE ? "" : value->dtype; /* as PyTorch has it */
    if (is_scalar(value))
        return "Scalar";
    if (is_scalar_list(values, at))
        return "ScalarList";
    if (value->kind == KYMO_OP_NO_TENSORS)
        return "TensorList";
    bool tensors = value->kind == KYMO_OP_LIST && all_are(values, at, kymo__op_is_tensor);
    return tensors ? "TensorList" : "";
}

/* ---- the four lists ---- */

static int add_int(struct kymo_buffer *b, int64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, value);
    return kymo__json_text(b, text);
}

static int add_sizes(struct kymo_buffer *b, struct kymo_op_list sizes)
{
    int rc = kymo__json_text(b, "[");
    for (bool more = false; rc == 0 && sizes.left; more = true)
        rc = (more ? kymo__json_text(b, ", ") : 0) | add_int(b, kymo__op_list_int(&sizes));
    return rc | kymo__json_text(b, "]");
}

static int add_shape(struct kymo_buffer *b, const struct kymo_opdata *values, size_t at)
{
    return add_sizes(b, values->all[at].shape);
}

static int add_strides(struct kymo_buffer *b, const struct kymo_opdata *values, size_t at)
{
    return add_sizes(b, values->all[at].strides);
}

/* Append shapes or strides of the value at AT, which may be a list of tensors. */
static int add_tensors(struct kymo_buffer *b, const struct kymo_opdata *values, size_t at,
                       int (*add)(struct kymo_buffer *, const struct kymo_opdata *, size_t))
{
    const struct kymo_opdatum *value = &values->all[at];
    if (!kymo__op_is_many(value))
        return add(b, values, at);
    int rc = kymo__json_text(b, "[");
    bool shown = value->count <= LIST_MOST && all_are(values, at, kymo__op_is_tensor);
    at++;
    for (uint32_t i = 0; shown && rc == 0 && i < value->count; i++, at = values->all[at].after)
        rc = (i ? kymo__json_text(b, ", ") : 0) | add(b, values, at);
    return rc | kymo__json_text(b, "]");
}

static int add_dims_item(struct kymo_buffer *b, const struct kymo_opdata *values, size_t at)
{
    return add_tensors(b, values, at, add_shape);
}

static int add_strides_item(struct kymo_buffer *b, const struct kymo_opdata *values, size_t at)
{
    return add_tensors(b, values, at, add_strides);
}

static int add_type_item(struct kymo_buffer *b, const struct kymo_opdata *values, size_t at)
{
    return kymo__json_text(b, "\"") | kymo__json_escaped(b, type_of(values, at)) |
           kymo__json_text(b, "\"");
}

/* A number as PyTorch prints it: whole ones end in a point. */
static int add_float(struct kymo_buffer *b, double value)
{
    char text[40];
    if (isfinite(value) && fabs(value) < 1e10 && value == (double)(int64_t)value)
        snprintf(text, sizeof(text), "%.0f.", value);
    else
        snprintf(text, sizeof(text), "%.17g", value);
    return kymo__json_text(b, text);
}

static int add_scalar(struct kymo_buffer *b, const struct kymo_opdatum *value)
{
    if (value->kind == KYMO_OP_BOOL)
        return kymo__json_text(b, value->integer ? "True" : "False");
    if (value->kind == KYMO_OP_INT)
        return add_int(b, value->integer);
    int rc = add_float(b, value->real);
    if (value->kind == KYMO_OP_COMPLEX)
        rc |= kymo__json_text(b, value->imaginary < 0 ? "" : "+") | add_float(b, value->imaginary) |
              kymo__json_text(b, "j");
    return rc;
}

static int add_concrete_item(struct kymo_buffer *b, const struct kymo_opdata *values, size_t at)
{
    const struct kymo_opdatum *value = &values->all[at];
    int rc = kymo__json_text(b, "\"");
    if (is_scalar(value)) {
        rc |= add_scalar(b, value);
    } else if (is_scalar_list(values, at)) {
        rc |= kymo__json_text(b, "[");
        at++;
        for (uint32_t i = 0; rc == 0 && i < value->count; i++, at = values->all[at].after)
            rc = (i ? kymo__json_text(b, ", ") : 0) | add_scalar(b, &values->all[at]);
        rc |= kymo__json_text(b, "]");
    }
    return rc | kymo__json_text(b, "\"");
}

static bool is_text(const struct kymo_opdatum *value)
{
    return value->kind == KYMO_OP_TEXT;
}

/* Keywords with a simple value, or with a list of texts, are arguments of their own. */
static bool is_keyword(const struct kymo_opdata *values, size_t at)
{
    const struct kymo_opdatum *value = &values->all[at];
    if (!value->name)
        return false;
    return is_scalar(value) || is_text(value) ||
           (value->kind == KYMO_OP_LIST && value->count && all_are(values, at, is_text));
}

static int emit_list(struct out *o, const struct kymo_opdata *values, const char *name,
                     int (*add)(struct kymo_buffer *, const struct kymo_opdata *, size_t))
{
    bool more = false;
    o->text.len = 0;
    int rc = kymo__json_text(&o->text, "[");
    for (size_t at = 0; rc == 0 && at < values->count; at = values->all[at].after) {
        if (is_keyword(values, at))
            continue;
        rc = (more ? kymo__json_text(&o->text, ", ") : 0) | add(&o->text, values, at);
        more = true;
    }
    rc |= kymo__json_text(&o->text, "]");
    return rc ? -ENOMEM : emit_json(o, name);
}

static int add_text(struct kymo_buffer *b, const struct kymo_opdatum *value)
{
    const struct kymo_call_arg text = {
        .type = KYMO_FIELD_TEXT, .bytes = (const uint8_t *)value->text, .length = value->length};
    return kymo__arg_json(b, NULL, &text);
}

static int emit_texts(struct out *o, const struct kymo_opdata *values, size_t at)
{
    const struct kymo_opdatum *list = &values->all[at++];
    o->text.len = 0;
    int rc = kymo__json_text(&o->text, "[");
    for (uint32_t i = 0; rc == 0 && i < list->count; i++, at = values->all[at].after)
        rc = (i ? kymo__json_text(&o->text, ", ") : 0) | add_text(&o->text, &values->all[at]);
    rc |= kymo__json_text(&o->text, "]");
    return rc ? -ENOMEM : emit_json(o, list->name);
}

static int emit_keyword(struct out *o, const struct kymo_opdata *values, size_t at)
{
    const struct kymo_opdatum *value = &values->all[at];
    if (value->kind == KYMO_OP_LIST)
        return emit_texts(o, values, at);
    char number[KYMO__JSON_NUMBER];
    switch (value->kind) {
    case KYMO_OP_INT:
        return emit_int(o, value->name, (uint64_t)value->integer);
    case KYMO_OP_TEXT:
        return emit_text(o, value->name, value->text, value->length);
    default:
        break;
    }
    o->text.len = 0;
    int rc;
    if (value->kind == KYMO_OP_BOOL)
        rc = kymo__json_text(&o->text, value->integer ? "true" : "false");
    else if (value->kind == KYMO_OP_FLOAT)
        rc = kymo__buffer_add(&o->text, number,
                              (size_t)(kymo__json_double(number, value->real) - number));
    else
        rc = kymo__json_text(&o->text, "\"") | add_scalar(&o->text, value) |
             kymo__json_text(&o->text, "\"");
    return rc ? -ENOMEM : emit_json(o, value->name);
}

static int emit_values(struct out *o, const struct kymo_opdata *values)
{
    if (!values->count) /* PyTorch writes nothing either */
        return 0;
    int rc = emit_list(o, values, "Concrete Inputs", add_concrete_item);
    if (rc == 0)
        rc = emit_list(o, values, "Input type", add_type_item);
    if (rc == 0)
        rc = emit_list(o, values, "Input Strides", add_strides_item);
    if (rc == 0)
        rc = emit_list(o, values, "Input Dims", add_dims_item);
    for (size_t at = 0; rc == 0 && at < values->count; at = values->all[at].after)
        if (is_keyword(values, at))
            rc = emit_keyword(o, values, at);
    return rc;
}

/* ---- attributes ---- */

/* Collectives have other names here than in execution traces. */
static const char *attribute_name(const char *name)
{
    static const struct {
        const char *from, *to;
    } names[] = {
        {"collective_name", "Collective name"},
        {"in_msg_nelems", "In msg nelems"},
        {"out_msg_nelems", "Out msg nelems"},
        {"in_split_size", "In split size"},
        {"out_split_size", "Out split size"},
        {"global_rank_start", "Global rank start"},
        {"global_rank_stride", "Global rank stride"},
        {"pg_size", "Group size"},
        {"pg_name", "Process Group Name"},
        {"pg_desc", "Process Group Description"},
        {"pg_ranks", "Process Group Ranks"},
        {"is_asynchronized_op", "Is asynchronized op"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i].from) == 0)
            return names[i].to;
    return name;
}

static int emit_attribute(struct out *o, const struct kymo_opattribute *attribute)
{
    int64_t value;
    const char *name = attribute_name(attribute->name);
    if (kymo__op_attribute_integer(attribute, &value))
        return emit_int(o, name, (uint64_t)value);
    return emit_text(o, name, attribute->text, attribute->length);
}

/* The text that a program gives to an annotation has the name that it has in a span. */
static int emit_annotation_text(struct out *o, const struct kymo_opcall *op)
{
    const struct kymo_opdatum *first = op->inputs.all;
    if (op->scope != KYMO__OP_USER_SCOPE || op->inputs.top != 1 || first->kind != KYMO_OP_TEXT ||
        first->name)
        return 0;
    return emit_text(o, "args", first->text, first->length);
}

int kymo__op_args(const struct kymo_opcall *op,
                  int (*emit)(void *arg, const struct kymo_op_arg *value), void *arg)
{
    struct out o = {.emit = emit, .arg = arg};
    int rc = emit_int(&o, "External id", op->rf_id);
    if (rc == 0)
        rc = emit_int(&o, "Record function id", op->rf_id);
    if (rc == 0 && op->seq >= 0)
        rc = emit_int(&o, "Sequence number", (uint64_t)op->seq);
    if (rc == 0 && op->seq >= 0)
        rc = emit_int(&o, "Fwd thread id", op->fw_tid);
    if (rc == 0 && op->inputs.recorded)
        rc = emit_values(&o, &op->inputs);
    if (rc == 0 && op->inputs.cut)
        rc = emit_text(&o, "Incomplete", "inputs", 6);
    if (rc == 0)
        rc = emit_annotation_text(&o, op);
    for (size_t i = 0; rc == 0 && i < op->attribute_count; i++)
        rc = emit_attribute(&o, &op->attributes[i]);
    kymo__buffer_fini(&o.text);
    return rc;
}
