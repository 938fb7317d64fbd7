/* fields.c — see fields.h. */
#include "fields.h"

#include <errno.h>
#include <inttypes.h>
#include <kymo/payload.h>
#include <stdio.h>
#include <string.h>

#include "handout.h"
#include "jsontext.h"
#include "varint.h"

enum { BASE = 0x0f };

const char *kymo__key_name(const struct kymo_reader *r, uint64_t key)
{
    if (!key || key >= r->key_count)
        return "(unknown)";
    uint32_t name = r->keys[key].name;
    bool named = name && name < r->string_count && r->strings[name].text;
    return named ? kymo__reader_string(r, name) : "(unknown)";
}

void kymo__fields_of(struct kymo_fields *f, const struct kymo_reader *r, uint32_t key,
                     const uint8_t *bytes, size_t len)
{
    uint32_t index = key < r->key_count ? r->keys[key].schema : 0;
    *f = (struct kymo_fields){.schema = index ? &r->schemas[index - 1] : NULL,
                              .key = key,
                              .at = bytes,
                              .end = bytes + len};
    /* A payload that does not match its schema is damaged; show none of it. */
    if (f->schema && !kymo__plan_fits(&f->schema->plan, bytes, len))
        f->schema = NULL;
}

void kymo__fields_begin(struct kymo_fields *f, const struct kymo_reader *r,
                        const struct kymo_event *event)
{
    *f = (struct kymo_fields){0};
    if (event->kind == KYMO_PAYLOAD && event->payload)
        kymo__fields_of(f, r, event->key, event->payload, event->payload_bytes);
}

/* Read a value of TYPE at AT. Returns the byte after it, or NULL. */
static const uint8_t *take_value(unsigned type, const uint8_t *at, const uint8_t *end,
                                 struct kymo_call_arg *arg)
{
    const uint8_t *next = kymo__field_end(type, at, end);
    if (!next)
        return NULL;
    arg->type = (uint8_t)type;
    if (type == KYMO_FIELD_FLOAT) {
        memcpy(&arg->value, at, sizeof(arg->value));
        return next;
    }
    const uint8_t *behind = kymo__varint_get(at, end, &arg->value);
    if (kymo__arg_is_long(arg)) {
        arg->count = arg->value;
        arg->bytes = behind;
        arg->length = (size_t)(next - behind);
    } else if (type == KYMO_FIELD_INT) {
        arg->value = (uint64_t)kymo__unzigzag(arg->value);
    }
    return next;
}

bool kymo__fields_next(struct kymo_fields *f, struct kymo_call_arg *arg)
{
    if (!f->schema || f->next >= f->schema->plan.count)
        return false;
    *arg = (struct kymo_call_arg){.key = f->schema->field[f->next], .schema = f->key};
    f->at = take_value(f->schema->plan.type[f->next++], f->at, f->end, arg);
    return f->at != NULL;
}

/* ---- as text ---- */

static int add_hex(struct kymo_buffer *out, const uint8_t *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    int rc = kymo__buffer_reserve(out, 2 * len + 1);
    for (size_t i = 0; rc == 0 && i < len; i++) {
        out->bytes[out->len++] = (uint8_t)digits[bytes[i] >> 4];
        out->bytes[out->len++] = (uint8_t)digits[bytes[i] & 0xf];
    }
    return rc;
}

/* Add LEN bytes as the inside of a string; a zero byte becomes an escape. */
static int add_escaped(struct kymo_buffer *out, const uint8_t *bytes, size_t len)
{
    struct kymo_buffer ended = {0};
    int rc = len < SIZE_MAX ? kymo__buffer_reserve(&ended, len + 1) : -ENOMEM;
    for (size_t at = 0; rc == 0 && at <= len;) {
        const uint8_t *zero = at < len ? memchr(bytes + at, 0, len - at) : NULL;
        size_t part = (zero ? (size_t)(zero - bytes) : len) - at;
        memcpy(ended.bytes, bytes + at, part);
        ended.bytes[part] = '\0';
        rc = kymo__json_escaped(out, (const char *)ended.bytes);
        if (rc == 0 && zero)
            rc = kymo__json_text(out, "\\u0000");
        at += part + 1;
    }
    kymo__buffer_fini(&ended);
    return rc;
}

static int add_number(struct kymo_buffer *out, const struct kymo_call_arg *arg)
{
    char text[KYMO__JSON_NUMBER + 8], *end = text;
    double real;
    if (arg->type == KYMO_FIELD_FLOAT) {
        memcpy(&real, &arg->value, sizeof(real));
        end = kymo__json_double(text, real);
    } else if (arg->type == KYMO_FIELD_INT) {
        end += sprintf(text, "%" PRId64, (int64_t)arg->value);
    } else {
        end = kymo__json_uint(text, arg->value);
    }
    return kymo__buffer_add(out, text, (size_t)(end - text));
}

static int add_list(struct kymo_buffer *out, const struct kymo_reader *r,
                    const struct kymo_call_arg *list)
{
    unsigned type = list->type & BASE;
    if (list->type & KYMO_FIELD_LISTS)
        type |= KYMO_FIELD_LIST;
    const uint8_t *at = list->bytes, *end = at + list->length;
    int rc = kymo__json_text(out, "[");
    for (uint64_t i = 0; rc == 0 && i < list->count; i++) {
        struct kymo_call_arg one = {.key = list->key};
        at = take_value(type, at, end, &one);
        if (!at)
            break;
        rc = i ? kymo__json_text(out, ",") : 0;
        if (rc == 0)
            rc = kymo__arg_json(out, r, &one);
    }
    return rc < 0 ? rc : kymo__json_text(out, "]");
}

