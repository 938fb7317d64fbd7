/* et_text.c — see et_text.h. */
#include "et_text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "jsontext.h"
#include "utf8.h"

/* What differs between the two forms. */
static const struct {
    const char *true_, *false_;
} words[] = {
    [KYMO__ET_JSON] = {"true", "false"},
    [KYMO__ET_PYTHON] = {"True", "False"},
};

/* ---- texts ---- */

/* Append TEXT as Python's repr would. */
static int add_python(struct kymo_buffer *b, const char *text, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    int rc = kymo__buffer_reserve(b, 4 * length + 2); /* if all of it has to be escaped */
    if (rc < 0)
        return rc;
    uint8_t *at = b->bytes + b->len;
    *at++ = '\'';
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\\' || c == '\'')
            *at++ = '\\';
        if (c >= 0x20 && c != 0x7f) {
            *at++ = c;
            continue;
        }
        *at++ = '\\';
        *at++ = 'x';
        *at++ = (uint8_t)digits[c >> 4];
        *at++ = (uint8_t)digits[c & 15];
    }
    *at++ = '\'';
    b->len = (size_t)(at - b->bytes);
    return 0;
}

/* Is it written as it is in a string of JSON? */
static bool is_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
            return false;
    }
    return true;
}

int kymo__et_add_text(struct kymo_buffer *b, const char *text, size_t length,
                      enum kymo_et_form form)
{
    if (form == KYMO__ET_PYTHON)
        return add_python(b, text, length);
    if (is_plain(text, length))
        return kymo__json_text(b, "\"") | kymo__buffer_add(b, text, length) |
               kymo__json_text(b, "\"");
    const struct kymo_call_arg arg = {
        .type = KYMO_FIELD_TEXT, .bytes = (const uint8_t *)text, .length = length};
    return kymo__arg_json(b, NULL, &arg);
}

static int add_word(struct kymo_buffer *b, const char *text, enum kymo_et_form form)
{
    return kymo__et_add_text(b, text, strlen(text), form);
}

/* ---- pieces, written where there is room ---- */

static inline char *put_comma(char *at, enum kymo_et_form form)
{
    at[0] = ',';
    at[1] = ' ';
    return at + (form == KYMO__ET_PYTHON ? 2 : 1);
}

enum { SHORT = 64 };

/* Write TEXT, without quotes, if it has at most SHORT bytes that both forms write as they are;
   otherwise return NULL. */
static inline char *put_short(char *at, const char *text)
{
    for (size_t i = 0; i <= SHORT; i++) {
        unsigned char c = (unsigned char)text[i];
        if (!c)
            return at;
        if (c < 0x20 || c >= 0x7f || c == '"' || c == '\'' || c == '\\')
            return NULL;
        *at++ = (char)c;
    }
    return NULL;
}

/* Make room for MOST bytes in B: where they go, or NULL. */
static inline char *room_for(struct kymo_buffer *b, size_t most)
{
    return kymo__buffer_reserve(b, most) < 0 ? NULL : (char *)b->bytes + b->len;
}

static inline int end_at(struct kymo_buffer *b, const char *at)
{
    b->len = (size_t)((const uint8_t *)at - b->bytes);
    return 0;
}

static inline int add_comma(struct kymo_buffer *b, enum kymo_et_form form)
{
    char *at = room_for(b, 2);
    return at ? end_at(b, put_comma(at, form)) : -ENOMEM;
}

/* ---- values ---- */

static int add_int(struct kymo_buffer *b, int64_t value)
{
    int rc = kymo__buffer_reserve(b, KYMO__JSON_NUMBER);
    if (rc == 0)
        b->len += (size_t)(kymo__json_int((char *)b->bytes + b->len, value) -
                           ((char *)b->bytes + b->len));
    return rc;
}

enum { DOUBLE_MOST = KYMO__JSON_NUMBER + 8 };