/* Add the inside of a string. */
static int add_text(struct kymo_buffer *out, const struct kymo_reader *r,
                    const struct kymo_call_arg *arg)
{
    char text[32];
    switch (arg->type) {
    case KYMO_FIELD_ADDRESS:
        snprintf(text, sizeof(text), "0x%" PRIx64, arg->value);
        return kymo__json_text(out, text);
    case KYMO_FIELD_NAME:
        return kymo__json_escaped(out, kymo__key_name(r, arg->value));
    case KYMO_FIELD_BYTES:
        return add_hex(out, arg->bytes, arg->length);
    default:
        return add_escaped(out, arg->bytes, arg->length);
    }
}

static bool is_text(const struct kymo_call_arg *arg)
{
    return arg->type == KYMO_FIELD_TEXT || arg->type == KYMO_FIELD_BYTES ||
           arg->type == KYMO_FIELD_ADDRESS || arg->type == KYMO_FIELD_NAME;
}

int kymo__arg_json(struct kymo_buffer *out, const struct kymo_reader *r,
                   const struct kymo_call_arg *arg)
{
    if (arg->type > KYMO_FIELD_NAME)
        return add_list(out, r, arg);
    if (!is_text(arg))
        return add_number(out, arg);
    int rc = kymo__json_text(out, "\"") | add_text(out, r, arg) | kymo__json_text(out, "\"");
    return rc ? -ENOMEM : 0;
}

int kymo__arg_show(struct kymo_buffer *out, const struct kymo_reader *r,
                   const struct kymo_call_arg *arg)
{
    int rc;
    if (arg->type == KYMO_FIELD_TEXT)
        rc = kymo__buffer_add(out, arg->bytes, arg->length);
    else if (arg->type == KYMO_FIELD_NAME)
        rc = kymo__json_text(out, kymo__key_name(r, arg->value));
    else
        rc = is_text(arg) ? add_text(out, r, arg) : kymo__arg_json(out, r, arg);
    if (rc == 0)
        rc = kymo__buffer_reserve(out, 1);
    if (rc == 0)
        out->bytes[out->len] = '\0';
    return rc;
}

int kymo__payload_json(struct kymo_buffer *out, const struct kymo_reader *r,
                       const struct kymo_event *event)
{
    struct kymo_fields fields;
    struct kymo_call_arg arg;
    kymo__fields_begin(&fields, r, event);
    int rc = kymo__json_text(out, "{");
    for (bool more = false; kymo__fields_next(&fields, &arg); more = true)
        rc |= kymo__json_text(out, more ? ",\"" : "\"") |
              kymo__json_escaped(out, kymo__key_name(r, arg.key)) | kymo__json_text(out, "\":") |
              kymo__arg_json(out, r, &arg);
    rc |= kymo__json_text(out, "}") | kymo__buffer_reserve(out, 1);
    if (rc)
        return -ENOMEM;
    out->bytes[out->len] = '\0';
    return 0;
}

/* ---- the public form ---- */

static int hand_out(const struct kymo_capture *capture, const struct kymo_call_arg *arg,
                    struct kymo_value *value)
{
    const struct kymo_reader *r = capture->reader;
    struct kymo_value full = {
        .name = kymo__key_name(r, arg->key),
        .type = arg->type,
        .number = arg->value,
        .integer = (int64_t)arg->value,
        .text = "",
    };
    memcpy(&full.real, &arg->value, sizeof(full.real));
    if (arg->type > KYMO_FIELD_NAME) {
        full.at = arg->bytes;
        full.end = arg->bytes + arg->length;
        full.length = arg->count;
    } else if (kymo__arg_is_long(arg)) {
        full.text = (const char *)arg->bytes;
        full.length = arg->length;
    } else if (arg->type == KYMO_FIELD_NAME) {
        full.text = kymo__key_name(r, arg->value);
        full.length = strlen(full.text);
    }
    return kymo__hand_out(value, &full, sizeof(full));
}

int kymo_event_value(const struct kymo_capture *capture, const struct kymo_event *event,
                     unsigned index, struct kymo_value *value)
{
    struct kymo_fields fields;
    struct kymo_call_arg arg;
    kymo__fields_begin(&fields, capture->reader, event);
    while (kymo__fields_next(&fields, &arg))
        if (!index--)
            return hand_out(capture, &arg, value);
    return -ENOENT;
}

int kymo_value_next(const struct kymo_capture *capture, struct kymo_value *list,
                    struct kymo_value *value)
{
    if (list->type <= KYMO_FIELD_NAME || !list->length)
        return 0;
    unsigned type = (unsigned)list->type & BASE;
    if (list->type & KYMO_FIELD_LISTS)
        type |= KYMO_FIELD_LIST;
    struct kymo_call_arg one = {0};
    const uint8_t *next = take_value(type, list->at, list->end, &one);
    if (!next)
        return 0;
    list->at = next;
    list->length--;
    return hand_out(capture, &one, value) == 0;
}