/* The shortest digits that read back as VALUE, and as a floating-point number. */
static void print_double(char text[DOUBLE_MOST], double value)
{
    if (!isfinite(value)) {
        snprintf(text, DOUBLE_MOST, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    char digits[KYMO__JSON_NUMBER + 1];
    *kymo__json_double(digits, value) = '\0';
    bool negative_zero = value == 0 && signbit(value);
    snprintf(text, DOUBLE_MOST, "%s%s%s", negative_zero ? "-" : "", digits,
             strpbrk(digits, ".e") ? "" : ".0");
}

static int add_double(struct kymo_buffer *b, double value, enum kymo_et_form form)
{
    char text[DOUBLE_MOST];
    print_double(text, value);
    return isfinite(value) ? kymo__json_text(b, text) : add_word(b, text, form);
}

/* As Python reads it: 1.0+2.0j. */
static int add_complex(struct kymo_buffer *b, const struct kymo_opdatum *value,
                       enum kymo_et_form form)
{
    char real[DOUBLE_MOST], imaginary[DOUBLE_MOST], text[96];
    print_double(real, value->real);
    print_double(imaginary, value->imaginary);
    snprintf(text, sizeof(text), "%s%s%sj", real, *imaginary == '-' ? "" : "+", imaginary);
    return add_word(b, text, form);
}

static int add_tensor(struct kymo_buffer *b, const struct kymo_opdatum *value,
                      enum kymo_et_form form)
{
    const char quote = form == KYMO__ET_PYTHON ? '\'' : '"';
    const bool stored = value->storage_id != 0 && !(value->marks & KYMO_OP_OPAQUE);
    const char *device = stored ? value->device : "";
    char *at = room_for(b, 5 * (KYMO__JSON_NUMBER + 2) + SHORT + 4);
    if (!at)
        return -ENOMEM;
    *at++ = '[';
    at = put_comma(kymo__json_uint(at, value->tensor_id), form);
    at = put_comma(kymo__json_uint(at, stored ? value->storage_id : 0), form);
    at = put_comma(kymo__json_int(at, stored ? value->offset : 0), form);
    at = put_comma(kymo__json_uint(at, stored ? value->numel : 0), form);
    at = put_comma(kymo__json_uint(at, stored ? value->itemsize : 0), form);
    end_at(b, at);
    *at++ = quote;
    at = put_short(at, device);
    if (at) {
        *at++ = quote;
        *at++ = ']';
        return end_at(b, at);
    }
    int rc = add_word(b, device, form);
    return rc < 0 ? rc : kymo__json_text(b, "]");
}

/* A value that has only a type. */
static int add_tag(struct kymo_buffer *b, const char *tag, size_t length, enum kymo_et_form form)
{
    struct kymo_buffer text = {0};
    int rc = kymo__json_text(&text, "<") | kymo__buffer_add(&text, tag, length) |
             kymo__json_text(&text, ">");
    rc = rc ? -ENOMEM : kymo__et_add_text(b, (const char *)text.bytes, text.len, form);
    kymo__buffer_fini(&text);
    return rc;
}

static int add_value(struct kymo_buffer *b, const struct kymo_opdatum *value,
                     enum kymo_et_form form)
{
    switch (value->kind) {
    case KYMO_OP_TENSOR:
    case KYMO_OP_UNDEFINED:
        return add_tensor(b, value, form);
    case KYMO_OP_INT:
        return add_int(b, value->integer);
    case KYMO_OP_BOOL:
        return kymo__json_text(b, value->integer ? words[form].true_ : words[form].false_);
    case KYMO_OP_FLOAT:
        return add_double(b, value->real, form);
    case KYMO_OP_COMPLEX:
        return add_complex(b, value, form);
    case KYMO_OP_TEXT:
    case KYMO_OP_DEVICE:
        return kymo__et_add_text(b, value->text, value->length, form);
    case KYMO_OP_OTHER:
        return add_tag(b, value->text, value->length, form);
    default:
        return add_word(b, "<None>", form);
    }
}

/* ---- shapes, strides and types ---- */

static int add_sizes(struct kymo_buffer *b, struct kymo_op_list sizes, enum kymo_et_form form)
{
    char *at = room_for(b, (sizes.left + 1) * (KYMO__JSON_NUMBER + 2));
    if (!at)
        return -ENOMEM;
    *at++ = '[';
    for (bool more = false; sizes.left; more = true) {
        if (more)
            at = put_comma(at, form);
        at = kymo__json_int(at, kymo__op_list_int(&sizes));
    }
    *at++ = ']';
    return end_at(b, at);
}

/* Append the type of the value at AT, which may be a list of others. */
static int add_type(struct kymo_buffer *b, const struct kymo_opdata *values, size_t at)
{
    static const char *const tags[] = {
        [KYMO_OP_NONE] = "None",
        [KYMO_OP_INT] = "Int",
        [KYMO_OP_BOOL] = "Bool",
        [KYMO_OP_FLOAT] = "Double",
        [KYMO_OP_TEXT] = "String",
        [KYMO_OP_DEVICE] = "Device",
        [KYMO_OP_LIST] = "GenericList",
        [KYMO_OP_TUPLE] = "Tuple",
        [KYMO_OP_COMPLEX] = "ComplexDouble",
        [KYMO_OP_UNDEFINED] = "Tensor(nullptr (uninitialized))",
        [KYMO_OP_NO_TENSORS] = "GenericList",
    };
    const struct kymo_opdatum *value = &values->all[at];
    if (value->kind == KYMO_OP_TENSOR)
        return kymo__json_text(b, "Tensor(") | kymo__json_text(b, value->dtype) |
               kymo__json_text(b, ")");
    if (value->kind == KYMO_OP_OTHER)
        return kymo__buffer_add(b, value->text, value->length);
    bool known = value->kind < sizeof(tags) / sizeof(tags[0]) && tags[value->kind];
    int rc = kymo__json_text(b, known ? tags[value->kind] : "None");
    if (!kymo__op_is_many(value))
        return rc;
    rc |= kymo__json_text(b, "[");
    at++;
    for (uint32_t i = 0; rc == 0 && i < value->count; i++, at = values->all[at].after)
        rc = (i ? kymo__json_text(b, ",") : 0) | add_type(b, values, at);
    return rc | kymo__json_text(b, "]");
}

/* Is it written as it is in a string of either form? */
static bool is_plain_type(const uint8_t *at, const uint8_t *end)
{
    for (; at < end; at++)
        if (*at < 0x20 || *at >= 0x7f || *at == '"' || *at == '\'' || *at == '\\')
            return false;
    return true;
}

/* Append the type of a tensor with its quotes. Returns 1, or 0 if it is not written as it is. */
static int add_tensor_type(struct kymo_buffer *b, const char *dtype, enum kymo_et_form form)
{
    const char quote = form == KYMO__ET_PYTHON ? '\'' : '"';
    char *at = room_for(b, SHORT + 16);
    if (!at)
        return -ENOMEM;
    *at++ = quote;
    at = put_short(KYMO__JSON_PUT(at, "Tensor("), dtype);
    if (!at)
        return 0;
    *at++ = ')';
    *at++ = quote;
    end_at(b, at);
    return 1;
}

static int add_type_text(struct kymo_buffer *b, const struct kymo_opdata *values, size_t at,
                         enum kymo_et_form form)
{
    const char *quote = form == KYMO__ET_PYTHON ? "'" : "\"";
    size_t before = b->len;
    int rc = values->all[at].kind == KYMO_OP_TENSOR
                 ? add_tensor_type(b, values->all[at].dtype, form)
                 : 0;
    if (rc)
        return rc < 0 ? rc : 0;
    rc = kymo__json_text(b, quote) | add_type(b, values, at) | kymo__json_text(b, quote);
    if (rc || is_plain_type(b->bytes + before + 1, b->bytes + b->len - 1))
        return rc ? -ENOMEM : 0;
    /* Its name came from the program: write it again, escaped. */
    struct kymo_buffer type = {0};
    rc = kymo__buffer_add(&type, b->bytes + before + 1, b->len - before - 2);
    b->len = before;
    if (rc == 0)
        rc = kymo__et_add_text(b, (const char *)type.bytes, type.len, form);
    kymo__buffer_fini(&type);
    return rc;
}

/* ---- lists ---- */

static int add_item(struct kymo_buffer *b, const struct kymo_opdata *values, size_t at,
                    enum kymo_et_list list, enum kymo_et_form form)
{
    const struct kymo_opdatum *value = &values->all[at];
    if (list == KYMO__ET_TYPES)
        return add_type_text(b, values, at, form);
    if (kymo__op_is_many(value)) {
        int rc = kymo__json_text(b, "[");
        at++;
        for (uint32_t i = 0; rc == 0 && i < value->count; i++, at = values->all[at].after) {
            rc = i ? add_comma(b, form) : 0;
            rc = rc < 0 ? rc : add_item(b, values, at, list, form);
        }
        return rc < 0 ? rc : kymo__json_text(b, "]");
    }
    if (list == KYMO__ET_VALUES)
        return add_value(b, value, form);
    return add_sizes(b, list == KYMO__ET_SHAPES ? value->shape : value->strides, form);
}

/* The stream as a value of each list. */
static int add_stream(struct kymo_buffer *b, enum kymo_et_list list, enum kymo_et_form form,
                      int64_t stream)
{
    if (list == KYMO__ET_VALUES)
        return add_int(b, stream);
    return list == KYMO__ET_TYPES ? add_word(b, "Int", form) : kymo__json_text(b, "[]");
}

int kymo__et_add_list(struct kymo_buffer *b, const struct kymo_opdata *values,
                      enum kymo_et_list list, enum kymo_et_form form, const int64_t *stream)
{
    int rc = kymo__json_text(b, "[");
    for (size_t at = 0; rc == 0 && at < values->count; at = values->all[at].after) {
        rc = at ? add_comma(b, form) : 0;
        rc = rc < 0 ? rc : add_item(b, values, at, list, form);
    }
    if (rc == 0 && stream) {
        rc = values->count ? add_comma(b, form) : 0;
        rc = rc < 0 ? rc : add_stream(b, list, form, *stream);
    }
    return rc < 0 ? rc : kymo__json_text(b, "]");
}

/* ---- attributes ---- */

const struct kymo_opattribute *kymo__et_attribute(const struct kymo_opcall *op, const char *name)
{
    for (size_t i = 0; i < op->attribute_count; i++)
        if (strcmp(op->attributes[i].name, name) == 0)
            return &op->attributes[i];
    return NULL;
}

const char *kymo__et_cut(const struct kymo_opcall *op)
{
    if (op->inputs.cut)
        return op->outputs.cut ? "inputs, outputs" : "inputs";
    return op->outputs.cut ? "outputs" : NULL;
}

bool kymo__et_stream(const struct kymo_opcall *op, int64_t *stream)
{
    const struct kymo_opattribute *backend = kymo__et_attribute(op, "kernel_backend"),
                                  *of = kymo__et_attribute(op, "stream");
    return backend && of && backend->length == 6 && memcmp(backend->text, "triton", 6) == 0 &&
           kymo__op_attribute_integer(of, stream);
}
